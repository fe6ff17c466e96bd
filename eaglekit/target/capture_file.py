"""Capture files: `write_capture` and `read_capture`, inverse to each other; `growing` takes texts one by one."""

from eaglekit.target.capture_reading import read_capture
from eaglekit.target.capture_writing import Outline, growing, refuse_taken, write_capture

__all__ = ["Outline", "growing", "read_capture", "refuse_taken", "write_capture"]
