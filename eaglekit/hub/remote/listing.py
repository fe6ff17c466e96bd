"""Listings of the Hub, page by page: files of a commit, commits of a revision.

Not by `HfApi`: its pages are asked for wherever the Hub's answer points to, and the token goes along.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from eaglekit.checkpoint.hub_http import HubConnection
from eaglekit.hub.model import RemoteEntry
from eaglekit.hub.remote.client import HubClient
from eaglekit.report import Refusal

ENTRIES_LIMIT = 100_000
"""Files of one commit that are looked at."""
SHA256 = re.compile(r"[0-9a-f]{64}")
SHA1 = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Past:
    """One commit of the history."""

    commit: str
    description: str


def entries_at(connection: HubConnection, repo: str, commit: str) -> Mapping[str, RemoteEntry]:
    """Every file of one commit, by name, sorted. Raises `Refusal` for a listing that is none."""
    found: dict[str, RemoteEntry] = {}
    for item in _items(connection, f"{repo}/tree/{commit}", "recursive=true&expand=false"):
        if item.get("type") == "directory":
            continue
        entry = _entry(item)
        if entry is None:
            raise Refusal(connection.wrong("", f"an entry {str(item)[:80]}", "a file with its size and git name"))
        found[entry.name] = entry
        if len(found) > ENTRIES_LIMIT:
            raise Refusal(connection.wrong("", f"more than {ENTRIES_LIMIT} files", "the files of one model"))
    return dict(sorted(found.items()))


def history(client: HubClient, revision: str, most: int) -> list[Past]:
    """The newest commits of a revision, newest first, at most so many."""
    path = f"{client.repo}/commits/{quote(revision, safe='')}"
    return [
        Past(str(item.get("id")), str(item.get("message") or ""))
        for item in islice(_items(client.connection, path, ""), most)
    ]


def _items(connection: HubConnection, path: str, query: str) -> Iterator[dict[str, Any]]:
    """Every object of a listing, whose pages are asked for as they are needed."""
    for page in connection.pages(path, query):
        if not all(isinstance(item, dict) for item in page):
            raise Refusal(connection.wrong("", "entries that are no objects", "a listing"))
        yield from page


def _entry(item: Mapping[str, Any]) -> RemoteEntry | None:
    """One file of a listing; None for what is no file with a size and the names that git and LFS have for it."""
    name, large, oid = item.get("path"), item.get("lfs"), item.get("oid")
    sha256, size = (large.get("oid"), large.get("size")) if isinstance(large, dict) else (None, item.get("size"))
    named = isinstance(name, str) and isinstance(oid, str) and SHA1.fullmatch(oid)
    if item.get("type") != "file" or not named or type(size) is not int or size < 0:
        return None
    if large is not None and not (isinstance(sha256, str) and SHA256.fullmatch(sha256)):
        return None
    return RemoteEntry(str(name), size, str(oid), sha256)
