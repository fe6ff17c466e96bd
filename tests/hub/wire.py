"""Plain HTTP, without the Hub's own client: what is really on the wire."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from eaglekit.hub.loopback import Hub


@dataclass(frozen=True)
class Answer:
    """One answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    url: str, method: str = "GET", content: Any = None, token: str = "", headers: Mapping[str, str] | None = None
) -> Answer:
    """Ask once, follow nothing. Content that is not bytes goes as JSON."""
    parts = urlsplit(url)
    body = content if content is None or isinstance(content, bytes) else json.dumps(content).encode()
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
    try:
        connection.request(method, url.removeprefix(f"http://{parts.netloc}"), body, sent)
        response = connection.getresponse()
        named = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, named, response.read())
    finally:
        connection.close()


def header(title: str = "A title", **more: str) -> dict[str, Any]:
    return {"key": "header", "value": {"summary": title, "description": "", **more}}


def regular(path: str, content: bytes) -> dict[str, Any]:
    value = {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
    return {"key": "file", "value": value}


def large(path: str, content: bytes) -> dict[str, Any]:
    value = {"path": path, "algo": "sha256", "oid": hashlib.sha256(content).hexdigest(), "size": len(content)}
    return {"key": "lfsFile", "value": value}


def commit(hub: Hub, repo: str, token: str, lines: Iterable[Any], *, revision: str = "main", query: str = "") -> Answer:
    """Post one commit."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    url = f"{hub.endpoint}/api/models/{repo}/commit/{revision}{query}"
    return ask(url, "POST", body, token, {"Content-Type": "application/x-ndjson"})


def batch(hub: Hub, repo: str, token: str, content: bytes, **more: Any) -> Answer:
    """Ask where one large file is to go."""
    wanted = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content)}
    body = {"operation": "upload", "transfers": ["basic", "multipart"], "objects": [wanted], **more}
    return ask(f"{hub.endpoint}/{repo}.git/info/lfs/objects/batch", "POST", body, token)


def send(hub: Hub, repo: str, token: str, content: bytes) -> Answer:
    """Upload one large file in one piece."""
    (wanted,) = batch(hub, repo, token, content).json["objects"]
    return ask(wanted["actions"]["upload"]["href"], "PUT", content)
