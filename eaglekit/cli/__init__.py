"""Knows options, the order of calls and exit codes.

Must never know a fact about EAGLE, a format or an engine.
"""
