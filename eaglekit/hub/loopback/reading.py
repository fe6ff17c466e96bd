"""Reading a repository: what is in it, and the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from eaglekit.hub.loopback import xet
from eaglekit.hub.loopback.access import find, find_file
from eaglekit.hub.loopback.content import Entry, tree_oids
from eaglekit.hub.loopback.exchange import Exchange, Refused
from eaglekit.hub.loopback.model import Commit, Repository

SCANS = ("avScan", "pickleImportScan", "protectAiScan", "jFrogScan", "virusTotalScan")
NOT_SCANNED = {"status": "unscanned", **dict.fromkeys(SCANS)}
"""What the Hub says of a file that its scanners have not come to yet."""


def model_info(exchange: Exchange, repo: str, revision: str = "main") -> None:
    """A repository at a revision: its commit, and the names of its files."""
    repository, commit = find(exchange, repo, revision)
    with_blobs = exchange.flag("blobs")
    exchange.answer(
        200,
        {
            "_id": repository.id,
            "id": repository.id,
            "modelId": repository.id,
            "author": repository.id.split("/")[0],
            "sha": commit.oid,
            "lastModified": commit.date,
            "private": repository.private,
            "gated": "manual" if repository.gated else False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "siblings": [sibling(entry, with_blobs) for entry in commit.files.values()],
        },
    )


def sibling(entry: Entry, with_blobs: bool) -> dict[str, Any]:
    """A file as `model_info` lists it."""
    named = {"rfilename": entry.path}
    if not with_blobs:
        return named
    large = {"sha256": entry.sha256, "size": entry.size_bytes, "pointerSize": entry.pointer_bytes}
    return {**named, "size": entry.size_bytes, "blobId": entry.oid, **({"lfs": large} if entry.sha256 else {})}


def tree(exchange: Exchange, repo: str, revision: str, folder: str = "") -> None:
    """A page of the listing; the address of the next one goes into the Link header."""
    repository, commit = find(exchange, repo, revision)
    prefix = f"{folder.strip('/')}/" if folder else ""
    below = [item for item in listing(exchange, repository, commit) if str(item["path"]).startswith(prefix)]
    recursive = exchange.flag("recursive")
    items = [item for item in below if recursive or "/" not in str(item["path"]).removeprefix(prefix)]
    if folder and not items:
        raise Refused(404, f"{folder} does not exist on {revision!r}", "EntryNotFound")
    answer_page(exchange, items)


def answer_page(exchange: Exchange, items: Sequence[Any], *, total: bool = False) -> None:
    """Answer with the part of `items` that was asked for, and say where the next one is."""
    cursor = exchange.query.get("cursor", "0")
    start = int(cursor) if cursor.isdigit() else 0
    stop = start + exchange.hub.page_size
    headers = {"X-Total-Count": str(len(items))} if total else {}
    if stop < len(items):
        next_query = urlencode({**exchange.query, "cursor": stop})
        headers["Link"] = f'<{exchange.hub.endpoint}{exchange.path}?{next_query}>; rel="next"'
    exchange.answer(200, items[start:stop], headers)


def listing(exchange: Exchange, repository: Repository, commit: Commit) -> list[dict[str, Any]]:
    """Every file and folder of a commit, by path; with `expand`, as much as the Hub knows of each."""
    folders = [
        {"type": "directory", "oid": oid, "size": 0, "path": path}
        for path, oid in tree_oids(commit.files.values()).items()
        if path
    ]
    files = [described(exchange, entry) for entry in commit.files.values()]
    items = sorted([*folders, *files], key=lambda item: PurePosixPath(str(item["path"])).parts)
    if not exchange.flag("expand"):
        return items
    touched = last_commits(repository, commit)
    return [{**item, "lastCommit": touched[str(item["path"])]} for item in items]


def described(exchange: Exchange, entry: Entry) -> dict[str, Any]:
    """A file as a tree listing gives it."""
    item = {"type": "file", "oid": entry.oid, "size": entry.size_bytes, "path": entry.path}
    if entry.sha256:
        large = {"oid": entry.sha256, "size": entry.size_bytes, "pointerSize": entry.pointer_bytes}
        item = {**item, "lfs": large, **xet.in_listing(exchange, entry)}
    return {**item, **({"securityFileStatus": NOT_SCANNED} if exchange.flag("expand") else {})}


def last_commits(repository: Repository, commit: Commit) -> dict[str, dict[str, str]]:
    """For every file and folder of a commit, the last commit that changed it."""
    told: dict[str, dict[str, str]] = {}
    here = names_of(commit)
    for each in repository.history(commit):
        before = names_of(repository.commits[each.parent]) if each.parent else {}
        now = {path for path, oid in names_of(each).items() if before.get(path) != oid}
        for path in now & here.keys() - told.keys():
            told[path] = {"id": each.oid, "title": each.title, "date": each.date}
    return told


def names_of(commit: Commit) -> dict[str, str]:
    """Path -> git's name for what is there, of every file and folder."""
    return {**tree_oids(commit.files.values()), **{path: entry.oid for path, entry in commit.files.items()}}


def paths_info(exchange: Exchange, repo: str, revision: str) -> None:
    """The files and folders of the given paths; the ones that are missing are left out."""
    repository, commit = find(exchange, repo, revision)
    form = parse_qsl(exchange.body.read().decode(errors="replace"))
    exchange.query.update({key: value for key, value in form if key == "expand"})
    wanted = {value for key, value in form if key == "paths"}
    exchange.answer(200, [item for item in listing(exchange, repository, commit) if item["path"] in wanted])


def resolve(exchange: Exchange, repo: str, revision: str, file: str) -> None:
    """Where a file lies: small ones at a cached address of the same origin, large ones at a signed one of another."""
    repository, commit, entry = find_file(exchange, repo, revision, file)
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{entry.etag}"'}
    if entry.sha256 is None:
        location = f"/api/resolve-cache/models/{repository.id}/{commit.oid}/{quote(entry.path)}"
        exchange.redirect(307, location, headers)
        return
    linked = {"X-Linked-Etag": f'"{entry.sha256}"', "X-Linked-Size": str(entry.size_bytes)}
    signature = exchange.hub.sign("download", entry.sha256)
    signed = f"{exchange.hub.cdn_endpoint}/cdn/{entry.sha256}?signature={signature}"
    exchange.redirect(302, signed, {**headers, **linked, **xet.in_headers(exchange, repository, commit, entry)})


def resolve_cache(exchange: Exchange, repo: str, revision: str, file: str) -> None:
    """The bytes of a small file."""
    _, commit, entry = find_file(exchange, repo, revision, file)
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{entry.etag}"'}
    exchange.send_file(exchange.storage.content.path(entry), headers)
