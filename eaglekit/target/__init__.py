"""Knows a target's blocks: their tensors, quantised or not, streamed one block at a time, and what is captured of them.

Must never know a drafter's mathematics, nor judge one. Importing the room does not import torch; its modules do.
"""
