"""Listings of the Hub, page by page: files of a commit, commits of a revision.

Not by `HfApi`: its pages are asked for wherever the Hub's answer points to, and the token goes along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from eaglekit.hub.client import HubClient
from eaglekit.hub.model import RemoteEntry
from eaglekit.report import Refusal

ENTRIES_LIMIT = 100_000
"""Files of one commit that are looked at."""


@dataclass(frozen=True, slots=True)
class Past:
    """One commit of the history."""

    commit: str
    description: str


def entries_at(client: HubClient, commit: str) -> Mapping[str, RemoteEntry]:
    """Every file of one commit, by name, sorted."""
    found = {}
    for item in _items(client, f"{client.repo}/tree/{commit}", "recursive=true&expand=false"):
        if item.get("type") == "file":
            entry = _entry(item, client)
            found[entry.name] = entry
            if len(found) > ENTRIES_LIMIT:
                raise Refusal(client.connection.wrong("", f"more than {ENTRIES_LIMIT} files", "a model's files"))
    return dict(sorted(found.items()))


def history(client: HubClient, revision: str, most: int) -> list[Past]:
    """The newest commits of a revision, newest first, at most so many."""
    path = f"{client.repo}/commits/{quote(revision, safe='')}"
    return [
        Past(str(item.get("id")), str(item.get("message") or "")) for item in islice(_items(client, path, ""), most)
    ]


def _items(client: HubClient, path: str, query: str) -> Iterator[dict[str, Any]]:
    """Every object of a listing, whose pages are asked for as they are needed."""
    for page in client.connection.pages(path, query):
        if not all(isinstance(item, dict) for item in page):
            raise Refusal(client.connection.wrong("", "entries that are no objects", "a listing"))
        yield from page


def _entry(item: Mapping[str, Any], client: HubClient) -> RemoteEntry:
    name, large = item.get("path"), item.get("lfs")
    size = large.get("size") if isinstance(large, dict) else item.get("size")
    sha256 = large.get("oid") if isinstance(large, dict) else None
    if not isinstance(name, str) or type(size) is not int or not isinstance(sha256, str | None):
        raise Refusal(client.connection.wrong("", f"an entry {name!r} of {size!r} bytes", "a file with its size"))
    return RemoteEntry(name, size, str(item.get("oid")), sha256)
