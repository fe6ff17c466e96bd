"""Turns what people say (paths, Hub ids, plain values) into opened inputs, and calls the room that does the work.

The command line and `import eaglekit` both stand on it. Must never print, ask, or know a fact about EAGLE.
"""
