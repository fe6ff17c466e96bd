"""Element values in constant memory: casting, and the few statistics that checks need. numpy is imported inside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from eaglekit.checkpoint.model import ITEM_BITS, Source, Tensor

DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
"""safetensors dtype -> numpy's; BF16 is the upper half of F32 and is handled by its bits."""


def as_float32(data: bytes | memoryview, dtype: str) -> Any:
    """Float elements as a numpy float32 array; BF16 exactly, F64 rounded."""
    import numpy

    if dtype == "BF16":
        return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    with numpy.errstate(over="ignore", invalid="ignore"):
        return numpy.frombuffer(data, DTYPES[dtype]).astype("<f4")


def cast(data: bytes | memoryview, source: str, target: str) -> tuple[bytes, int]:
    """Elements of dtype `source` as bytes of dtype `target`, rounded to nearest even; and how many overflowed.

    An element overflows when it is finite before and infinite after.
    """
    import numpy

    wide = numpy.frombuffer(data, DTYPES["F64"]) if source == "F64" else as_float32(data, source)
    with numpy.errstate(over="ignore", invalid="ignore"):
        if target != "BF16":
            narrow = wide.astype(DTYPES[target])
        else:
            narrow = to_bf16(_to_odd(wide) if source == "F64" else wide)
    back = (narrow.astype("<u4") << 16).view("<f4") if target == "BF16" else narrow
    overflowed = int(numpy.count_nonzero(numpy.isfinite(wide) & ~numpy.isfinite(back)))
    return narrow.tobytes(), overflowed


def _to_odd(values: Any) -> Any:
    """float64 values as float32, rounded to odd: a second rounding to fewer bits is then as exact as one alone."""
    import numpy

    near = values.astype("<f4")
    bits = near.view("<u4")
    finite = numpy.isfinite(near) & numpy.isfinite(values)
    away = finite & (numpy.abs(near.astype("<f8")) > numpy.abs(values))
    inexact = finite & (near.astype("<f8") != values)
    return ((bits - away.astype("<u4")) | inexact.astype("<u4")).view("<f4")


def to_bf16(values: Any) -> Any:
    """float32 values as BF16 bits, rounded to nearest even; NaN stays NaN."""
    import numpy

    bits = values.view("<u4")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(values), (bits >> 16) | 0x40, rounded).astype("<u2")


def row_cosines(first: Source, a: Tensor, second: Source, b: Tensor, rows: Sequence[int]) -> list[float]:
    """The cosine between the same rows of two 2-D float tensors; a row of zeros or with NaN counts as 0."""
    import numpy

    cosines = []
    for row in rows:
        left, right = (as_float32(_row(s, t, row), t.dtype).astype("<f8") for s, t in ((first, a), (second, b)))
        with numpy.errstate(invalid="ignore", over="ignore"):
            norm = float(numpy.linalg.norm(left) * numpy.linalg.norm(right))
            cosine = float(left @ right) / norm if norm > 0 else 0.0
        cosines.append(cosine if math.isfinite(cosine) else 0.0)
    return cosines


def _row(source: Source, tensor: Tensor, row: int) -> bytes:
    width = tensor.shape[1] * ITEM_BITS[tensor.dtype] // 8
    return source.read(tensor.file, tensor.start + row * width, tensor.start + (row + 1) * width)


def cast_chunks(chunks: Iterator[bytes], source: str, target: str, overflows: list[int]) -> Iterator[bytes]:
    """The cast of a stream of whole elements; the number of overflows of each piece is appended to `overflows`."""
    for chunk in chunks:
        data, count = cast(chunk, source, target)
        overflows.append(count)
        yield data


def largest_difference(first: bytes, first_dtype: str, second: bytes, second_dtype: str) -> float:
    """The largest absolute difference of two pieces of equally many elements; NaN beside a number is infinite."""
    import numpy

    a, b = (as_float32(data, dtype).astype("<f8") for data, dtype in ((first, first_dtype), (second, second_dtype)))
    with numpy.errstate(invalid="ignore"):
        gaps = numpy.abs(a - b)
    # Equal infinities differ by NaN, and so do NaN beside NaN: both count as equal.
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    return float(numpy.where(same, 0.0, numpy.nan_to_num(gaps, nan=numpy.inf)).max(initial=0.0))
