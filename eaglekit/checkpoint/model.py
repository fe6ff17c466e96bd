"""`Checkpoint`: the raw config as read, and one table over all shards. Opening one reads headers only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Protocol

from eaglekit.checkpoint.gathering import gather
from eaglekit.report import Finding, Refusal

READ_LIMIT = 64 << 20
"""Largest tensor `Checkpoint.read` takes into memory, in bytes."""

ITEM_BITS: Mapping[str, int] = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8,
    "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32,
    "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}  # fmt: skip
"""safetensors dtype name -> bits per element, in the order of the library's enum: its writer sorts backwards by it."""

FLOATS = frozenset({"F16", "BF16", "F32", "F64"})
"""Dtypes a drafter's weights may have without quantisation."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor as it lies on disk: nothing is loaded."""

    name: str
    dtype: str
    """A safetensors dtype name, a key of `ITEM_BITS`."""
    shape: tuple[int, ...]
    file: str
    """Path inside the folder, POSIX, never absolute, never with `..`."""
    start: int
    """Absolute offset of the first byte in `file`."""
    end: int
    """Absolute offset one past the last byte. For a strided tensor: of the storage it walks over."""
    strides: tuple[int, ...] | None = None
    """Elements to step per axis, only for a tensor that does not lie contiguously (pickles, GGUF); else None."""
    axes: tuple[int, ...] | None = None
    """What `strides` step over where it is not `shape`: the same elements in the same order, cut finer."""

    @property
    def item_bits(self) -> int:
        """Bits of one element."""
        return ITEM_BITS[self.dtype]

    @property
    def size_bytes(self) -> int:
        """Bytes of the tensor when written contiguously."""
        return prod(self.shape) * self.item_bits // 8


class Source(Protocol):
    """A folder of files wherever it lies. Reads byte ranges; knows nothing of their meaning."""

    label: str
    """The folder or Hub id as the user wrote it, for messages."""

    def identity(self) -> Mapping[str, str]:
        """What may be published about where this came from: kind, and for the Hub repo and commit. Never a path."""

    def files(self) -> Mapping[str, int]:
        """Every regular file of the folder: POSIX path -> size in bytes."""

    def read(self, file: str, start: int, end: int) -> bytes:
        """The bytes [start, end) of `file`. Raises `Refusal` when the file is shorter."""

    def local_path(self, file: str) -> Path | None:
        """Where `file` lies on this machine, or None when it is remote."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder with a config and tensors, described; opening it read headers only."""

    source: Source
    config: Mapping[str, Any]
    """config.json as read, or the metadata of a GGUF file with its dotted keys nested; not yet understood."""
    tensors: Mapping[str, Tensor]
    """Name -> tensor, sorted by name, over all shards."""
    metadata: Mapping[str, str]
    """`__metadata__` of the safetensors files, merged (a key with two values is a finding)."""
    layout: str
    """`single`, `sharded`, `pickle` or `gguf`."""
    weight_files: tuple[str, ...]
    """The files the tensors lie in, sorted."""
    extra_files: Mapping[str, int] = field(default_factory=dict)
    """Other files of the folder: path -> size in bytes (tokenizer, generation config, README, ...)."""

    findings: tuple[Finding, ...] = ()
    """Warnings made while opening: the checkpoint can be read, and somebody should know."""
    config_file: str | None = "config.json"
    """Where the config stands; None in a GGUF file, whose header holds it."""
    evidence: Mapping[str, str] = field(default_factory=dict)
    """What `fingerprint` stands on: digests of the config and the headers, sizes and times of the weight files."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all weight files."""
        files = self.source.files()
        return sum(files[file] for file in self.weight_files)

    def own_files(self) -> list[str]:
        """The files a drafter is read from, sorted: its config, its weights and their index."""
        return sorted(set(self.source.files()) - set(self.extra_files))

    def read(self, name: str) -> bytes:
        """The whole contiguous bytes of one small tensor. Raises `Refusal` above 64 MiB: big ones are streamed."""
        size_bytes = self.tensors[name].size_bytes
        if size_bytes > READ_LIMIT:
            raise Refusal(
                Finding(
                    "tensor-too-large",
                    f"{name!r} has {size_bytes} bytes; at most {READ_LIMIT} are held in memory",
                    place=name,
                    got=f"{size_bytes} bytes",
                    expected=f"at most {READ_LIMIT} bytes",
                    hint="a tensor in this role should be small: check its shape with `eaglekit inspect`",
                )
            )
        return b"".join(self.chunks(name, size_bytes=READ_LIMIT))

    def chunks(self, name: str, *, size_bytes: int = 8 << 20) -> Iterator[bytes]:
        """The bytes of the tensor called `name` as it is stored, in pieces of at most about `size_bytes`."""
        return self.pieces(self.tensors[name], size_bytes=size_bytes)

    def pieces(self, tensor: Tensor, *, size_bytes: int = 8 << 20) -> Iterator[bytes]:
        """The contiguous bytes of a tensor of this checkpoint, in order, in pieces of at most about `size_bytes`.

        Of a tensor that a drafter holds they are the drafter's rows, in whatever order the file has them. Memory stays
        constant: a few times `size_bytes`, whatever the tensor's size or strides.
        """
        if tensor.strides is not None:
            yield from gather(lambda start, end: self.source.read(tensor.file, start, end), tensor, size_bytes)
            return
        for start in range(tensor.start, tensor.end, size_bytes):
            yield self.source.read(tensor.file, start, min(start + size_bytes, tensor.end))

    def fingerprint(self) -> str:
        """`sha256:...` over the config bytes, every header byte, and name, size and mtime of every weight file."""
        return digest_of(self.evidence)

    def content_digest(self) -> str:
        """`sha256:...` over the config bytes, every header byte and every size: the same for a copy of the folder."""
        return digest_of({name: stamp.rpartition(" ")[0] or stamp for name, stamp in self.evidence.items()})


def digest_of(evidence: Mapping[str, str]) -> str:
    """One digest over named digests and sizes."""
    text = json.dumps(dict(sorted(evidence.items())), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
