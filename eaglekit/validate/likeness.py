"""A drafter's head beside its target's, row by row: a copy, trained from it, from scratch, or cut at wrong rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eaglekit.checkpoint import Checkpoint, Source, Tensor
from eaglekit.checkpoint.model import FLOATS, ITEM_BITS
from eaglekit.dialects.target import Target
from eaglekit.dialects.target_checks import LIKENESS, SAMPLED_ROWS
from eaglekit.drafter import Spec
from eaglekit.drafter.vocabulary import offsets_from_target_ids

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Likeness:
    """How a head stands beside the target's."""

    verdict: str
    because: str = ""
    misplaced: str | None = None
    """What its rows are instead, when they are the target's rows of other tokens."""


def compare_head(checkpoint: Checkpoint, own: Tensor, spec: Spec, target: Target) -> Likeness:
    """The drafter's own head against the rows that the target's head has for the same tokens.

    Evenly spread rows are read. A head trained from scratch has no likeness to the target's, and nothing is wrong
    with that; one whose rows are the target's rows of other tokens was cut at wrong places.
    """
    theirs = target.head_source
    if theirs is None:
        return Likeness("not compared", "the target's head is quantised, or has no tensor of its own")
    if own.shape[1] != theirs.shape[1]:
        return Likeness("not compared", f"{own.shape[1]} wide, the target's {theirs.shape[1]}")
    if own.strides is not None or {own.dtype, theirs.dtype} - FLOATS:
        return Likeness("not compared", "it does not lie as plain rows")
    ids = spec.target_ids if spec.target_ids is not None else tuple(range(own.shape[0]))
    if not 0 <= min(ids) <= max(ids) < theirs.shape[0]:
        return Likeness("not compared", "the map names tokens that the target does not have")
    rows = range(0, own.shape[0], max(1, own.shape[0] // SAMPLED_ROWS))
    mine = [_row(checkpoint.source, own, row) for row in rows]
    cosines = _cosines(mine, own, target, theirs, [ids[row] for row in rows])
    mean = sum(cosines) / len(cosines)
    because = f"mean cosine of {len(cosines)} rows {mean:.2f}"
    # Equal rows have a cosine of 1 up to the rounding of two float64 sums.
    if min(cosines) > 1 - 1e-12:
        return Likeness("a copy, by sampled rows", because)
    if mean > LIKENESS:
        return Likeness("trained along: similar rows", because)
    for places, words in _other_places(ids).items():
        other = _cosines(mine, own, target, theirs, [places[row] for row in rows])
        likeness = sum(other) / len(other)
        if likeness > LIKENESS:
            return Likeness("cut at wrong rows", f"{because}; with {words}: {likeness:.2f}", words)
    return Likeness("random-looking, or trained from scratch", because)


def _other_places(ids: Sequence[int]) -> Mapping[tuple[int, ...], str]:
    """Where a mistaken cut takes its rows from."""
    return {
        tuple(max(0, offset) for offset in offsets_from_target_ids(ids)): "row r from the map's offset of r",
        tuple(range(len(ids))): "row r from the target's row r",
    }


def _cosines(mine: Sequence[bytes], own: Tensor, target: Target, theirs: Tensor, places: Sequence[int]) -> list[float]:
    return [
        _cosine(row, own.dtype, _row(target.library.source, theirs, place), theirs.dtype)
        for row, place in zip(mine, places, strict=True)
    ]


def _row(source: Source, tensor: Tensor, row: int) -> bytes:
    width = tensor.shape[1] * ITEM_BITS[tensor.dtype] // 8
    return source.read(tensor.file, tensor.start + row * width, tensor.start + (row + 1) * width)


def _cosine(first: bytes, first_dtype: str, second: bytes, second_dtype: str) -> float:
    """The cosine of two rows; zeros or what is not finite count as no likeness."""
    import numpy

    from eaglekit.checkpoint.numbers import as_float32

    a, b = (as_float32(*row).astype("<f8") for row in ((first, first_dtype), (second, second_dtype)))
    with numpy.errstate(invalid="ignore", over="ignore"):
        norm: Any = numpy.linalg.norm(a) * numpy.linalg.norm(b)
        cosine = float(a @ b / norm) if norm > 0 else 0.0
    return cosine if numpy.isfinite(cosine) else 0.0
