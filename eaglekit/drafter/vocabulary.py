"""The draft vocabulary: which target token each row of the drafter's head stands for."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

from eaglekit.report import Finding


def int64s(data: bytes) -> array[int]:
    """Little-endian I64 bytes as integers."""
    values: array[int] = array("q")
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def int64_bytes(values: Sequence[int]) -> bytes:
    """Integers as little-endian I64 bytes."""
    packed = array("q", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def target_ids_from_offsets(offsets: Sequence[int]) -> tuple[int, ...]:
    """Absolute target ids of an offset map: id = row + offset."""
    return tuple(row + offset for row, offset in enumerate(offsets))


def offsets_from_target_ids(target_ids: Sequence[int]) -> tuple[int, ...]:
    """The offset map of absolute target ids: what every safetensors producer stores as `d2t`."""
    return tuple(target - row for row, target in enumerate(target_ids))


def mask_from_target_ids(target_ids: Sequence[int], vocab_size: int) -> bytes:
    """The BOOL mask over the target's vocabulary: 1 where a target token has a draft row."""
    mask = bytearray(vocab_size)
    for target in target_ids:
        mask[target] = 1
    return bytes(mask)


def looks_absolute(values: Sequence[int], vocab_size: int) -> bool:
    """Whether a stored map can only hold absolute ids: read as offsets it leaves the vocabulary or collides.

    An absolute map never repeats a value and never goes below zero; an offset map of an ascending vocabulary repeats.
    """
    distinct = len(set(values)) == len(values)
    inside = all(0 <= value < vocab_size for value in values)
    if not (distinct and inside) or len(values) < 2:
        return False
    as_offsets = target_ids_from_offsets(values)
    return any(not 0 <= target < vocab_size for target in as_offsets) or len(set(as_offsets)) != len(as_offsets)


def check_target_ids(target_ids: Sequence[int], vocab_size: int, *, place: str) -> list[Finding]:
    """What is wrong with a map: ids past the vocabulary, two rows for one token."""
    if not target_ids or (
        min(target_ids) >= 0 and max(target_ids) < vocab_size and len(set(target_ids)) == len(target_ids)
    ):
        return []
    for row, target in enumerate(target_ids):
        if not 0 <= target < vocab_size:
            return [
                Finding(
                    "map-out-of-range",
                    f"draft id {row} maps to target id {target}",
                    place=place,
                    got=str(target),
                    expected=f"0..{vocab_size - 1}",
                    hint="d2t holds offsets (target id minus row); a map of absolute ids must be re-encoded first",
                )
            ]
    first_row: dict[int, int] = {}
    for row, target in enumerate(target_ids):
        if target in first_row:
            return [
                Finding(
                    "map-not-unique",
                    f"draft ids {first_row[target]} and {row} both map to target id {target}",
                    place=place,
                    got=f"{len(set(target_ids))} distinct ids in {len(target_ids)} rows",
                    expected="one row per target token",
                    hint="the map is damaged; take d2t from the training run again",
                )
            ]
        first_row[target] = row
    return []


def check_mask(mask: bytes, target_ids: Sequence[int] | None, draft_vocab_size: int, *, place: str) -> list[Finding]:
    """What is wrong with a mask beside its map: another count, or other tokens."""
    count = len(mask) - mask.count(0)
    if count != draft_vocab_size:
        return [
            Finding(
                "mask-count",
                f"{place} marks {count} tokens, the head has {draft_vocab_size} rows",
                place=place,
                got=str(count),
                expected=str(draft_vocab_size),
                hint="d2t, t2d and the head must come from the same training run",
            )
        ]
    if target_ids is None or (max(target_ids, default=-1) < len(mask) and all(map(mask.__getitem__, target_ids))):
        return []
    marked = {token for token, byte in enumerate(mask) if byte}
    unmarked = [target for target in target_ids if target not in marked]
    if not unmarked:
        return []
    return [
        Finding(
            "map-against-mask",
            f"the map's ids {min(target_ids)}..{max(target_ids)} do not match {place}: {len(unmarked)} of them are not "
            f"marked, the first is target id {unmarked[0]}",
            place=place,
            got=f"ids {min(target_ids)}..{max(target_ids)}",
            expected=f"the {count} ids marked, {min(marked)}..{max(marked)}",
            hint="a map of zeros is one that was never filled; take d2t from the training run again",
        )
    ]


def ascending_order(target_ids: Sequence[int]) -> tuple[int, ...]:
    """The row order that sorts the draft vocabulary by target id; the head's rows follow the same order."""
    return tuple(sorted(range(len(target_ids)), key=target_ids.__getitem__))
