"""The storage of a Hub: blobs by content, commits, branches, repositories, accounts. Knows nothing of HTTP.

Names of content are git's and git-lfs's own, computed here from the bytes, so that a client's checks mean something:
a regular file by the sha1 of `blob SIZE\\0CONTENT`; a large one by its sha256, with the pointer text as its blob.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LARGE_SUFFIXES = frozenset({".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".model", ".npz"})
LARGE_BYTES = 10 << 20
"""The Hub's own rule: kept as LFS by suffix (.gitattributes) or above 10 MiB."""

GIT_ATTRIBUTES = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in sorted(LARGE_SUFFIXES))


def git_blob_oid(content: bytes) -> str:
    """The name git gives a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


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


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: everything that the repository held at that moment."""

    oid: str
    parent: str | None
    title: str
    files: Mapping[str, Entry]


@dataclass(slots=True)
class Account:
    """Someone with a token."""

    name: str
    token: str
    role: str = "write"
    """`read` or `write`."""
    organisations: tuple[str, ...] = ()

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Where this account owns repositories."""
        return (self.name, *self.organisations)


@dataclass(slots=True)
class Repository:
    """One repository with all of its commits."""

    id: str
    private: bool = False
    gated: bool = False
    granted: set[str] = field(default_factory=set)
    """Names of the accounts a gated repository has let in."""
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    """Branch, tag or `refs/pr/N` -> commit."""

    def resolve(self, revision: str) -> Commit | None:
        """The commit a branch, tag or full commit name stands for."""
        return self.commits.get(self.branches.get(revision, revision))

    def visible_to(self, account: Account | None) -> bool:
        """Whether `account` may know that this exists."""
        owned = account is not None and self.id.split("/")[0] in account.namespaces
        return owned or not self.private

    def open_to(self, account: Account | None) -> bool:
        """Whether `account` may read the files, not only see that they exist."""
        owned = account is not None and self.id.split("/")[0] in account.namespaces
        return owned or not self.gated or (account is not None and account.name in self.granted)


class Storage:
    """Everything one Hub remembers, under one folder on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repositories: dict[str, Repository] = {}
        self.accounts: dict[str, Account] = {}
        (root / "blobs").mkdir(parents=True)
        (root / "lfs").mkdir()

    def add_account(self, account: Account) -> Account:
        """Remember `account` by its token."""
        self.accounts[account.token] = account
        return account

    def create_repository(self, id: str, *, private: bool = False, gated: bool = False) -> Repository:
        """A new repository; like the Hub's, it already has one commit with `.gitattributes`."""
        if id in self.repositories:
            raise FileExistsError(id)
        repository = self.repositories[id] = Repository(id, private=private, gated=gated)
        first = self.add_blob(".gitattributes", GIT_ATTRIBUTES.encode())
        self.commit(repository, [first], title="initial commit")
        return repository

    def commit(
        self,
        repository: Repository,
        entries: Iterable[Entry],
        *,
        deleted: Iterable[str] = (),
        branch: str = "main",
        title: str = "Upload",
    ) -> Commit:
        """The commit that puts `entries` on top of `branch`, which moves to it."""
        parent = repository.resolve(branch)
        files = dict(parent.files) if parent else {}
        for path in deleted:
            del files[path]
        files.update({entry.path: entry for entry in entries})
        described = [title, parent.oid if parent else "", branch, sorted((f.path, f.etag) for f in files.values())]
        oid = hashlib.sha1(json.dumps(described).encode(), usedforsecurity=False).hexdigest()
        commit = Commit(oid, parent.oid if parent else None, title, dict(sorted(files.items())))
        repository.commits[oid] = commit
        repository.branches[branch] = oid
        return commit

    def add_folder(self, folder: Path) -> list[Entry]:
        """Entries for every file of `folder`, their content stored."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return [self.add_blob(path.relative_to(folder).as_posix(), path) for path in files]

    def add_blob(self, path: str, content: bytes | Path) -> Entry:
        """The entry for `content` at `path`, its bytes stored by their own name."""
        size_bytes = content.stat().st_size if isinstance(content, Path) else len(content)
        if Path(path).suffix in LARGE_SUFFIXES or size_bytes > LARGE_BYTES:
            return self._add_large(path, content, size_bytes)
        data = content.read_bytes() if isinstance(content, Path) else content
        oid = git_blob_oid(data)
        (self.root / "blobs" / oid).write_bytes(data)
        return Entry(path, size_bytes, oid)

    def _add_large(self, path: str, content: bytes | Path, size_bytes: int) -> Entry:
        sha256 = hashlib.sha256()
        if isinstance(content, Path):
            with content.open("rb") as file:
                while piece := file.read(1 << 20):
                    sha256.update(piece)
            shutil.copyfile(content, self.root / "lfs" / sha256.hexdigest())
        else:
            sha256.update(content)
            (self.root / "lfs" / sha256.hexdigest()).write_bytes(content)
        pointer = pointer_text(sha256.hexdigest(), size_bytes)
        return Entry(path, size_bytes, git_blob_oid(pointer), sha256.hexdigest(), len(pointer))

    def content(self, entry: Entry) -> Path:
        """Where the bytes of `entry` lie."""
        return self.large(entry.sha256) if entry.sha256 else self.root / "blobs" / entry.oid

    def large(self, sha256: str) -> Path:
        """Where the bytes of a large file lie."""
        return self.root / "lfs" / sha256
