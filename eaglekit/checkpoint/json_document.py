"""A JSON object read so that nothing in it can mean two things: no repeated keys, no NaN, no rounded numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from eaglekit.report import Finding, Refusal

CONFIG_LIMIT = 16 << 20
"""Largest config read, in bytes; real ones are a few kilobytes."""
DEPTH_LIMIT = 64
"""Deepest nesting read; real configs nest about six deep."""
LONGEST_INTEGER = len(str(-(1 << 63)))


class _Oddity(str):
    """Stands in the parsed tree for a number JSON readers disagree about, until its path is known."""

    __slots__ = ()


class _Repeating(dict[str, Any]):
    """An object in which a key stood more than once."""

    __slots__ = ("repeated",)
    repeated: tuple[str, ...]


def read_object(data: bytes, place: str, *, limit_bytes: int = CONFIG_LIMIT) -> dict[str, Any]:
    """The JSON object in `data`. Raises `Refusal` for anything a second reader could understand differently.

    `place` names the document in findings. Integers keep their exact value and fit in 64 bits; floats are finite.
    """
    value = _read(data, place, dict, limit_bytes)
    assert isinstance(value, dict)  # noqa: S101 - _read refuses every other kind
    return value


def read_array(data: bytes, place: str, *, limit_bytes: int = CONFIG_LIMIT) -> list[Any]:
    """The JSON array in `data`; refuses what `read_object` refuses."""
    value = _read(data, place, list, limit_bytes)
    assert isinstance(value, list)  # noqa: S101 - _read refuses every other kind
    return value


def _read(data: bytes, place: str, expected: type, limit_bytes: int) -> Any:
    if len(data) > limit_bytes:
        raise too_large(place, len(data), limit_bytes)
    value = _parse(_decode(data, place), place)
    if not isinstance(value, expected):
        kind = type(value).__name__ if not isinstance(value, _Oddity) else "number"
        wanted = "object" if expected is dict else _KINDS[expected.__name__]
        raise Refusal(
            Finding(
                "json-not-an-object",
                f"{place} holds a JSON {_KINDS.get(kind, kind)}, not an {wanted}",
                place=place,
                got=_KINDS.get(kind, kind),
                expected=wanted,
            )
        )
    findings = tuple(islice(_oddities(value, place), FINDINGS_SHOWN))
    if findings:
        raise Refusal(*findings)
    return value


FINDINGS_SHOWN = 20
_KINDS = {
    "dict": "object",
    "_Repeating": "object",
    "list": "array",
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "NoneType": "null",
}


def too_large(place: str, size_bytes: int, limit_bytes: int) -> Refusal:
    """The refusal of a document above its size limit; also for callers who know the size before reading."""
    return Refusal(
        Finding(
            "json-too-large",
            f"{place} is {size_bytes} bytes; at most {limit_bytes} are read",
            place=place,
            got=f"{size_bytes} bytes",
            expected=f"at most {limit_bytes} bytes",
            hint="a config this large is not a config: look at what was saved under this name",
        )
    )


def _decode(data: bytes, place: str) -> str:
    if data.startswith(b"\xef\xbb\xbf"):
        raise Refusal(
            Finding(
                "json-encoding",
                f"{place} starts with a byte order mark",
                place=place,
                got="EF BB BF before the text",
                expected="plain UTF-8",
                hint="save the file as UTF-8 without a byte order mark",
            )
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(
            Finding(
                "json-encoding",
                f"{place} is not UTF-8 at byte {error.start}",
                place=place,
                got=data[error.start : error.start + 4].hex(" ").upper(),
                expected="UTF-8",
                hint="save the file again as UTF-8",
            )
        ) from None


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_Oddity
        )
    except json.JSONDecodeError as error:
        raise Refusal(
            Finding(
                "json-invalid",
                f"{place} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
                place=place,
                got=repr(text[error.pos : error.pos + 16]),
                hint="look at that line; comments and trailing commas are not JSON",
            )
        ) from None
    except RecursionError:
        raise Refusal(_too_deep(place)) from None


def _too_deep(place: str) -> Finding:
    return Finding(
        "json-too-deep",
        f"{place} nests deeper than {DEPTH_LIMIT} levels",
        place=place,
        expected=f"at most {DEPTH_LIMIT} levels",
        hint="no config looks like this: get the file from its producer again",
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    seen: set[str] = set()
    marked = _Repeating(plain)
    marked.repeated = tuple(dict.fromkeys(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return marked


def _integer(text: str) -> int | _Oddity:
    # "-0" is a float to readers that keep the sign (serde), 0 to others.
    if len(text) > LONGEST_INTEGER or text == "-0":
        return _Oddity(text)
    value = int(text)
    return value if -(1 << 63) <= value < 1 << 64 else _Oddity(text)


def _float(text: str) -> float | _Oddity:
    value = float(text)
    return value if math.isfinite(value) else _Oddity(text)


Trail = tuple[Any, ...]
"""The steps to a value, each a pair of the trail before it and a key or index: a path is spelled only for a finding."""


def _oddities(document: Any, place: str) -> Iterator[Finding]:
    pending: list[tuple[Trail, Any, int]] = [((), document, 1)]
    while pending:
        trail, value, depth = pending.pop()
        if depth > DEPTH_LIMIT:
            yield _too_deep(place)
            return
        if isinstance(value, dict):
            if isinstance(value, _Repeating):
                yield from (_repeated(key, _spelled(trail), place) for key in value.repeated)
            pending.extend(((trail, key), item, depth + 1) for key, item in value.items())
            yield from (_surrogate(key, place) for key in value if not _encodable(key))
        elif isinstance(value, list):
            pending.extend(((trail, index), item, depth + 1) for index, item in enumerate(value))
        elif isinstance(value, _Oddity):
            yield _number(value, _spelled(trail), place)
        elif isinstance(value, str) and not _encodable(value):
            yield _surrogate(value, place)


def _spelled(trail: Trail) -> str:
    steps: list[str] = []
    while trail:
        trail, step = trail
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")[-400:]


def _encodable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _surrogate(text: str, place: str) -> Finding:
    return Finding(
        "json-encoding",
        f"{place} holds the text {text!r}, which has half a surrogate pair and no UTF-8 form",
        place=place,
        expected="text that UTF-8 can write",
    )


def _repeated(key: str, path: str, place: str) -> Finding:
    where = f" in {path}" if path else ""
    return Finding(
        "json-duplicate-key",
        f"{place} has the key {key!r} more than once{where}",
        place=f"{place}: {path}.{key}" if path else f"{place}: {key}",
        got="several values for one key",
        expected="one value",
        hint="keep the line that is meant and delete the others: readers disagree about which one counts",
    )


def _number(text: str, path: str, place: str) -> Finding:
    shown = text if len(text) <= 40 else f"{text[:40]}... ({len(text)} digits)"
    return Finding(
        "json-number",
        f"{place} has {shown} at {path}, a number JSON readers do not agree on",
        place=f"{place}: {path}",
        got=shown,
        expected="a finite number; integers within 64 bits",
        hint="write the number the model was trained with",
    )
