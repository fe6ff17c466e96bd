"""Knows how a conversion is decided, saved and carried out: frozen steps with reasons, and the only writer.

Must never know an option of the command line, nor how an engine reads what was written.
"""
