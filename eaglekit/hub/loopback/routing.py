"""Which route answers which request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import unquote

from eaglekit.hub.loopback import accounts, collections, discussions, lfs, reading, refs, writing, xet
from eaglekit.hub.loopback.exchange import Exchange, Refused

Route: TypeAlias = Callable[..., None]
Routes: TypeAlias = Mapping[tuple[str, str], Route]

REPO = r"(?P<repo>[^/]+/[^/]+)"
REVISION = r"(?P<revision>[^/]+)"
SHA256 = r"(?P<sha256>[0-9a-f]{64})"
NUMBER = r"(?P<num>[0-9]{1,9})"
SLUG = r"(?P<slug>[^/]+/[^/]+)"
MODEL = rf"/api/models/{REPO}"
LFS = rf"/{REPO}\.git/info/lfs/objects"

ROUTES: Routes = {
    ("GET", "/api/whoami-v2"): accounts.whoami,
    ("POST", "/api/repos/create"): accounts.create_repository,
    ("DELETE", "/api/repos/delete"): accounts.delete_repository,
    ("GET", rf"{MODEL}/auth-check"): accounts.check_reading,
    ("GET", rf"{MODEL}/auth-check/write"): accounts.check_writing,
    ("PUT", rf"{MODEL}/settings"): accounts.change_settings,
    ("GET", MODEL): reading.model_info,
    ("GET", rf"{MODEL}/revision/{REVISION}"): reading.model_info,
    ("GET", rf"{MODEL}/tree/{REVISION}"): reading.tree,
    ("GET", rf"{MODEL}/tree/{REVISION}/(?P<folder>.+)"): reading.tree,
    ("POST", rf"{MODEL}/paths-info/{REVISION}"): reading.paths_info,
    ("GET", rf"/{REPO}/resolve/{REVISION}/(?P<file>.+)"): reading.resolve,
    ("HEAD", rf"/{REPO}/resolve/{REVISION}/(?P<file>.+)"): reading.resolve,
    ("GET", rf"/api/resolve-cache/models/{REPO}/{REVISION}/(?P<file>.+)"): reading.resolve_cache,
    ("HEAD", rf"/api/resolve-cache/models/{REPO}/{REVISION}/(?P<file>.+)"): reading.resolve_cache,
    ("POST", "/api/validate-yaml"): writing.validate_yaml,
    ("POST", rf"{MODEL}/preupload/{REVISION}"): writing.preupload,
    ("POST", rf"{MODEL}/commit/{REVISION}"): writing.commit,
    ("GET", rf"{MODEL}/xet-write-token/{REVISION}"): xet.write_token,
    ("GET", rf"{MODEL}/xet-read-token/{REVISION}"): xet.read_token,
    ("POST", rf"{LFS}/batch"): lfs.batch,
    ("POST", rf"{LFS}/verify"): lfs.verify,
    ("POST", rf"{LFS}/complete/{SHA256}"): lfs.complete,
    ("GET", rf"{MODEL}/refs"): refs.list_refs,
    ("GET", rf"{MODEL}/commits/{REVISION}"): refs.list_commits,
    ("POST", rf"{MODEL}/branch/(?P<branch>[^/]+)"): refs.create_branch,
    ("DELETE", rf"{MODEL}/branch/(?P<branch>[^/]+)"): refs.delete_branch,
    ("POST", rf"{MODEL}/tag/{REVISION}"): refs.create_tag,
    ("DELETE", rf"{MODEL}/tag/(?P<tag>[^/]+)"): refs.delete_tag,
    ("GET", rf"{MODEL}/discussions"): discussions.list_all,
    ("POST", rf"{MODEL}/discussions"): discussions.create,
    ("GET", rf"{MODEL}/discussions/{NUMBER}"): discussions.read,
    ("POST", rf"{MODEL}/discussions/{NUMBER}/status"): discussions.change_status,
    ("POST", rf"{MODEL}/discussions/{NUMBER}/merge"): discussions.merge,
    ("POST", "/api/collections"): collections.create,
    ("GET", rf"/api/collections/{SLUG}"): collections.read,
    ("POST", rf"/api/collections/{SLUG}/items"): collections.add_item,
}
"""(method, path) -> what answers; the names in the path are what it is called with."""

CDN_ROUTES: Routes = {
    ("GET", rf"/cdn/{SHA256}"): lfs.download,
    ("HEAD", rf"/cdn/{SHA256}"): lfs.download,
    ("PUT", rf"/cdn/upload/{SHA256}"): lfs.upload,
    ("PUT", rf"/cdn/upload/{SHA256}/(?P<part>[0-9]{{5}})"): lfs.upload_part,
}


def dispatch(exchange: Exchange, routes: Routes) -> None:
    """Hand the exchange to the route its method and path belong to. Paths are matched before they are unquoted."""
    try:
        # A page of another site can send a browser here; it cannot make it say this name.
        if exchange.headers.get("Host", "").partition(":")[0] not in {"127.0.0.1", "localhost"}:
            raise Refused(421, "Misdirected Request")
        for (method, pattern), route in routes.items():
            if method == exchange.record.method and (match := re.fullmatch(pattern, exchange.path)):
                route(exchange, **{name: unquote(value) for name, value in match.groupdict().items()})
                return
        raise Refused(404, f"no route for {exchange.record.method} {exchange.path}")
    except Refused as refused:
        exchange.refuse(refused)
