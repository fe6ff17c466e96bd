"""One request and its answer: what a route sees, and everything that is put on the wire."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from eaglekit.hub.loopback.body import PIECE_BYTES, Body, BodyCutError

if TYPE_CHECKING:
    from eaglekit.hub.loopback.model import Account
    from eaglekit.hub.loopback.server import Hub
    from eaglekit.hub.loopback.storage import Storage

READING_POSTS = ("/paths-info/", "/preupload/", "/api/validate-yaml")
"""Requests that are posted but change nothing."""


@dataclass(slots=True)
class Record:
    """One line of the request log."""

    origin: str
    """`hub` or `cdn`: two ports, so two origins."""
    method: str
    path: str
    range: str
    had_authorization: bool
    status: int = 0
    """0 when the connection was cut before an answer."""
    sent_bytes: int = 0
    """Bytes of content written to the connection, headers not counted."""
    received_bytes: int = 0
    """Bytes of the request's body that were read."""

    @property
    def is_write(self) -> bool:
        """Whether this asked for something to be changed."""
        return self.method not in {"GET", "HEAD"} and not any(part in self.path for part in READING_POSTS)


class Refused(Exception):  # noqa: N818 - an answer of the Hub, not a failure of the server
    """The answer is an error, worded the way the Hub words one."""

    def __init__(self, status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {**({"X-Error-Code": code} if code else {}), "X-Error-Message": message, **(headers or {})}


class Exchange:
    """A request as a route sees it. Every answer goes through `answer` or `send_file`, so that each is logged."""

    def __init__(self, hub: Hub, handler: BaseHTTPRequestHandler, origin: str) -> None:
        self.hub = hub
        self._handler = handler
        url = urlsplit(handler.path)
        self.path = url.path
        self.query = {key: values[-1] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
        self.headers = handler.headers
        authorization = self.headers.get("Authorization", "")
        self.token = authorization.removeprefix("Bearer ")
        self.record = Record(origin, handler.command, handler.path, self.headers.get("Range", ""), bool(authorization))
        self.fault = hub.faults.next_for(handler.command, self.path)
        cut = self.fault.cut_after_received_bytes if self.fault else None
        self.body = Body(handler.rfile, handler.headers, cut_after_bytes=cut)
        self._silent = False

    @property
    def storage(self) -> Storage:
        """What the Hub remembers."""
        return self.hub.storage

    @cached_property
    def account(self) -> Account | None:
        """Whoever the token of this request belongs to."""
        return self.hub.storage.account_of(self.token) if self.token else None

    def json(self) -> dict[str, Any]:
        """The body, which has to be a JSON object."""
        try:
            value = json.loads(self.body.read() or b"{}")
        except ValueError:
            raise Refused(400, "Invalid JSON") from None
        if not isinstance(value, dict):
            raise Refused(400, "Invalid JSON: not an object")
        return value

    def flag(self, name: str) -> bool:
        """Whether the query says yes to `name`."""
        return self.query.get(name, "").lower() in {"1", "true"}

    def answer(self, status: int, content: Any = None, headers: Mapping[str, str] | None = None) -> None:
        """Answer with bytes, or with anything else as JSON."""
        if self._silent:
            return
        if self.fault and self.fault.alter and not isinstance(content, bytes):
            content = self.fault.alter(content)
        body = content if isinstance(content, bytes) else json.dumps(content if content is not None else {}).encode()
        self.body.drain()
        self._start(status, len(body), {"Content-Type": "application/json", **(headers or {})})
        self._write(body)

    def refuse(self, refused: Refused) -> None:
        """Answer with an error."""
        self.answer(refused.status, {"error": str(refused)}, refused.headers)

    def redirect(self, status: int, location: str, headers: Mapping[str, str]) -> None:
        """Send the client to another address."""
        self.answer(status, b"", {"Location": location, **headers})

    def send_file(self, path: Path, headers: Mapping[str, str]) -> None:
        """Answer with the content of `path`, or the range of it that was asked for."""
        if self._silent:
            return
        size = path.stat().st_size
        wanted = None if self.fault and self.fault.ignore_range else parse_range(self.record.range, size)
        shared = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream", **headers}
        if wanted is None:
            self._start(200, size, shared)
            self._send_slice(path, 0, size)
            return
        start, end = wanted
        if start >= size:
            self.answer(416, b"", {**shared, "Content-Range": f"bytes */{size}"})
            return
        shift = self.fault.shift_range_bytes if self.fault else 0
        start, end = start + shift, min(end + shift, size)
        self._start(206, end - start, {**shared, "Content-Range": f"bytes {start}-{end - 1}/{size}"})
        self._send_slice(path, start, end)

    def before(self) -> bool:
        """Do what the fault plan says before the request is handled; True when that was the answer."""
        if self.fault is None:
            return False
        if self.fault.call:
            self.fault.call()
        time.sleep(self.fault.stall_s)
        self._silent = self.fault.after_the_fact and self.fault.replaces_answer
        if not self.fault.replaces_answer or self._silent:
            return False
        self._answer_wrongly()
        return True

    def after(self) -> None:
        """Do what the fault plan says once the request has been handled, and nobody was told."""
        if self._silent:
            self._silent = False
            self._answer_wrongly()

    def _answer_wrongly(self) -> None:
        if self.fault is None or self.fault.cut or self.fault.status is None:
            raise BodyCutError("cut by the fault plan")
        self.answer(self.fault.status, self.fault.body or b"")

    def _start(self, status: int, size_bytes: int, headers: Mapping[str, str]) -> None:
        self.record.status = status
        self._handler.send_response(status)
        for name, value in {**headers, **(self.fault.headers if self.fault else {})}.items():
            self._handler.send_header(name, one_line(value))
        self._handler.send_header("Content-Length", str(size_bytes))
        self._handler.end_headers()

    def _send_slice(self, path: Path, start: int, end: int) -> None:
        with path.open("rb") as file:
            file.seek(start)
            while start < end and self._write(file.read(min(PIECE_BYTES, end - start))):
                start += PIECE_BYTES

    def _write(self, piece: bytes) -> bool:
        """Send content; False when the connection is over, by the plan or by the client."""
        if self.record.method == "HEAD":
            return False
        limit = self.fault.cut_after_bytes if self.fault else None
        if limit is not None and self.record.sent_bytes + len(piece) >= limit:
            piece = piece[: limit - self.record.sent_bytes]
            self._handler.close_connection = True
        with suppress(ConnectionError):
            self._handler.wfile.write(piece)
            self.record.sent_bytes += len(piece)
            return not self._handler.close_connection
        self._handler.close_connection = True
        return False


def one_line(text: str) -> str:
    """`text` as a header can carry it: whatever a request put into a message, it adds no header."""
    return "".join(character if " " <= character <= "~" else "?" for character in text)


def parse_range(header: str, size: int) -> tuple[int, int] | None:
    """The [start, end) a Range header asks for in a file of `size` bytes, or None for the whole file."""
    first, dash, last = header.removeprefix("bytes=").partition("-")
    if not dash or not header.startswith("bytes=") or not f"{first}{last}".isdigit():
        return None
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(int(last) + 1, size) if last else size
