"""A Hub that answers anything: every answer ends in a finding, in bounded time and memory, and never in a traceback."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from tests.cli.running import eaglekit
from tests.hub import Client, Fault
from tests.hub.pushes import REPO, Pushes

pytestmark = pytest.mark.hub_client

JSON = {"Content-Type": "application/json"}
LOOK = """
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.listing import entries_at
from eaglekit.hub.remote.looking import look
from eaglekit.hub.remote.account import who
import eaglekit.checkpoint.hub_http as http
import eaglekit.checkpoint.hub_patience as patience
http.FIRST_PAUSE_S = 0.01
"""


def client_of(pushes: Pushes) -> Client:
    return Client(pushes.hub, pushes.home, pushes.token)


@pytest.mark.parametrize(
    ("path", "method"),
    [("/validate-yaml", "POST"), ("/preupload/", "POST"), ("/objects/batch", "POST"), (f"/models/{REPO}$", "GET")],
    ids=["about the card", "before the upload", "where to upload", "about the repository"],
)
@pytest.mark.parametrize("body", [b"null", b"[]", b'"text"', b"[[1]]"], ids=["null", "list", "text", "lists"])
def test_json_of_another_shape_is_an_answer_that_does_not_fit(
    pushes: Pushes, path: str, method: str, body: bytes
) -> None:
    pushes.hub.fail(Fault(path, method, status=200, body=body, headers=JSON))
    done = pushes.push()
    assert done.code == 1
    assert done.codes[0] in {"hub-answer-wrong", "push-upload-failed", "push-not-recorded"}, done.out


@pytest.mark.parametrize("orgs", [None, 5, "x", {"a": 1}], ids=str)
def test_organisations_that_are_no_list_are_none(pushes: Pushes, orgs: object) -> None:
    pushes.hub.fail(Fault("/whoami-v2", alter=lambda answer: {**answer, "orgs": orgs}))
    told = client_of(pushes).run(f'{LOOK}tell(who(HubClient("{REPO}")).namespaces)')
    assert told.only == ["publisher"]


@pytest.mark.parametrize("asked", ["86400", "99999999999", "1" * 5000], ids=["a day", "ages", "no number for a clock"])
@pytest.mark.parametrize("status", [429, 503])
def test_nobody_waits_a_day_because_a_hub_asks_for_it(pushes: Pushes, status: int, asked: str) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"x"})
    pushes.hub.fail(Fault("/drafter/tree/", status=status, headers={"Retry-After": asked}))
    done = pushes.push()
    assert done.codes == ["hub-rate-limited" if status == 429 else "hub-server-error"], done.out


def test_an_upload_does_not_wait_a_day_either(pushes: Pushes) -> None:
    pushes.hub.fail(Fault("/objects/batch", "POST", status=429, headers={"Retry-After": "86400"}))
    assert pushes.push().codes == ["hub-rate-limited"]


def test_pull_does_not_wait_a_day(pushes: Pushes, tmp_path: Path) -> None:
    assert pushes.push().code == 0
    pushes.hub.fail(Fault("/drafter/resolve/", "HEAD", status=429, headers={"Retry-After": "86400"}))
    done = eaglekit("pull", REPO, tmp_path / "pulled", "--json", environment=pushes.environment)
    assert done.codes == ["hub-rate-limited"], done.out
    assert not (tmp_path / "pulled").exists()


@pytest.mark.parametrize(
    "look",
    [
        f'entries_at(HubClient("{REPO}").connection, "{REPO}", "{"a" * 40}")',
        f'__import__("eaglekit.checkpoint.remote").checkpoint.remote.HubFolder("{REPO}").files()',
    ],
    ids=["of a push", "of a reader"],
)
def test_a_listing_without_end_is_refused(pushes: Pushes, look: str) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"x"})
    numbers = count()
    endless = Fault("/tree/", alter=lambda page: [])
    endless.call = lambda: setattr(endless, "headers", {"Link": f'<http://x/?cursor={next(numbers)}>; rel="next"'})
    pushes.hub.fail(endless)
    told = client_of(pushes).run(f"{LOOK}http.MOST_PAGES = 20\ntell(refusal(lambda: {look}))".replace("a" * 40, "main"))
    assert told.codes == ["hub-answer-wrong"]
    assert told.only[0]["got"] == "20 pages and more"


def test_a_next_page_at_no_address_is_a_wrong_answer(pushes: Pushes, tmp_path: Path) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"x"})
    pushes.hub.fail(Fault("/tree/", headers={"Link": '<http://[::1>; rel="next"'}))
    done = eaglekit("pull", REPO, tmp_path / "pulled", "--json", environment=pushes.environment)
    assert done.codes == ["hub-answer-wrong"]


def test_json_nested_too_deep_for_a_reader_is_a_wrong_answer(pushes: Pushes, tmp_path: Path) -> None:
    pushes.hub.fail(Fault("/revision/", status=200, body=b"[" * 100_000, headers=JSON))
    done = eaglekit("pull", REPO, tmp_path / "pulled", "--json", environment=pushes.environment)
    assert done.codes == ["hub-answer-wrong"]


def test_a_small_answer_is_not_unpacked_to_a_large_one(pushes: Pushes) -> None:
    packed = gzip.compress(b" " * 1_000_000)
    pushes.hub.fail(Fault("/whoami-v2", status=200, body=packed, headers={**JSON, "Content-Encoding": "gzip"}))
    done = pushes.push()
    assert done.codes == ["hub-answer-wrong"]
    assert "gzip" in done.document["findings"][0]["got"]


def test_an_answer_without_end_is_given_up(pushes: Pushes) -> None:
    pushes.hub.fail(Fault("/whoami-v2", status=200, body=b" " * 2_000_000, headers=JSON))
    snippet = f'{LOOK}patience.ANSWER_LIMIT_BYTES = 1_000_000\ntell(refusal(lambda: who(HubClient("{REPO}"))))'
    told = client_of(pushes).run(snippet)
    assert told.codes == ["hub-answer-wrong"]
    assert "does not end" in told.only[0]["got"]


def test_an_answer_that_drips_is_given_up(pushes: Pushes) -> None:
    with dripping() as address:
        client = client_of(pushes)
        client.more["HF_ENDPOINT"] = address
        told = client.run(f'{LOOK}patience.ANSWER_LIMIT_S = 0.3\ntell(refusal(lambda: who(HubClient("{REPO}"))))')
    assert told.codes == ["hub-answer-wrong"]


@pytest.mark.parametrize(
    "endpoint",
    ["", "x", "//x", "ftp://x", "https://", "http://h:99999", "http://h:port", "http://[::1", "http://" + "a" * 300],
)
def test_an_endpoint_that_is_no_address_is_said_to_be_none(endpoint: str, tmp_path: Path) -> None:
    environment = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path), "HF_TOKEN": "hf_x"}
    if endpoint == "":
        environment["HF_ENDPOINT"] = " "
    start = time.monotonic()
    done = eaglekit("pull", REPO, tmp_path / "pulled", "--json", environment=environment)
    assert done.codes == ["hub-unreachable"]
    assert "HF_ENDPOINT" in json.dumps(done.document["findings"])
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("seconds", ["abc", "-1"])
def test_a_timeout_that_is_none_is_not_called_an_address(seconds: str, pushes: Pushes) -> None:
    pushes.more["HF_HUB_DOWNLOAD_TIMEOUT"] = seconds
    done = pushes.push()
    assert done.codes == ["hub-unreachable"], done.out
    assert "settings" in done.document["findings"][0]["message"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "socks5://127.0.0.1:1"), ("SSL_CERT_FILE", "/nonexistent/certificates")],
    ids=["a proxy that needs a package", "certificates that are not there"],
)
def test_what_keeps_a_connection_from_being_made_is_told_as_that(pushes: Pushes, name: str, value: str) -> None:
    pushes.more |= {name: value, "NO_PROXY": "", "no_proxy": ""}
    assert pushes.push().codes == ["hub-unreachable"]


@pytest.mark.parametrize("command", ["pull", "inspect"])
@pytest.mark.parametrize("debug", ["", "1"], ids=["", "debugging"])
def test_a_password_in_the_address_of_a_mirror_is_not_told(pushes: Pushes, command: str, debug: str) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"x"})
    pushes.hub.fail(Fault("/revision/", times=1, status=503))
    pushes.more |= {"HF_ENDPOINT": pushes.hub.endpoint.replace("//", "//user:pa55word@"), "HF_DEBUG": debug}
    words = [command, REPO, *([pushes.folder / "pulled"] if command == "pull" else [])]
    done = eaglekit(*words, environment=pushes.environment)
    assert "503" in done.err
    assert "pa55word" not in done.out + done.err


@contextmanager
def dripping() -> Iterator[str]:
    """A server that begins to answer, and never ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    asked, _ = server.accept()
                    threading.Thread(target=drip, args=(asked,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


def drip(asked: socket.socket) -> None:
    with suppress(OSError), asked:
        asked.recv(65536)
        asked.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n")
        while True:
            asked.sendall(b" ")
            time.sleep(0.05)
