"""Names of content as git and git-lfs compute them, and the folder that keeps content by those names.

They are computed here from the bytes, so that a client's checks mean something: a regular file by the sha1 of
`blob SIZE\\0CONTENT`; a large one by its sha256, with the pointer text as its blob; a commit by its tree.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

LARGE_SUFFIXES = frozenset({".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".model", ".npz"})
LARGE_BYTES = 10 << 20
SAMPLE_BYTES = 512

GIT_ATTRIBUTES = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in sorted(LARGE_SUFFIXES))


def is_large(path: str, size_bytes: int, sample: bytes) -> bool:
    """The Hub's own rule: kept as LFS by suffix (.gitattributes), above 10 MiB, or when it is not text."""
    if size_bytes == 0:
        return False
    return PurePosixPath(path).suffix in LARGE_SUFFIXES or size_bytes > LARGE_BYTES or b"\0" in sample[:SAMPLE_BYTES]


def is_safe_path(path: str) -> bool:
    """Whether git, and every file system that a repository is written to, takes `path` for a file below its root."""
    parts = path.split("/")
    return not any(part in {"", ".", ".."} or part.lower() == ".git" for part in parts) and not re.search(
        r"[\0-\x1f\\]", path
    )


def git_oid(kind: str, content: bytes) -> str:
    """The name git gives an object of this kind with this content."""
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


def pointer_text(sha256: str, size_bytes: int) -> bytes:
    """What git stores in place of a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size_bytes}\n".encode()


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of one commit."""

    path: str
    size_bytes: int
    oid: str
    """git sha1: of the content, or of the pointer text when the file is large."""
    sha256: str | None = None
    """Set for a large file only."""
    pointer_bytes: int = 0

    @property
    def etag(self) -> str:
        """What HTTP calls this content: sha256 of a large file, git sha1 of any other."""
        return self.sha256 or self.oid


def large_entry(path: str, sha256: str, size_bytes: int) -> Entry:
    """The entry of a large file whose content is known by its digest."""
    pointer = pointer_text(sha256, size_bytes)
    return Entry(path, size_bytes, git_oid("blob", pointer), sha256, len(pointer))


def tree_oids(files: Iterable[Entry]) -> dict[str, str]:
    """The name of git's tree object for every folder; the root is the empty path."""
    below: dict[str, dict[str, str]] = {"": {}}
    for file in files:
        folder, _, name = file.path.rpartition("/")
        below.setdefault(folder, {})[name] = file.oid
    for folder in list(below):
        for parent in PurePosixPath(folder).parents:
            below.setdefault("" if str(parent) == "." else str(parent), {})
    oids: dict[str, str] = {}
    for folder in sorted(below, key=lambda path: path.count("/") + bool(path), reverse=True):
        prefix = f"{folder}/" if folder else ""
        folders = {
            path.removeprefix(prefix): oid
            for path, oid in oids.items()
            if path.startswith(prefix) and "/" not in path.removeprefix(prefix)
        }
        # git sorts a folder as though its name ended in a slash.
        lines = [(name.encode(), b"100644", oid) for name, oid in below[folder].items()]
        lines += [(name.encode() + b"/", b"40000", oid) for name, oid in folders.items()]
        content = b"".join(
            mode + b" " + name.rstrip(b"/") + b"\0" + bytes.fromhex(oid) for name, mode, oid in sorted(lines)
        )
        oids[folder] = git_oid("tree", content)
    return oids


class ContentStore:
    """Content on disk: `blobs/` by git sha1, `lfs/` by sha256, `incoming/` while it arrives."""

    def __init__(self, root: Path) -> None:
        self._root = root
        shutil.rmtree(root / "incoming", ignore_errors=True)  # of a server that was stopped in the middle
        for name in ("blobs", "lfs", "incoming"):
            (root / name).mkdir(parents=True, exist_ok=True)

    def path(self, entry: Entry) -> Path:
        """Where the bytes of `entry` lie."""
        return self.large(entry.sha256) if entry.sha256 else self._root / "blobs" / entry.oid

    def large(self, sha256: str) -> Path:
        """Where the bytes of a large file lie, or would."""
        return self._root / "lfs" / sha256

    def find_large(self, sha256: str) -> Path | None:
        """The bytes of a large file that is here; a name that is none is no path."""
        path = self.large(sha256)
        return path if re.fullmatch("[0-9a-f]{64}", sha256) and path.exists() else None

    def incoming(self) -> Path:
        """A new name for bytes that are not yet known to be what they are said to be."""
        return self._root / "incoming" / secrets.token_hex(8)

    def accept(self, arrived: Path, sha256: str) -> None:
        """Keep the bytes of `arrived`, whose digest has been checked, under their name."""
        arrived.chmod(0o444)
        arrived.replace(self.large(sha256))

    def add(self, path: str, content: bytes | Path) -> Entry:
        """The entry for `content` at `path`, its bytes stored by their own name."""
        if isinstance(content, bytes):
            large = is_large(path, len(content), content)
            return self._add_large(path, content) if large else self.add_regular(path, content)
        with content.open("rb") as file:
            sample = file.read(SAMPLE_BYTES)
        large = is_large(path, content.stat().st_size, sample)
        return self._add_large(path, content) if large else self.add_regular(path, content.read_bytes())

    def add_regular(self, path: str, content: bytes) -> Entry:
        """The entry for `content`, kept by git itself."""
        oid = git_oid("blob", content)
        arrived = self.incoming()
        arrived.write_bytes(content)
        arrived.replace(self._root / "blobs" / oid)
        return Entry(path, len(content), oid)

    def _add_large(self, path: str, content: bytes | Path) -> Entry:
        arrived = self.incoming()
        if isinstance(content, Path):
            shutil.copyfile(content, arrived)
        else:
            arrived.write_bytes(content)
        sha256, size_bytes = file_sha256(arrived), arrived.stat().st_size
        self.accept(arrived, sha256)
        return large_entry(path, sha256, size_bytes)


def file_sha256(path: Path) -> str:
    """The sha256 of a file, read piece by piece."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def write_files(files: Mapping[str, Entry], store: ContentStore, folder: Path) -> None:
    """Write the files of a commit below `folder`; a large one shares its bytes with the store where it can."""
    for entry in files.values():
        target = folder / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.sha256:
            try:
                os.link(store.path(entry), target)
            except OSError:  # another file system, or one without links
                shutil.copyfile(store.path(entry), target)
        else:
            shutil.copyfile(store.path(entry), target)
