"""Knows every spelling: config keys, tensor names, id conventions, recognition, and the reading and writing of them.

Must never know how an engine of a given version behaves, nor touch the disk beyond reading small maps.
"""
