"""Rows of a matrix that belong to heads, seen in another order: views, so that nothing is held or copied whole."""

from __future__ import annotations

from dataclasses import replace

from eaglekit.checkpoint.model import Tensor


def halved(tensor: Tensor, heads: int) -> Tensor:
    """A matrix whose heads hold rows 0, d/2, 1, d/2+1, ..., with each head's rows as 0, 1, 2, ...

    Its rows are a multiple of twice `heads`.
    """
    return _regrouped(tensor, heads, paired=True)


def paired(tensor: Tensor, heads: int) -> Tensor:
    """A matrix whose heads hold rows 0, 1, 2, ..., with each head's rows as 0, d/2, 1, d/2+1, ...; undoes `halved`."""
    return _regrouped(tensor, heads, paired=False)


def _regrouped(tensor: Tensor, heads: int, *, paired: bool) -> Tensor:
    rows, columns = tensor.shape
    half = rows // heads // 2
    if tensor.axes is not None and tensor.strides is not None:
        # A view in the other order already: exchanging its two middle axes gives the stored order back.
        (count, outer, inner, width), (head, over, under, column) = tensor.axes, tensor.strides
        return replace(tensor, axes=(count, inner, outer, width), strides=(head, under, over, column))
    row, column = tensor.strides or (columns, 1)
    axes = (heads, 2, half, columns) if paired else (heads, half, 2, columns)
    steps = (row, 2 * row) if paired else (row, half * row)
    return replace(tensor, axes=axes, strides=(rows // heads * row, *steps, column))
