"""Knows files: safetensors headers, shards and their index, pickles, byte ranges, local and on the Hub.

Must never know what a tensor means: no role, no spelling, no engine.
"""

from eaglekit.checkpoint.model import Checkpoint, Source, Tensor

__all__ = ["Checkpoint", "Source", "Tensor"]
