"""One metadata value of a GGUF file: numbers, words and short lists as they are, long lists by their length."""

from __future__ import annotations

import math
import struct
from typing import Any

from eaglekit.checkpoint import gguf_findings as problem
from eaglekit.checkpoint.gguf_cursor import Cursor
from eaglekit.checkpoint.gguf_types import SCALARS, Kind
from eaglekit.report import Refusal

KEPT = 64
"""Longest list that is kept: layer ids are few, tokens, scores and merges are many and nobody's concern here."""


def read_value(cursor: Cursor, key: str) -> Any:
    """The value that follows the key, as JSON knows it; `{"of": type, "length": n}` for a list of more than `KEPT`."""
    kind = _kind(cursor, key)
    if kind is not Kind.ARRAY:
        return _single(cursor, kind, key)
    item = _kind(cursor, key)
    length = cursor.number(Kind.UINT64, f"the length of {key!r}")
    if item is Kind.ARRAY:
        raise Refusal(problem.invalid(cursor.file, f"{key!r} is a list of lists", cursor.position))
    if length <= KEPT:
        return [_single(cursor, item, key) for _ in range(length)]
    if item is Kind.STRING:
        # Each takes eight bytes at least, so that the file's end comes before the count of a liar.
        cursor.skip_texts(length, f"the list {key!r}")
    else:
        cursor.skip(length * struct.calcsize(SCALARS[item]), f"the list {key!r}")
    return {"of": item.name, "length": length}


def _kind(cursor: Cursor, key: str) -> Kind:
    number = cursor.number(Kind.UINT32, f"the type of {key!r}")
    if number not in Kind.__members__.values():
        raise Refusal(problem.invalid(cursor.file, f"{key!r} has type {number}, which no value has", cursor.position))
    return Kind(number)


def _single(cursor: Cursor, kind: Kind, key: str) -> Any:
    if kind is Kind.STRING:
        return cursor.text(f"the value of {key!r}")
    form = SCALARS[kind]
    value = struct.unpack(form, cursor.take(struct.calcsize(form), f"the value of {key!r}"))[0]
    if kind is Kind.BOOL:
        return bool(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise Refusal(problem.invalid(cursor.file, f"{key!r} is {value}", cursor.position))
    return shortest(value) if kind is Kind.FLOAT32 else value


def shortest(value: float) -> float:
    """The number with the fewest decimal digits that is this one in 32 bits: 1e-05, where F32 holds 9.99999975e-06."""
    for digits in range(6, 9):
        shorter = float(f"{value:.{digits}g}")
        if struct.pack("<f", shorter) == struct.pack("<f", value):
            return shorter
    return float(f"{value:.9g}")
