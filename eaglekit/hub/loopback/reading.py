"""The read-only half of the Hub's HTTP interface, as huggingface_hub uses it."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from eaglekit.hub.loopback.exchange import Exchange
from eaglekit.hub.loopback.storage import Commit, Entry, Repository

Route = Callable[..., None]

REPO = r"(?P<repo>[^/]+/[^/]+)"
REVISION = r"(?P<revision>[^/]+)"


def whoami(exchange: Exchange) -> None:
    """Who the token belongs to, and what it may do."""
    account = exchange.account
    if account is None:
        exchange.error(401, "", "Invalid username or password.")
        return
    organisations = [{"name": name, "type": "org", "roleInOrg": "write"} for name in account.organisations]
    access = {"displayName": "test", "role": account.role}
    exchange.answer(
        200,
        {
            "type": "user",
            "name": account.name,
            "fullname": account.name,
            "orgs": organisations,
            "auth": {"type": "access_token", "accessToken": access},
        },
    )


def auth_check(exchange: Exchange, repo: str) -> None:
    """Whether this account may read the files."""
    repository = visible(exchange, repo)
    if repository is None:
        return
    if not repository.open_to(exchange.account):
        refuse_gated(exchange, repository)
        return
    exchange.answer(200, b"")


def model_info(exchange: Exchange, repo: str, revision: str = "main") -> None:
    """A repository at a revision: its commit, and the names of its files."""
    if (found := find(exchange, repo, revision)) is None:
        return
    repository, commit = found
    with_blobs = exchange.query.get("blobs", "").lower() == "true"
    exchange.answer(
        200,
        {
            "id": repository.id,
            "modelId": repository.id,
            "sha": commit.oid,
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
    if (found := find(exchange, repo, revision)) is None:
        return
    _, commit = found
    recursive = exchange.query.get("recursive", "").lower() in {"true", "1"}
    items = listing(commit, folder, recursive)
    if folder and not items:
        exchange.error(404, "EntryNotFound", f"{folder} does not exist on {revision!r}")
        return
    start = int(exchange.query.get("cursor", "0"))
    stop = start + exchange.hub.page_size
    headers = {}
    if stop < len(items):
        next_query = urlencode({**exchange.query, "cursor": stop})
        headers["Link"] = f'<{exchange.hub.endpoint}{exchange.path}?{next_query}>; rel="next"'
    exchange.answer(200, items[start:stop], headers)


def listing(commit: Commit, folder: str, recursive: bool) -> list[dict[str, Any]]:
    """Files and folders below `folder`, by path."""
    prefix = f"{folder}/" if folder else ""
    below = [entry for entry in commit.files.values() if entry.path.startswith(prefix)]
    parents = {parent for entry in below for parent in parents_of(entry.path) if parent.startswith(prefix)}
    items = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": path} for path in parents]
    items += [described(entry) for entry in below]
    near = [item for item in items if recursive or "/" not in str(item["path"]).removeprefix(prefix)]
    return sorted(near, key=lambda item: str(item["path"]))


def parents_of(path: str) -> list[str]:
    """The folders that `path` lies in, outermost first."""
    names = path.split("/")[:-1]
    return ["/".join(names[: depth + 1]) for depth in range(len(names))]


def described(entry: Entry) -> dict[str, Any]:
    """A file as a tree listing gives it."""
    large = {"oid": entry.sha256, "size": entry.size_bytes, "pointerSize": entry.pointer_bytes}
    item = {"type": "file", "oid": entry.oid, "size": entry.size_bytes, "path": entry.path}
    return {**item, **({"lfs": large} if entry.sha256 else {})}


def paths_info(exchange: Exchange, repo: str, revision: str) -> None:
    """The files of the given paths; the ones that are missing are left out."""
    if (found := find(exchange, repo, revision)) is None:
        return
    files = found[1].files
    paths = [value for key, value in parse_qsl(exchange.body.decode()) if key == "paths"]
    exchange.answer(200, [described(files[path]) for path in paths if path in files])


def refs(exchange: Exchange, repo: str) -> None:
    """The branches of a repository."""
    repository = visible(exchange, repo)
    if repository is None:
        return
    branches = [
        {"name": name, "ref": f"refs/heads/{name}", "targetCommit": oid} for name, oid in repository.branches.items()
    ]
    exchange.answer(200, {"branches": branches, "converts": [], "tags": []})


def resolve(exchange: Exchange, repo: str, revision: str, file: str) -> None:
    """Where a file lies: small ones at a cached address of the same origin, large ones at a signed one of another."""
    if (found := find_file(exchange, repo, revision, file)) is None:
        return
    repository, commit, entry = found
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{entry.etag}"'}
    if entry.sha256 is None:
        location = f"/api/resolve-cache/models/{repository.id}/{commit.oid}/{quote(entry.path)}"
        exchange.redirect(307, location, headers)
        return
    linked = {"X-Linked-Etag": f'"{entry.sha256}"', "X-Linked-Size": str(entry.size_bytes)}
    signed = f"{exchange.hub.cdn_endpoint}/cdn/{entry.sha256}?signature={exchange.hub.sign(entry.sha256)}"
    exchange.redirect(302, signed, {**headers, **linked})


def resolve_cache(exchange: Exchange, repo: str, revision: str, file: str) -> None:
    """The bytes of a small file."""
    if (found := find_file(exchange, repo, revision, file)) is None:
        return
    _, commit, entry = found
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{entry.etag}"'}
    exchange.send_file(exchange.hub.storage.content(entry), headers)


def cdn(exchange: Exchange, sha256: str) -> None:
    """The bytes of a large file, for whoever brings the signature; an account means nothing here."""
    if not hmac.compare_digest(exchange.query.get("signature", ""), exchange.hub.sign(sha256)):
        exchange.answer(403, b"")
        return
    exchange.send_file(exchange.hub.storage.large(sha256), {"ETag": f'"{sha256}"'})


def visible(exchange: Exchange, repo: str) -> Repository | None:
    """The repository, or None when the answer has already been that there is none for this account."""
    if exchange.token and exchange.account is None:
        exchange.error(401, "", "Invalid credentials in Authorization header")
        return None
    repository = exchange.hub.storage.repositories.get(repo)
    if repository is None or not repository.visible_to(exchange.account):
        # The Hub answers 401 to strangers, so that a private name is not betrayed. It leaves the code out;
        # its client then goes by the address being https, which a loopback server cannot offer.
        exchange.error(404 if exchange.account else 401, "RepoNotFound", "Repository not found")
        return None
    return repository


def find(exchange: Exchange, repo: str, revision: str) -> tuple[Repository, Commit] | None:
    """The repository and commit, or None when the answer has already been that there is none."""
    repository = visible(exchange, repo)
    if repository is None:
        return None
    commit = repository.resolve(revision)
    if commit is None:
        exchange.error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return None
    return repository, commit


def find_file(exchange: Exchange, repo: str, revision: str, file: str) -> tuple[Repository, Commit, Entry] | None:
    """The file, or None when the answer has already been that there is none, or that it may not be read."""
    if (found := find(exchange, repo, revision)) is None:
        return None
    repository, commit = found
    if not repository.open_to(exchange.account):
        refuse_gated(exchange, repository)
        return None
    if file not in commit.files:
        exchange.error(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit.oid})
        return None
    return repository, commit, commit.files[file]


def refuse_gated(exchange: Exchange, repository: Repository) -> None:
    """Answer that the files are for those who were let in."""
    status = 403 if exchange.account else 401
    exchange.error(status, "GatedRepo", f"Access to model {repository.id} is restricted. Ask for access on its page.")


MODEL = rf"/api/models/{REPO}"

ROUTES: Mapping[tuple[str, str], Route] = {
    ("GET", "/api/whoami-v2"): whoami,
    ("GET", rf"{MODEL}/auth-check"): auth_check,
    ("GET", MODEL): model_info,
    ("GET", rf"{MODEL}/revision/{REVISION}"): model_info,
    ("GET", rf"{MODEL}/tree/{REVISION}"): tree,
    ("GET", rf"{MODEL}/tree/{REVISION}/(?P<folder>.+)"): tree,
    ("GET", rf"{MODEL}/refs"): refs,
    ("POST", rf"{MODEL}/paths-info/{REVISION}"): paths_info,
    ("GET", rf"/{REPO}/resolve/{REVISION}/(?P<file>.+)"): resolve,
    ("HEAD", rf"/{REPO}/resolve/{REVISION}/(?P<file>.+)"): resolve,
    ("GET", rf"/api/resolve-cache/models/{REPO}/{REVISION}/(?P<file>.+)"): resolve_cache,
    ("HEAD", rf"/api/resolve-cache/models/{REPO}/{REVISION}/(?P<file>.+)"): resolve_cache,
}
"""(method, path) -> what answers; the names in the path are what it is called with."""

CDN_ROUTES: Mapping[tuple[str, str], Route] = {
    ("GET", r"/cdn/(?P<sha256>[0-9a-f]{64})"): cdn,
    ("HEAD", r"/cdn/(?P<sha256>[0-9a-f]{64})"): cdn,
}
