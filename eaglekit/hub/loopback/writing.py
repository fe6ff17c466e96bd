"""Committing: what the Hub says about files before it has them, and the one request that makes a commit."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from eaglekit.hub.loopback import xet
from eaglekit.hub.loopback.access import at, committable
from eaglekit.hub.loopback.cards import card_problems
from eaglekit.hub.loopback.content import Entry, is_large, is_safe_path, large_entry
from eaglekit.hub.loopback.exchange import Exchange, Refused
from eaglekit.hub.loopback.model import Account, Commit, Repository

STALE = "A commit has happened since. Please refresh and try again."


def validate_yaml(exchange: Exchange) -> None:
    """What the Hub thinks of a card."""
    errors, warnings = card_problems(str(exchange.json().get("content") or ""))
    told = {"errors": [{"message": text} for text in errors], "warnings": [{"message": text} for text in warnings]}
    if errors:
        exchange.answer(400, {"error": "Invalid metadata in README.md", **told})
        return
    exchange.answer(200, told)


def preupload(exchange: Exchange, repo: str, revision: str) -> None:
    """For each file: whether it will be kept as LFS, whether .gitignore leaves it out, and what is there now."""
    repository, _ = committable(exchange, repo, revision, create_pr=exchange.flag("create_pr"))
    head = at(repository, revision)
    wanted = exchange.json()
    ignored = wanted.get("gitIgnore")
    if ignored is None and ".gitignore" in head.files:
        ignored = exchange.storage.content.path(head.files[".gitignore"]).read_text(encoding="utf-8")
    files = [answer_for(file, head, str(ignored or "")) for file in wanted.get("files", [])]
    exchange.answer(200, {"files": files, "commitOid": head.oid})


def answer_for(file: Any, head: Commit, ignored: str) -> dict[str, Any]:
    """What the Hub says about one file."""
    try:
        path, size, sample = file["path"], int(file["size"]), base64.b64decode(file["sample"])
    except (KeyError, TypeError, ValueError):
        raise Refused(400, "Invalid file: path, size and sample are needed") from None
    mode = "lfs" if is_large(path, size, sample) else "regular"
    there = {"oid": head.files[path].etag} if path in head.files else {}
    return {"path": path, "uploadMode": mode, "shouldIgnore": is_ignored(path, ignored), **there}


def is_ignored(path: str, ignored: str) -> bool:
    """Whether a line of .gitignore names `path`, or a folder it lies in."""
    patterns = [line.strip().strip("/") for line in ignored.splitlines() if line.strip() and line[0] not in "#!"]
    above = [path, *(str(parent) for parent in PurePosixPath(path).parents)]
    return any(fnmatchcase(each, pattern) or fnmatchcase(PurePosixPath(each).name, pattern)
               for pattern in patterns for each in above if each != ".")  # fmt: skip


@dataclass(slots=True)
class Change:
    """A commit as it was asked for."""

    title: str = ""
    description: str = ""
    parent: str | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    deleted_folders: list[str] = field(default_factory=list)


def commit(exchange: Exchange, repo: str, revision: str) -> None:
    """One commit on a branch, or on a new pull request against it."""
    create_pr = exchange.flag("create_pr")
    repository, account = committable(exchange, repo, revision, create_pr=create_pr)
    at(repository, revision)
    change = read_change(exchange)
    with exchange.storage.lock:
        if create_pr:
            made, extra = propose(exchange, repository, account, revision, change)
        else:
            made, extra = apply(exchange, repository, account, revision, change), {}
    url = f"{exchange.hub.endpoint}/{repository.id}/commit/{made.oid}"
    exchange.answer(200, {"success": True, "commitOid": made.oid, "commitUrl": url, "hookOutput": "", **extra})


def apply(exchange: Exchange, repository: Repository, account: Account, revision: str, change: Change) -> Commit:
    """The commit on `revision`, unless somebody was faster."""
    if revision not in repository.branches:
        raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    head = at(repository, revision)
    if change.parent is not None and not head.oid.startswith(change.parent):
        raise Refused(412, STALE)
    check(head, change)
    return write(exchange, repository, account, revision, head, change)


def propose(
    exchange: Exchange, repository: Repository, account: Account, revision: str, change: Change
) -> tuple[Commit, dict[str, str]]:
    """The commit on a new pull request. Its parent is where the request starts from, not a lock."""
    if revision not in repository.branches:
        raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    onto = at(repository, change.parent or revision)
    check(onto, change)
    opened = exchange.storage.open_discussion(repository, change.title, change.description, account.name, base=revision)
    made = write(exchange, repository, account, opened.reference, onto, change)
    return made, {"pullRequestUrl": f"{exchange.hub.endpoint}/{repository.id}/discussions/{opened.num}"}


def check(onto: Commit, change: Change) -> None:
    """Refuse what cannot be done to `onto`."""
    for path in change.deleted:
        if path not in onto.files:
            raise Refused(404, f"{path} does not exist", "EntryNotFound")
    kept = onto.files.keys() - removed(onto, change) | change.entries.keys()
    folders = {str(parent) for path in kept for parent in PurePosixPath(path).parents}
    if clash := sorted(folders & kept):
        raise Refused(400, f"{clash[0]}: both a file and a folder")


def removed(onto: Commit, change: Change) -> set[str]:
    """The paths that are to go."""
    prefixes = tuple(f"{folder.strip('/')}/" for folder in change.deleted_folders)
    return {*change.deleted, *(path for path in onto.files if path.startswith(prefixes))}


def write(
    exchange: Exchange, repository: Repository, account: Account, branch: str, onto: Commit, change: Change
) -> Commit:
    """The commit on `branch`, on top of `onto`."""
    return exchange.storage.commit(
        repository,
        change.entries.values(),
        deleted=removed(onto, change),
        branch=branch,
        onto=onto,
        title=change.title,
        description=change.description,
        author=account.name,
    )


def read_change(exchange: Exchange) -> Change:
    """The commit that the lines of the body ask for; everything in it is checked, and its regular files are kept."""
    change = Change()
    for line in lines_of(exchange):
        try:
            key, value = line["key"], line["value"]
            if key == "header":
                change.title, change.description = str(value["summary"]), str(value.get("description") or "")
                change.parent = value.get("parentCommit")
            elif key == "file":
                change.entries[value["path"]] = regular(exchange, value)
            elif key == "lfsFile":
                change.entries[value["path"]] = large(exchange, value)
            elif key == "deletedFile":
                change.deleted.append(str(value["path"]))
            elif key == "deletedFolder":
                change.deleted_folders.append(str(value["path"]))
            else:
                raise Refused(400, f"Unknown key {key!r} in a commit")
        except (KeyError, TypeError, AttributeError):
            raise Refused(400, "Invalid line in a commit") from None
    if not change.title:
        raise Refused(400, '"summary" is required')
    return change


def lines_of(exchange: Exchange) -> Iterator[Any]:
    """The JSON documents of the body, one a line."""
    for line in exchange.body.read().split(b"\n"):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError:
                raise Refused(400, "Invalid JSON in a commit") from None


def regular(exchange: Exchange, value: dict[str, Any]) -> Entry:
    """A file whose content is in the commit itself."""
    path = checked_path(value)
    try:
        content = (
            base64.b64decode(value["content"], validate=True)
            if value.get("encoding") == "base64"
            else str(value["content"]).encode()
        )
    except binascii.Error:
        raise Refused(400, f"{path}: not base64") from None
    if is_large(path, len(content), content):
        raise Refused(400, f"{path}: a binary or large file has to go up as LFS first")
    if path == "README.md":
        errors, _ = card_problems(content.decode(errors="replace"))
        if errors:
            raise Refused(400, f"Invalid metadata in README.md: {'; '.join(errors)}")
    return exchange.storage.content.add_regular(path, content)


def large(exchange: Exchange, value: dict[str, Any]) -> Entry:
    """A file whose content went up before."""
    path, sha256 = checked_path(value), str(value["oid"])
    there = exchange.storage.content.find_large(sha256)
    if there is None and exchange.hub.xet:
        there = xet.fetch(exchange.storage, sha256)
    if value.get("algo") != "sha256" or there is None:
        raise Refused(400, f"{path}: there is no LFS object {sha256}")
    size = there.stat().st_size
    if value.get("size", size) != size:
        raise Refused(400, f"{path}: the LFS object {sha256} has {size} bytes")
    return large_entry(path, sha256, size)


def checked_path(value: dict[str, Any]) -> str:
    """The path of a file, if it can be one."""
    path = value["path"]
    if not isinstance(path, str) or not is_safe_path(path):
        raise Refused(400, f"Invalid path: {path}")
    return path
