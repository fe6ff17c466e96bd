"""One request and its answer: what a route sees, and everything that is put on the wire."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from eaglekit.hub.loopback.server import Hub
    from eaglekit.hub.loopback.storage import Account

PIECE_BYTES = 64 << 10


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
    sent_bytes: int = 0
    """Bytes of content written to the connection, headers not counted."""


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
        self.body = self._read_body()

    @property
    def account(self) -> Account | None:
        """Whoever the token of this request belongs to."""
        return self.hub.storage.accounts.get(self.token)

    def answer(self, status: int, content: Any = None, headers: Mapping[str, str] | None = None) -> None:
        """Answer with bytes, or with anything else as JSON."""
        body = content if isinstance(content, bytes) else json.dumps(content if content is not None else {}).encode()
        self._start(status, len(body), {"Content-Type": "application/json", **(headers or {})})
        self._write(body)

    def error(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        """Answer with an error the way the Hub words one."""
        named = {"X-Error-Code": code} if code else {}
        self.answer(status, {"error": message}, {**named, "X-Error-Message": message, **(headers or {})})

    def redirect(self, status: int, location: str, headers: Mapping[str, str]) -> None:
        """Send the client to another address."""
        self.answer(status, b"", {"Location": location, **headers})

    def send_file(self, path: Path, headers: Mapping[str, str]) -> None:
        """Answer with the content of `path`, or the range of it that was asked for."""
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

    def misbehave(self) -> bool:
        """Do what the fault plan says before any answer; True when that was the answer."""
        if self.fault is None:
            return False
        time.sleep(self.fault.stall_s)
        if self.fault.status is None:
            return False
        self.answer(self.fault.status, self.fault.body or b"")
        return True

    def _start(self, status: int, size_bytes: int, headers: Mapping[str, str]) -> None:
        self.record.status = status
        self._handler.send_response(status)
        for name, value in {**headers, **(self.fault.headers if self.fault else {})}.items():
            self._handler.send_header(name, value)
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

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self._handler.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self._handler.rfile.readline().split(b";")[0], 16):
            body += self._handler.rfile.read(size)
            self._handler.rfile.readline()
        self._handler.rfile.readline()
        return body


def parse_range(header: str, size: int) -> tuple[int, int] | None:
    """The [start, end) a Range header asks for in a file of `size` bytes, or None for the whole file."""
    first, dash, last = header.removeprefix("bytes=").partition("-")
    if not dash or not header.startswith("bytes=") or "," in last:
        return None
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(int(last) + 1, size) if last else size
