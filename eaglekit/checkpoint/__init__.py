"""Knows files: safetensors headers, shards and their index, pickles, byte ranges, local and on the Hub.

Must never know what a tensor means: no role, no spelling, no engine.
"""

from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.model import Checkpoint, Source, Tensor
from eaglekit.checkpoint.opening import open_folder, open_source

__all__ = ["Checkpoint", "LocalFolder", "Source", "Tensor", "open_folder", "open_source"]
