"""Strided tensors come out contiguous, whatever the chunk size, in constant memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from eaglekit.checkpoint.gathering import gather
from eaglekit.checkpoint.model import Tensor

STORAGE = np.random.default_rng(0).integers(0, 2**16, 300_000).astype(np.uint16)
BYTES = STORAGE.tobytes()


def strided(shape, strides, offset=0) -> Tensor:
    return Tensor("a", "U16", tuple(shape), "file", 2 * offset, 0, tuple(strides))


def expected(tensor: Tensor) -> bytes:
    view = np.lib.stride_tricks.as_strided(
        STORAGE[tensor.start // 2 :], tensor.shape, [2 * stride for stride in tensor.strides]
    )
    return np.ascontiguousarray(view).tobytes()


@given(
    some.lists(some.tuples(some.integers(0, 9), some.integers(0, 200)), max_size=4), some.integers(0, 50), some.data()
)
def test_every_view_is_gathered_as_numpy_gathers_it(axes, offset, data):
    tensor = strided([size for size, _ in axes], [stride for _, stride in axes], offset)
    size_bytes = data.draw(some.sampled_from([1, 2, 7, 64, 1 << 20]))
    assert b"".join(gather(lambda start, end: BYTES[start:end], tensor, size_bytes)) == expected(tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(strided((500, 600), (1, 500)), id="transposed"),
        pytest.param(strided((20, 100, 150), (1, 3000, 20)), id="permuted"),
        pytest.param(strided((150, 1000), (2000, 1)), id="half of every row"),
    ],
)
def test_a_large_view_is_gathered_in_small_pieces_from_small_reads(tensor):
    largest_read, limit = 0, 100_000

    def read(start: int, end: int) -> bytes:
        nonlocal largest_read
        largest_read = max(largest_read, end - start)
        return BYTES[start:end]

    pieces = list(gather(read, tensor, limit))
    assert b"".join(pieces) == expected(tensor)
    assert max(map(len, pieces)) <= limit
    assert largest_read <= limit
