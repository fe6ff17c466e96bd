"""A Hub that sends its visitors elsewhere does not send their token along."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.running import eaglekit
from tests.hub import Client, Fault, Hub
from tests.hub.published import validated
from tests.hub.pushes import REPO, TOKEN, WORDS, publish_target

pytestmark = pytest.mark.hub_client


@contextmanager
def stranger() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server under another host name, and the headers of every request to it."""
    heard: list[dict[str, str]] = []

    class Listening(BaseHTTPRequestHandler):
        def _hear(self) -> None:
            heard.append({name.lower(): value for name, value in self.headers.items()})
            body = b"{}"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = _hear  # noqa: N815 - names that the library looks up

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Listening) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://localhost:{server.server_port}", heard
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated(tmp_path_factory.mktemp("published"))


COMMANDS = {
    "inspect": lambda folder, out: ("inspect", REPO),
    "pull": lambda folder, out: ("pull", REPO, out),
    "push": lambda folder, out: ("push", folder, REPO, *WORDS, "--no-figure", "--yes"),
}
DOORS = {
    "listing": Fault(r"/api/models/acme/drafter", "GET"),
    "file": Fault(r"/resolve/", "*"),
    "account": Fault(r"/api/whoami", "GET"),
    "commit": Fault(r"/commit/", "POST"),
    "preupload": Fault(r"/preupload/", "POST"),
    "repository": Fault(r"/api/repos/create", "POST"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_redirect_to_another_host_does_not_carry_the_token(
    command: str, door: str, status: int, folder: Path, tmp_path: Path
) -> None:
    with Hub(tmp_path / "storage") as hub, stranger() as (address, heard):
        hub.account("publisher", TOKEN, organisations=("acme",))
        publish_target(hub)
        if command != "push":
            hub.publish(REPO, folder)
        fault = DOORS[door]
        there = f"{address}/elsewhere"
        hub.fail(Fault(fault.path, fault.method, status=status, headers={"Location": there}, body=b""))
        done = eaglekit(
            *COMMANDS[command](folder, tmp_path / "out"), "--json",
            environment=Client(hub, tmp_path / "home", TOKEN).environment,
        )  # fmt: skip
        assert not [headers for headers in heard if "authorization" in headers]
        assert TOKEN not in f"{heard}{done.out}{done.err}"
