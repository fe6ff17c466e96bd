"""Knows how weights lie on disk, quantised or not: a table, recognition from the tensors, exact dequantisation.

Must never know a model: a linear is a handful of tensors here. `table` and `recognise` do not import torch.
"""
