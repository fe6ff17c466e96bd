"""Capture files: `write_capture` and `read_capture`, inverse to each other."""

from eaglekit.target.capture_reading import read_capture
from eaglekit.target.capture_writing import refuse_taken, write_capture

__all__ = ["read_capture", "refuse_taken", "write_capture"]
