"""A large checkpoint by its names: the index is read, and of the shards only the headers that are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eaglekit.checkpoint.index import INDEX_LIMIT, parse_index
from eaglekit.checkpoint.json_document import CONFIG_LIMIT, read_object, too_large
from eaglekit.checkpoint.model import Source, Tensor, digest_of
from eaglekit.checkpoint.weights import INDEX, read_header
from eaglekit.report import Finding, Refusal
from eaglekit.report.json_text import compact


@dataclass
class Library:
    """The config of a checkpoint, the names of its tensors, and their descriptions on demand."""

    source: Source
    config: Mapping[str, Any]
    names: Mapping[str, str]
    """Tensor name -> file."""
    opened: dict[str, Mapping[str, Tensor]] = field(default_factory=dict)
    """File -> tensors, for the files whose headers were read."""
    evidence: dict[str, str] = field(default_factory=dict)
    """File -> digest of what was read of it, its size, and when it changed."""

    def tensor(self, name: str) -> Tensor:
        """The description of one tensor; reads the header of its shard the first time. Raises `Refusal`."""
        file = self.names[name]
        if file not in self.opened:
            header = read_header(self.source, file)
            self.opened[file] = header.tensors
            self.evidence[file] = stamp(self.source, file, header.digest)
        if name not in self.opened[file]:
            raise Refusal(
                Finding(
                    "index-tensor-missing",
                    f"the index places {name!r} in {file}, which does not hold it",
                    place=f"{file}: {name}",
                    got="absent",
                    expected=f"in {file}",
                    hint="the checkpoint is incomplete: get it again",
                )
            )
        return self.opened[file][name]

    def fingerprint(self) -> str:
        """`sha256:...` over everything read so far, with sizes and times."""
        return digest_of(self.evidence)

    def content_digest(self) -> str:
        """`sha256:...` over everything read so far, without times."""
        return digest_of({name: text.rpartition(" ")[0] for name, text in self.evidence.items()})


def library_identity(library: Library) -> dict[str, Any]:
    """Where a target came from, and a digest of its config and of every header, with the sizes of its files.

    Not of its bytes: 600 GB would take longer to hash than to run. Shards that are not here are left out, and named.
    """
    source, config = library.source, hashlib.sha256(compact(library.config).encode()).hexdigest()
    files, known = source.files(), {"config": config}
    named = sorted(set(library.names.values()))
    for file in (file for file in named if file in files):
        known[file] = f"{read_header(source, file).digest} {files[file]}"
    absent = [file for file in named if file not in files]
    covers = "config, headers and sizes" + (f", without {', '.join(absent)}" if absent else "")
    return {**source.identity(), "digest": digest_of(known), "digest_covers": covers}


def last_change(path: Path) -> str:
    """When a file was last changed: content and inode, since a writer can set the first one back."""
    status = path.stat()
    return f"{status.st_mtime_ns}/{status.st_ctime_ns}"


def stamp(source: Source, file: str, digest: str) -> str:
    """What a file is known by: the digest of what was read, its size, and when it changed."""
    path = source.local_path(file)
    changed = last_change(path) if path is not None else "remote"
    return f"{digest} {source.files()[file]} {changed}"


def open_library(source: Source, *, partial: bool = False) -> Library:
    """The library of `source`: config and index, or the one weight file's header. Raises `Refusal`.

    With `partial` the index may name shards that were not downloaded; reading from those fails when it is tried.
    """
    files = source.files()
    config: Mapping[str, Any] = {}
    if "config.json" in files:
        config = _document(source, "config.json", files["config.json"], CONFIG_LIMIT)
    if INDEX in files:
        document = _document(source, INDEX, files[INDEX], INDEX_LIMIT)
        named = document.get("weight_map")
        shards = {str(shard): 0 for shard in named.values()} if partial and isinstance(named, dict) else {}
        index = parse_index(document, INDEX, {**shards, **files})
        return Library(source, config, dict(sorted(index.weight_map.items())))
    single = sorted(name for name in files if name.endswith(".safetensors") and "/" not in name)
    if len(single) != 1:
        return Library(source, config, {})
    header = read_header(source, single[0])
    return Library(
        source,
        config,
        dict.fromkeys(sorted(header.tensors), single[0]),
        {single[0]: header.tensors},
        {single[0]: stamp(source, single[0], header.digest)},
    )


def _document(source: Source, file: str, size_bytes: int, limit_bytes: int) -> Mapping[str, Any]:
    if size_bytes > limit_bytes:
        raise too_large(file, size_bytes, limit_bytes)
    return read_object(source.read(file, 0, size_bytes), file, limit_bytes=limit_bytes)
