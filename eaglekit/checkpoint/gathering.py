"""The contiguous bytes of a tensor that lies strided in its storage, made in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eaglekit.checkpoint.model import Tensor

SPAN_FACTOR = 4
"""A stretch of storage is read in one piece when at least a quarter of it is wanted."""
SMALL_SPAN = 64 << 10
"""Shorter stretches are read whole: one large read beats many small ones."""

Read = Callable[[int, int], bytes]


def gather(read: Read, tensor: Tensor, size_bytes: int) -> Iterator[bytes]:
    """The bytes of `tensor` in row-major order, in pieces of at most about `size_bytes` (at least one element).

    `read(start, end)` gives bytes of the tensor's file. The tensor has strides and whole bytes per element.
    """
    import numpy as np

    assert tensor.strides is not None  # noqa: S101 - contiguous tensors are read directly
    item = tensor.item_bits // 8
    for first, shape in _blocks(tensor.axes or tensor.shape, tensor.strides, max(1, size_bytes // item)):
        block = np.empty(shape, dtype=np.dtype((np.void, item)))
        _fill(block, tensor.strides, tensor.start + first * item, read, size_bytes)
        yield block.tobytes()


def _blocks(shape: Sequence[int], strides: Sequence[int], limit: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(element offset, shape) of row-major pieces of at most `limit` elements, every piece with all axes."""
    if prod(shape) == 0:
        return
    inner = prod(shape[1:])
    if not shape or prod(shape) <= limit:
        yield 0, tuple(shape)
    elif inner <= limit:
        rows = limit // inner
        for row in range(0, shape[0], rows):
            yield row * strides[0], (min(rows, shape[0] - row), *shape[1:])
    else:
        for row in range(shape[0]):
            for offset, rest in _blocks(shape[1:], strides[1:], limit):
                yield row * strides[0] + offset, (1, *rest)


def _fill(block: Any, strides: Sequence[int], start: int, read: Read, budget: int) -> None:
    """Fill `block` from the storage that begins at byte `start`, cutting along the widest axis until it is dense."""
    import numpy as np

    item = block.dtype.itemsize
    reach = [(size - 1) * stride for size, stride in zip(block.shape, strides, strict=True)]
    span = (1 + sum(reach)) * item
    dense = span <= max(SMALL_SPAN, min(budget, SPAN_FACTOR * block.size * item))
    if dense or block.size == 1:
        storage = np.frombuffer(read(start, start + span), dtype=block.dtype)
        step = tuple(stride * item for stride in strides)
        block[...] = np.lib.stride_tricks.as_strided(storage, block.shape, step, writeable=False)
        return
    axis = max(range(block.ndim), key=reach.__getitem__)
    half = block.shape[axis] // 2
    along = np.moveaxis(block, axis, 0)
    _fill(np.moveaxis(along[:half], 0, axis), strides, start, read, budget)
    _fill(np.moveaxis(along[half:], 0, axis), strides, start + half * strides[axis] * item, read, budget)
