"""`Hub`: a Hugging Face Hub on loopback. Two ports (the Hub, its CDN), a log of every request, faults on demand."""

from __future__ import annotations

import hmac
import re
import secrets
import socket
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from types import TracebackType
from urllib.parse import unquote

from eaglekit.hub.loopback.exchange import Exchange, Record
from eaglekit.hub.loopback.faults import Fault, FaultPlan
from eaglekit.hub.loopback.reading import CDN_ROUTES, ROUTES, Route
from eaglekit.hub.loopback.storage import Account, Commit, Storage

HOST = "127.0.0.1"


class Hub:
    """A running Hub with its storage under `root`. Close it, or use it as a context manager."""

    def __init__(self, root: Path) -> None:
        self.storage = Storage(root)
        self.faults = FaultPlan()
        self.page_size = 1000
        """Items on one page of a tree listing."""
        self._secret = secrets.token_bytes(16)
        self._log: list[Record] = []
        self._under_way = 0
        self._quiet = Condition()
        self._servers = [self._serve("hub", ROUTES), self._serve("cdn", CDN_ROUTES)]
        hub, cdn = (server.server_port for server in self._servers)
        # Two names of loopback: huggingface_hub 1.x compares hosts without their ports.
        self.endpoint, self.cdn_endpoint = f"http://{HOST}:{hub}", f"http://localhost:{cdn}"

    def __enter__(self) -> Hub:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering, on both ports."""
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def account(self, name: str, token: str, *, role: str = "write", organisations: tuple[str, ...] = ()) -> Account:
        """A new account that `token` belongs to."""
        return self.storage.add_account(Account(name, token, role, organisations))

    def publish(
        self, repo: str, content: Path | Mapping[str, bytes | Path], *, branch: str = "main", title: str = "Upload"
    ) -> Commit:
        """The commit that adds a folder, or named contents, to `repo`; the repository is made if need be."""
        repository = self.storage.repositories.get(repo) or self.storage.create_repository(repo)
        if isinstance(content, Path):
            entries = self.storage.add_folder(content)
        else:
            entries = [self.storage.add_blob(path, blob) for path, blob in content.items()]
        return self.storage.commit(repository, entries, branch=branch, title=title)

    def fail(self, fault: Fault) -> None:
        """Make the matching requests to come go wrong."""
        self.faults.add(fault)

    def requests(self) -> list[Record]:
        """Every request so far; waits until the ones under way have been answered."""
        with self._quiet:
            if not self._quiet.wait_for(lambda: self._under_way == 0, timeout=10):
                raise TimeoutError("a request is still under way after 10 s")
            return list(self._log)

    def forget_requests(self) -> None:
        """Empty the log."""
        self.requests()
        self._log.clear()

    def sign(self, sha256: str) -> str:
        """What opens the address of a large file on the CDN."""
        return hmac.new(self._secret, sha256.encode(), "sha256").hexdigest()

    def handle(self, handler: BaseHTTPRequestHandler, origin: str, routes: Mapping[tuple[str, str], Route]) -> None:
        """Answer one request and log it."""
        with self._quiet:
            self._under_way += 1
        try:
            exchange = Exchange(self, handler, origin)
            self._log.append(exchange.record)
            if not exchange.misbehave():
                dispatch(exchange, routes)
        finally:
            with self._quiet:
                self._under_way -= 1
                self._quiet.notify_all()

    def _serve(self, origin: str, routes: Mapping[tuple[str, str], Route]) -> ThreadingHTTPServer:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10

            def setup(self) -> None:
                # A small buffer, so that bytes counted as sent are bytes the client was near to reading.
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
                self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                super().setup()

            def do_request(self) -> None:
                hub.handle(self, origin, routes)

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_request  # noqa: N815 - http.server's names

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the log is `Hub.requests`."""

        server = ThreadingHTTPServer((HOST, 0), Handler)
        server.daemon_threads = True
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server


def dispatch(exchange: Exchange, routes: Mapping[tuple[str, str], Route]) -> None:
    """Hand the exchange to the route its method and path belong to. Paths are matched before they are unquoted."""
    for (method, pattern), route in routes.items():
        if method == exchange.record.method and (match := re.fullmatch(pattern, exchange.path)):
            route(exchange, **{name: unquote(value) for name, value in match.groupdict().items()})
            return
    exchange.error(404, "", f"no route for {exchange.record.method} {exchange.path}")
