"""What a Hub remembers: accounts and their rights, repositories with commits and references, discussions."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from eaglekit.hub.loopback.content import Entry

WRITING_ROLES = frozenset({"admin", "write"})


@dataclass(frozen=True, slots=True)
class Scope:
    """What a fine-grained token may do to one entity."""

    kind: str
    """`user` or `org` (all of its repositories), or `model` (one repository)."""
    name: str
    permissions: tuple[str, ...] = ("repo.content.read", "repo.write")

    def covers(self, id: str, permission: str) -> bool:
        """Whether the repository `id` is within this scope, for `permission`."""
        here = id if self.kind == "model" else id.split("/")[0]
        return self.name == here and permission in self.permissions


@dataclass(slots=True)
class Account:
    """Someone with a token. Two tokens of one person are two accounts of one name."""

    name: str
    token_sha256: str
    """Tokens themselves are not kept, so that none is ever written to disk."""
    role: str = "write"
    """`read`, `write` or `fineGrained`."""
    organisations: Mapping[str, str] = field(default_factory=dict)
    """Organisation -> the role in it: `admin`, `write`, `contributor` or `read`."""
    scopes: tuple[Scope, ...] = ()
    """Of a fine-grained token."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Where this account belongs."""
        return (self.name, *self.organisations)

    def may_create_in(self, namespace: str) -> bool:
        """Whether this token may make a repository under `namespace`."""
        role = "admin" if namespace == self.name else self.organisations.get(namespace, "")
        if role not in {*WRITING_ROLES, "contributor"}:
            return False
        return self._token_allows(f"{namespace}/", "repo.write")

    def may_write(self, repository: Repository) -> bool:
        """Whether this token may commit to `repository` without a pull request."""
        namespace = repository.id.split("/")[0]
        role = "admin" if namespace == self.name else self.organisations.get(namespace, "")
        own = role == "contributor" and repository.creator == self.name
        return (role in WRITING_ROLES or own) and self._token_allows(repository.id, "repo.write")

    def may_read(self, repository: Repository) -> bool:
        """Whether this token may read `repository` even if it is private."""
        belongs = repository.id.split("/")[0] in self.namespaces
        return belongs and self._token_allows(repository.id, "repo.content.read")

    def _token_allows(self, id: str, permission: str) -> bool:
        if self.role == "fineGrained":
            return any(scope.covers(id, permission) for scope in self.scopes)
        return self.role == "write" or permission != "repo.write"


def token_digest(token: str) -> str:
    """What stands for a token in everything that is kept."""
    return hashlib.sha256(token.encode()).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, told in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: everything that the repository held at that moment."""

    oid: str
    parent: str | None
    title: str
    files: Mapping[str, Entry]
    description: str = ""
    author: str = ""
    date: str = ""
    """UTC, as the Hub writes it."""


@dataclass(slots=True)
class Discussion:
    """A discussion, or a pull request when it has a `base`."""

    num: int
    title: str
    description: str
    author: str
    created: str
    base: str | None = None
    """The branch that a pull request is for."""
    status: str = "open"
    merged_as: str | None = None

    @property
    def reference(self) -> str:
        """Where the commits of a pull request are."""
        return f"refs/pr/{self.num}"


@dataclass(slots=True)
class Repository:
    """One repository with all of its commits."""

    id: str
    private: bool = False
    gated: bool = False
    creator: str = ""
    granted: set[str] = field(default_factory=set)
    """Names of the accounts a gated repository has let in."""
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    """Branch, or `refs/pr/N`, -> commit."""
    tags: dict[str, str] = field(default_factory=dict)
    discussions: dict[int, Discussion] = field(default_factory=dict)

    def resolve(self, revision: str) -> Commit | None:
        """The commit that a branch, tag, full reference or full commit name stands for."""
        short = revision.removeprefix("refs/heads/")
        tag = revision.removeprefix("refs/tags/")
        return self.commits.get(self.branches.get(short) or self.tags.get(tag) or revision)

    def history(self, commit: Commit) -> list[Commit]:
        """`commit` and everything before it, newest first."""
        found = [commit]
        while (parent := found[-1].parent) is not None:
            found.append(self.commits[parent])
        return found

    def visible_to(self, account: Account | None) -> bool:
        """Whether `account` may know that this exists."""
        return not self.private or (account is not None and account.may_read(self))

    def open_to(self, account: Account | None) -> bool:
        """Whether `account` may read the files, not only see that they exist."""
        if not self.gated:
            return self.visible_to(account)
        return account is not None and (account.may_read(self) or account.name in self.granted)


@dataclass(slots=True)
class Collection:
    """A named list of repositories."""

    slug: str
    title: str
    owner: str
    private: bool = False
    items: list[tuple[str, str, str]] = field(default_factory=list)
    """Type, id and note of each."""
