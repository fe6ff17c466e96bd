"""`Hub`: a Hugging Face Hub on loopback. Two ports (the Hub, its CDN), a log of every request, faults on demand."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from types import TracebackType
from typing import Any

from eaglekit.hub.loopback.body import BodyCutError
from eaglekit.hub.loopback.exchange import Exchange, Record
from eaglekit.hub.loopback.faults import Fault, FaultPlan
from eaglekit.hub.loopback.model import Account, Commit, Scope, token_digest
from eaglekit.hub.loopback.routing import CDN_ROUTES, ROUTES, Routes, dispatch
from eaglekit.hub.loopback.storage import Storage

HOST = "127.0.0.1"
IDLE_S = 60


class Hub:
    """A running Hub with its storage under `root`, new or left by an earlier one. Close it, or use it in a `with`."""

    def __init__(self, root: Path, *, log: Path | None = None, xet: bool = False) -> None:
        self.storage = Storage(root)
        self.faults = FaultPlan()
        self.page_size = 1000
        """Items on one page of a listing."""
        self.multipart_bytes = 5 << 30
        """A large file of more bytes than this is uploaded in parts."""
        self.part_bytes = 512 << 20
        self.xet = xet
        """Whether large files may be uploaded as xet; needs hf_xet here, too."""
        self.part_etags: dict[tuple[str, int], str] = {}
        """What was answered for each part of the uploads under way."""
        self._log_file = log
        self._secret = secrets.token_bytes(32)
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

    def account(
        self,
        name: str,
        token: str,
        *,
        role: str = "write",
        organisations: Mapping[str, str] | Iterable[str] = (),
        scopes: Iterable[Scope] = (),
    ) -> Account:
        """A new account that `token` belongs to. Organisations that are only named are ones it may write to."""
        if not isinstance(organisations, Mapping):
            organisations = dict.fromkeys(organisations, "write")
        return self.storage.add_account(Account(name, token_digest(token), role, dict(organisations), tuple(scopes)))

    def publish(
        self, repo: str, content: Path | Mapping[str, bytes | Path], *, branch: str = "main", title: str = "Upload"
    ) -> Commit:
        """The commit that adds a folder, or named contents, to `repo`; the repository is made if need be."""
        repository = self.storage.repositories.get(repo) or self.storage.create_repository(repo)
        if isinstance(content, Path):
            entries = self.storage.add_folder(content)
        else:
            entries = [self.storage.content.add(path, blob) for path, blob in content.items()]
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
        """Empty the log; a log file stays as it is."""
        self.requests()
        self._log.clear()

    def sign(self, *words: str | int) -> str:
        """What opens an address that was given out, and no other."""
        return hmac.new(self._secret, "\n".join(map(str, words)).encode(), "sha256").hexdigest()

    def handle(self, handler: BaseHTTPRequestHandler, origin: str, routes: Routes) -> None:
        """Answer one request and log it."""
        with self._quiet:
            self._under_way += 1
        exchange = Exchange(self, handler, origin)
        self._log.append(exchange.record)
        try:
            if not exchange.before():
                dispatch(exchange, routes)
            exchange.after()
            exchange.body.drain()
        except BodyCutError:
            handler.close_connection = True
        finally:
            exchange.record.received_bytes = exchange.body.received_bytes
            with self._quiet:
                self._write_log(exchange.record)
                self._under_way -= 1
                self._quiet.notify_all()

    def _write_log(self, record: Record) -> None:
        if self._log_file is not None:
            with self._log_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**asdict(record), "is_write": record.is_write}) + "\n")

    def _serve(self, origin: str, routes: Routes) -> ThreadingHTTPServer:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = IDLE_S

            def setup(self) -> None:
                # A small buffer, so that bytes counted as sent are bytes the client was near to reading.
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
                self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                super().setup()

            def do_request(self) -> None:
                hub.handle(self, origin, routes)

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_request  # noqa: N815 - http.server's names

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the log is `Hub.requests`."""

        server = Server((HOST, 0), Handler)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server


class Server(ThreadingHTTPServer):
    """One port. Clients that go away are not worth a word; any other failure is a defect and is printed."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, unless it was the client that left."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)
