"""The header of one GGUF file, parsed within bounds and proved: every tensor lies where the one before it ends.

The gguf library is not used for reading: it wants a whole local file, and believes the length of every list in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from eaglekit.checkpoint import gguf_findings as problem
from eaglekit.checkpoint.gguf_cursor import Cursor
from eaglekit.checkpoint.gguf_types import (
    ALIGNMENT,
    ALIGNMENT_KEY,
    AXES_LIMIT,
    DTYPES,
    MAGIC,
    NAME_LIMIT,
    PARTS_KEY,
    QUANTISED,
    VERSIONS,
    Kind,
)
from eaglekit.checkpoint.gguf_values import read_value
from eaglekit.checkpoint.header import Header, Read, shortened
from eaglekit.checkpoint.model import ITEM_BITS, Tensor
from eaglekit.report import Finding, Refusal

KEYS_LIMIT = 10_000
TENSORS_LIMIT = 100_000
DEPTH_LIMIT = 16
"""More than any drafter or target has; each of them costs memory."""


@dataclass(frozen=True, slots=True)
class GgufHeader(Header):
    """A header with the metadata that stands in for config.json."""

    config: Mapping[str, Any]
    """Metadata, its dotted keys nested. Of a long list only `{"of": type, "length": n}` is kept."""


def parse_gguf(read: Read, size_bytes: int, file: str) -> GgufHeader:
    """The metadata and the tensors of `file`. `read(start, end)` gives its bytes, local or remote.

    Raises `Refusal` for everything that llama.cpp's own loader would not take, for other byte orders, for one part of
    a split file, and for quantised tensors, by name. Nothing is allocated on the word of a count or a length.
    """
    cursor = Cursor(read, size_bytes, file)
    keys, tensors = _counts(cursor)
    values: dict[str, Any] = {}
    for _ in range(keys):
        key = cursor.text("a metadata key")
        if key.count(".") >= DEPTH_LIMIT:
            raise Refusal(problem.invalid(file, f"a metadata key has {key.count('.') + 1} parts", cursor.position))
        if key in values:
            raise Refusal(problem.invalid(file, f"the metadata key {key!r} is there twice", cursor.position))
        values[key] = read_value(cursor, key)
    if values.get(PARTS_KEY, 1) not in (0, 1):
        raise Refusal(problem.split(file, values[PARTS_KEY]))
    described = list(_described(cursor, tensors))
    alignment = values.get(ALIGNMENT_KEY, ALIGNMENT)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise Refusal(problem.invalid(file, f"{ALIGNMENT_KEY} is {alignment!r}, no power of two", cursor.position))
    digest = hashlib.sha256(cursor.seen()).hexdigest()
    found, findings = _placed(described, cursor, alignment)
    if findings:
        raise Refusal(*shortened(findings))
    return GgufHeader(found, {}, digest, nested(values))


def _counts(cursor: Cursor) -> tuple[int, int]:
    """Metadata keys and tensors, within limits."""
    magic = cursor.take(len(MAGIC), "the magic number")
    version = cursor.number(Kind.UINT32, "the version")
    if magic != MAGIC:
        raise Refusal(problem.invalid(cursor.file, f"it starts with {magic!r}", 0))
    if version not in VERSIONS:
        raise Refusal(problem.version(cursor.file, version))
    tensors = cursor.number(Kind.UINT64, "the number of tensors")
    keys = cursor.number(Kind.UINT64, "the number of metadata keys")
    for count, limit, what in ((keys, KEYS_LIMIT, "metadata keys"), (tensors, TENSORS_LIMIT, "tensors")):
        if count > limit:
            raise Refusal(problem.invalid(cursor.file, f"it announces {count} {what}, at most {limit} are read", 8))
    return keys, tensors


@dataclass(frozen=True, slots=True)
class _Described:
    name: str
    type: int
    shape: tuple[int, ...]
    offset: int


def _described(cursor: Cursor, count: int) -> Iterator[_Described]:
    names: set[str] = set()
    for _ in range(count):
        name = cursor.text("a tensor's name")
        if (length := len(name.encode())) > NAME_LIMIT:
            what = f"the tensor name {name[:NAME_LIMIT]!r}... has {length} bytes, llama.cpp takes {NAME_LIMIT}"
            raise Refusal(problem.invalid(cursor.file, what, cursor.position))
        if name in names:
            raise Refusal(problem.invalid(cursor.file, f"tensor {name!r} is there twice", cursor.position))
        names.add(name)
        axes = cursor.number(Kind.UINT32, f"the axes of {name!r}")
        if axes > AXES_LIMIT:
            raise Refusal(problem.invalid(cursor.file, f"tensor {name!r} has {axes} axes", cursor.position))
        # ggml counts the axis that lies closest together first.
        shape = tuple(cursor.number(Kind.UINT64, f"the shape of {name!r}") for _ in range(axes))[::-1]
        number = cursor.number(Kind.UINT32, f"the type of {name!r}")
        yield _Described(name, number, shape, cursor.number(Kind.UINT64, f"the offset of {name!r}"))


def _placed(described: list[_Described], cursor: Cursor, alignment: int) -> tuple[dict[str, Tensor], list[Finding]]:
    """Tensors with their byte ranges: each at the next multiple of the alignment, the last one ending the file."""
    findings = [problem.tensor_type(cursor.file, one.name, one.type) for one in described if not _known(one.type)]
    if quantised := [(one.name, QUANTISED[one.type]) for one in described if one.type in QUANTISED]:
        findings.insert(0, problem.quantised(cursor.file, quantised))
    if findings:
        return {}, findings
    tensors: dict[str, Tensor] = {}
    start = end = padded(cursor.position, alignment)
    for one in described:
        begin, dtype = padded(end, alignment), DTYPES[one.type]
        end = begin + prod(one.shape) * ITEM_BITS[dtype] // 8
        if one.offset != begin - start:
            got, expected = f"offset {one.offset}", f"offset {begin - start}"
            return {}, [problem.tensor_bytes(cursor.file, one.name, got, expected)]
        if end > cursor.size_bytes:
            return {}, [problem.truncated(cursor.file, cursor.size_bytes, end, f"tensor {one.name!r}")]
        tensors[one.name] = Tensor(one.name, dtype, one.shape, cursor.file, begin, end)
    # Most writers pad the last tensor too.
    if cursor.size_bytes > padded(end, alignment):
        findings.append(problem.appended(cursor.file, cursor.size_bytes, end))
    return dict(sorted(tensors.items())), findings


def _known(number: int) -> bool:
    return number in DTYPES or number in QUANTISED


def padded(position: int, alignment: int) -> int:
    """The next multiple of `alignment`."""
    return position + -position % alignment


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with its dotted keys as objects in objects; the value of a key that is also a folder stands under ''."""
    config: dict[str, Any] = {}
    for key, value in values.items():
        *parents, last = key.split(".")
        level = config
        for name in parents:
            inner = level.get(name)
            if not isinstance(inner, _Level):
                inner = _Level() if inner is None else _Level({"": inner})
                level[name] = inner
            level = inner
        if isinstance(level.get(last), _Level):
            level[last][""] = value
        else:
            level[last] = value
    return config


class _Level(dict[str, Any]):
    """An object that dotted keys made, unlike one that stands for a long list."""
