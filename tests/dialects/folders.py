"""Real folders of drafters, written without the code under test: only names and config come from the dialect."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.writing import write
from eaglekit.drafter import Drafter, Spec
from eaglekit.drafter.parts import Part, Role
from eaglekit.drafter.sizes import expected_shape

BITS = {"BOOL": 8, "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "I64": 64}


@dataclass(frozen=True)
class Stored:
    """One tensor as it is meant to lie on disk."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def content_of(role: Role, spec: Spec) -> Stored:
    """The tensor of `role`: maps say the vocabulary of `spec`, everything else holds numbers of its own."""
    if role.part is Part.DRAFT_TO_TARGET:
        ids = spec.target_ids or range(spec.draft_vocab_size)
        offsets = [target - row for row, target in enumerate(ids)]
        return Stored("I64", (len(offsets),), struct.pack(f"<{len(offsets)}q", *offsets))
    if role.part is Part.TARGET_MASK:
        drafted = set(spec.target_ids or range(spec.vocab_size))
        return Stored("BOOL", (spec.vocab_size,), bytes(token in drafted for token in range(spec.vocab_size)))
    shape = expected_shape(role, spec)
    count = 1
    for axis in shape:
        count *= axis
    return Stored(spec.dtype, shape, random.Random(str(role)).randbytes(count * BITS[spec.dtype] // 8))


def safetensors_file(tensors: Mapping[str, Stored], metadata: Mapping[str, str] | None = None) -> bytes:
    """A safetensors file in the order given: header length, header, data."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    start = 0
    for name, stored in tensors.items():
        header[name] = {
            "dtype": stored.dtype,
            "shape": list(stored.shape),
            "data_offsets": [start, start + len(stored.data)],
        }
        start += len(stored.data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(stored.data for stored in tensors.values())


def put(folder: Path, config: Mapping[str, Any], *shards: Mapping[str, Stored]) -> Path:
    """A folder with this config and these weight files."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    if len(shards) == 1:
        (folder / "model.safetensors").write_bytes(safetensors_file(shards[0], {"format": "pt"}))
        return folder
    names = [f"model-{number:05d}-of-{len(shards):05d}.safetensors" for number in range(1, len(shards) + 1)]
    for file, tensors in zip(names, shards, strict=True):
        (folder / file).write_bytes(safetensors_file(tensors))
    weight_map = {name: file for file, tensors in zip(names, shards, strict=True) for name in tensors}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


def named_contents(spec: Spec, dialect: Dialect) -> dict[str, Stored]:
    """The tensors of a drafter by the names its dialect gives them."""
    names = write(spec, dialect).names
    return {name: content_of(role, spec) for role in names for name in names[role]}


def folder_of(path: Path, spec: Spec, dialect: Dialect, *, mark: bool = True, shards: int = 1) -> Path:
    """A folder of this drafter in this dialect, its tensors dealt over `shards` files."""
    layout = write(spec, dialect, mark=mark)
    tensors = list(named_contents(spec, dialect).items())
    return put(path, layout.config, *(dict(tensors[first::shards]) for first in range(shards)))


def contents(checkpoint: Checkpoint, drafter: Drafter) -> dict[Role, Stored]:
    """What a drafter's roles hold on disk."""
    return {
        role: Stored(tensor.dtype, tensor.shape, checkpoint.read(tensor.name))
        for role, tensor in drafter.tensors.items()
    }


def differences(first: Spec, second: Spec, but: Sequence[str] = ()) -> dict[str, tuple[Any, Any]]:
    """Spec field -> both values, for every field but `but` in which two drafters differ."""
    return {
        entry.name: (getattr(first, entry.name), getattr(second, entry.name))
        for entry in fields(Spec)
        if entry.name not in but and getattr(first, entry.name) != getattr(second, entry.name)
    }


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path inside."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
