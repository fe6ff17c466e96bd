"""How a GGUF file is laid out: its metadata, the description of its tensors, and where their bytes begin."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eaglekit.checkpoint.gguf_header import padded
from eaglekit.checkpoint.gguf_types import ALIGNMENT, ARCHITECTURE_KEY, MAGIC, SCALARS, TYPES, VERSIONS, Kind
from eaglekit.checkpoint.layout import Entry


def gguf_header(entries: Iterable[Entry], metadata: Mapping[str, Any]) -> bytes:
    """Everything before the first tensor, padded; each tensor's bytes follow in the order given, with `gap` after it.

    `metadata` is nested as it is read; keys are sorted, the architecture first, as readers show it.
    """
    entries = tuple(entries)
    values = sorted(_flat(metadata), key=lambda pair: (pair[0] != ARCHITECTURE_KEY, pair[0]))
    text = MAGIC + struct.pack("<IQQ", VERSIONS[-1], len(entries), len(values))
    text += b"".join(_text(key) + _value(value) for key, value in values)
    offset = 0
    for entry in entries:
        axes = entry.shape[::-1]
        text += _text(entry.name) + struct.pack(f"<I{len(axes)}QIQ", len(axes), *axes, TYPES[entry.dtype], offset)
        offset = padded(offset + entry.size_bytes, ALIGNMENT)
    return text + bytes(padded(len(text), ALIGNMENT) - len(text))


def gap(entry: Entry) -> bytes:
    """The zeros between the end of a tensor and the next multiple of the alignment."""
    return bytes(padded(entry.size_bytes, ALIGNMENT) - entry.size_bytes)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    """A value with its type before it: U32 for counts, F32 for numbers, lists of I32, as llama.cpp's converter does."""
    if isinstance(value, list):
        kind = Kind.STRING if isinstance(value[0], str) else Kind.FLOAT32 if isinstance(value[0], float) else Kind.INT32
        return struct.pack("<IIQ", Kind.ARRAY, kind, len(value)) + b"".join(_plain(item, kind) for item in value)
    kind = _kind(value)
    return struct.pack("<I", kind) + _plain(value, kind)


def _kind(value: Any) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, int):
        return Kind.UINT32 if value >= 0 else Kind.INT32
    return Kind.FLOAT32 if isinstance(value, float) else Kind.STRING


def _plain(value: Any, kind: Kind) -> bytes:
    return _text(value) if kind is Kind.STRING else struct.pack(SCALARS[kind], value)
