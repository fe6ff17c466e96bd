"""GGUF drafters written by the gguf library, without the code under test: only names and metadata are the dialect's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.tables import DIALECTS
from eaglekit.dialects.writing import write
from eaglekit.drafter import Spec
from eaglekit.drafter.parts import NORMS, Part, Role
from tests.dialects.folders import Stored, content_of

GGUF: Dialect = DIALECTS["gguf"]
TYPES = {"F32": gguf.GGMLQuantizationType.F32, "F16": gguf.GGMLQuantizationType.F16,
         "BF16": gguf.GGMLQuantizationType.BF16, "I64": gguf.GGMLQuantizationType.I64}  # fmt: skip


def meant(role: Role, spec: Spec) -> Stored:
    """What a role of a GGUF drafter holds, as a drafter has it: norms are in F32 there."""
    stored = content_of(role, spec)
    if role.part in NORMS:
        count = len(stored.data) // 2 if spec.dtype != "F32" else len(stored.data) // 4
        data = np.random.default_rng(count).standard_normal(count).astype("<f4").tobytes()
        return Stored("F32", stored.shape, data)
    if role.part is Part.DRAFT_TO_TARGET:
        ids = np.array(spec.target_ids, "<i8")
        return Stored("I64", ids.shape, ids.tobytes())
    return stored


def as_laid(role: Role, stored: Stored, spec: Spec) -> np.ndarray[Any, Any]:
    """The bytes of a tensor, [..., bytes of the last axis], as llama.cpp's converter lays them: its own permutation."""
    array = np.frombuffer(stored.data, np.uint8).reshape(*stored.shape[:-1], -1)
    heads = {Part.QUERY: spec.num_heads, Part.KEY: spec.num_kv_heads}.get(role.part)
    if heads is None:
        return array
    # conversion/llama.py LlamaModel.permute
    return array.reshape(heads, 2, array.shape[0] // heads // 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape)


def gguf_of(path: Path, spec: Spec, *, mark: bool = True, metadata: Mapping[str, Any] | None = None) -> Path:
    """A GGUF file of this drafter. `metadata` replaces values by dotted key, or leaves a key out where it is None."""
    layout = write(spec, GGUF, mark=mark)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, "eagle3")
    for key, value in {**flat(layout.config), **(metadata or {})}.items():
        if value is not None and key != "general.architecture":
            _add(writer, key, value)
    for role, (name,) in layout.names.items():
        stored = meant(role, spec)
        array = as_laid(role, stored, spec)
        writer.add_tensor(
            name, np.ascontiguousarray(array), raw_dtype=TYPES[stored.dtype]
        ) if stored.dtype != "I64" else (writer.add_tensor(name, np.frombuffer(stored.data, "<i8")))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested metadata by dotted key."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return found


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, list):
        writer.add_array(key, value)
    else:
        writer.add_string(key, value)
