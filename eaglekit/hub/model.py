"""The nouns of publishing: what is to be sent, where to, what is there already, and what a push would do about it."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

CARD = "README.md"
REPORT = "report.json"
"""The validation report, as it is published beside the weights."""
FIGURE = "drift.png"
PROMPTS = "prompts.jsonl"
SIGNATURE = "model.sig"
HASH_PIECE_BYTES = 1 << 20


def regular(path: str, flags: int) -> int:
    """An `opener` for what was a regular file when it was looked at: raises `OSError` for what would not end by now."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file any more", path)
    return descriptor


@dataclass(frozen=True, slots=True)
class LocalFile:
    """One file that is to be published: from disk, or made by the push itself."""

    name: str
    """POSIX path inside the repository."""
    content: Path | bytes
    size_bytes: int
    sha256: str
    """Hex; also the Hub's name for a large file."""

    @classmethod
    def made(cls, name: str, data: bytes) -> LocalFile:
        """A file that exists only in memory."""
        return cls(name, data, len(data), hashlib.sha256(data).hexdigest())

    def git_name(self) -> str:
        """The sha1 that git, and so the Hub for a small file, knows this content by. Reads the file."""
        digest = hashlib.sha1(b"blob %d\0" % self.size_bytes, usedforsecurity=False)
        if isinstance(self.content, bytes):
            digest.update(self.content)
            return digest.hexdigest()
        with open(self.content, "rb", opener=regular) as stream:
            while piece := stream.read(HASH_PIECE_BYTES):
                digest.update(piece)
        return digest.hexdigest()

    def read(self) -> bytes:
        """The whole content; for small files. Of one that has grown since it was looked at, no more than shows it."""
        if isinstance(self.content, bytes):
            return self.content
        with open(self.content, "rb", opener=regular) as stream:
            return stream.read(self.size_bytes + 1)


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """One file of one commit, as the Hub lists it."""

    name: str
    size_bytes: int
    git_name: str
    """sha1 of the content, or of the pointer when the file is large."""
    sha256: str | None = None
    """Set for a large (LFS or xet) file only."""

    def holds(self, file: LocalFile) -> bool:
        """Whether this is, by the digest the Hub keeps, exactly `file`."""
        if file.size_bytes != self.size_bytes:
            return False
        return file.sha256 == self.sha256 if self.sha256 is not None else file.git_name() == self.git_name


class Change(str, Enum):
    """What a push does with one file."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    REMOTE_ONLY = "remote only"
    """Not among what is pushed; it stays, nothing remote is ever deleted."""


@dataclass(frozen=True, slots=True)
class Row:
    """One file of a plan."""

    change: Change
    name: str
    local: LocalFile | None
    remote: RemoteEntry | None


@dataclass(frozen=True, slots=True)
class Account:
    """Whom the token belongs to. Never holds the token."""

    name: str
    role: str
    """`read`, `write`, `fineGrained`, or what else the Hub says."""
    namespaces: tuple[str, ...]
    """The account and the organisations it may write in, as far as the Hub tells."""
    repositories: tuple[str, ...] = ()
    """Single repositories that a fine-grained token may write to, outside of `namespaces`."""
    curates: tuple[str, ...] = ()
    """Accounts and organisations whose collections it may change."""
    known: bool = True
    """Whether the Hub told what the token may do; where it did not, only trying shows."""

    @property
    def places(self) -> tuple[str, ...]:
        """Everything it may write in, as far as that is known."""
        return self.namespaces + self.repositories


@dataclass(frozen=True, slots=True)
class Wishes:
    """Where a push goes, and how: what the command line says."""

    repo: str
    """ORG/NAME."""
    revision: str = "main"
    create_pr: bool = False
    public: bool = False
    """Only of a new repository; an existing one keeps its visibility."""
    overwrite: bool = False
    tag: str | None = None
    message: str | None = None
    collection: str | None = None


@dataclass(frozen=True, slots=True)
class RemoteState:
    """What the Hub said, before anything was sent to it."""

    account: Account
    exists: bool
    private: bool | None
    """None when there is no repository yet."""
    parent: str | None
    """Full commit that the plan stands on; None when there is no repository yet."""
    branch_exists: bool
    """Whether the wished revision exists; the Hub makes `main` with the repository."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tag -> commit."""
    entries: Mapping[str, RemoteEntry] = field(default_factory=dict)
    """Every file of `parent`, by name."""
    collected: bool = False
    """Whether the collection that is wished has the model already."""
    pulls: Mapping[str, str] = field(default_factory=dict)
    """`refs/pr/N` -> commit, where a pull request is wished."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a push will do: everything that is shown before a byte is sent."""

    wishes: Wishes
    state: RemoteState
    rows: tuple[Row, ...]
    """Sorted by name."""
    card: str
    """The README.md that will stand there."""

    @property
    def sends(self) -> tuple[LocalFile, ...]:
        """The files that are new or changed."""
        wanted = (Change.NEW, Change.CHANGED)
        return tuple(row.local for row in self.rows if row.change in wanted and row.local is not None)

    @property
    def writes(self) -> bool:
        """Whether anything on the Hub will change: files, a branch that is made, a tag that is set, a collection."""
        state, tag = self.state, self.wishes.tag
        tags = tag is not None and state.tags.get(tag) != state.parent
        collects = self.wishes.collection is not None and not state.collected
        return bool(self.sends) or not state.branch_exists or tags or collects

    @property
    def files(self) -> tuple[LocalFile, ...]:
        """Every file that must be there afterwards."""
        return tuple(row.local for row in self.rows if row.local is not None)
