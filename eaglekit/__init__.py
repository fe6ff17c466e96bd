"""eaglekit makes EAGLE-3 and EAGLE 3.1 draft models right, provably, for every serving engine."""

__version__ = "0.1.0"
