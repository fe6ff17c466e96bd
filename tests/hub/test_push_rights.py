"""Whose token it is, where it may write, and that it is nowhere to be seen."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

from eaglekit.hub.loopback import Scope
from tests.cli.running import Finished
from tests.hub import Fault, Hub
from tests.hub.pushes import COMMITS, REPO, UPLOADS, Pushes

pytestmark = pytest.mark.hub_client

LIMITED = "hf_limitedToOneRepository"


def refusal(done: Finished) -> dict[str, str]:
    assert done.code == 1, done.out + done.err
    findings = done.document["findings"]
    assert [finding["code"] for finding in findings] == ["push-not-allowed"], done.out
    first: dict[str, str] = findings[0]
    return first


@pytest.fixture
def limited(pushes: Pushes) -> Pushes:
    """A token that may write to acme/drafter and to nothing else."""
    pushes.hub.account("robot", LIMITED, role="fineGrained", organisations=("acme",), scopes=(Scope("model", REPO),))
    pushes.token = LIMITED
    return pushes


def test_a_token_limited_to_a_repository_that_exists_needs_no_right_to_make_one(limited: Pushes) -> None:
    limited.hub.publish(REPO, {"notes.md": b"theirs"})
    assert limited.push().code == 0
    assert limited.sent("POST", "/api/repos/create") == []


def test_a_token_for_one_repository_is_refused_for_another(limited: Pushes) -> None:
    finding = refusal(limited.push(repo="acme/other"))
    assert "'robot'" in finding["message"]
    assert "acme/other" in finding["message"]
    assert f"may write in {REPO}" in finding["hint"]
    assert limited.writes() == []


def test_a_token_for_one_repository_is_refused_for_another_that_exists(limited: Pushes) -> None:
    limited.hub.publish("acme/other", {"notes.md": b"theirs"})
    finding = refusal(limited.push(repo="acme/other"))
    assert "'robot'" in finding["message"]
    assert limited.writes() == []


def test_an_organisation_of_others_is_refused_with_the_ones_that_are_open(pushes: Pushes) -> None:
    finding = refusal(pushes.push(repo="stranger/drafter"))
    assert "'publisher'" in finding["message"]
    assert "publisher, acme" in finding["got"]


def test_a_token_that_may_only_read_is_refused(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    pushes.hub.account("reader", "hf_reader", role="read", organisations=("acme",))
    pushes.token = "hf_reader"  # noqa: S105
    finding = refusal(pushes.push())
    assert "--create-pr" in finding["hint"]


def test_a_token_that_may_only_read_can_propose(pushes: Pushes) -> None:
    pushes.hub.publish(REPO, {"notes.md": b"theirs"})
    pushes.hub.account("reader", "hf_reader", role="read")
    pushes.token = "hf_reader"  # noqa: S105
    done = pushes.push("--create-pr")
    assert done.code == 0, done.out
    assert done.document["result"]["pull_request"]["number"] == 1


def test_there_is_nothing_to_propose_to_where_there_is_no_repository(pushes: Pushes) -> None:
    assert pushes.push("--create-pr").codes == ["push-repository-absent"]


def test_a_right_that_is_taken_away_in_the_middle_is_told_with_account_and_place(pushes: Pushes) -> None:
    headers = {"X-Error-Message": "You do not have write access"}
    pushes.hub.fail(Fault(r"/commit/main", "POST", status=403, headers=headers))
    finding = refusal(pushes.push())
    assert "'publisher'" in finding["message"]
    assert "You do not have write access" in finding["got"]


def test_a_refusal_without_a_reason_is_not_called_a_missing_right(pushes: Pushes) -> None:
    pushes.hub.fail(Fault(r"/commit/main", "POST", status=403))
    done = pushes.push()
    assert done.codes == ["push-refused"]
    assert "too large" in done.document["findings"][0]["got"]


def test_a_push_without_a_token_says_where_one_comes_from(pushes: Pushes) -> None:
    with_token, pushes.token = pushes.token, ""
    done = Finished(0, "", "")
    try:
        from tests.cli.running import eaglekit
        from tests.hub.pushes import WORDS

        words = ("push", pushes.folder, REPO, *WORDS, "--no-figure", "--json", "--yes")
        done = eaglekit(*words, environment=pushes.environment)
    finally:
        pushes.token = with_token
    assert done.codes == ["push-no-token"]
    assert pushes.hub.requests() == []


def test_a_token_that_the_hub_does_not_know_is_rejected(pushes: Pushes) -> None:
    pushes.token = "hf_nobodysToken"  # noqa: S105
    done = pushes.push()
    assert done.codes == ["hub-token-rejected"]


def test_offline_mode_is_named(pushes: Pushes) -> None:
    pushes.more = {"HF_HUB_OFFLINE": "1"}
    assert pushes.push().codes == ["hub-offline"]


@pytest.mark.parametrize("variable", ["EAGLEKIT_DEBUG", "HF_DEBUG"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault(r"/commit/main", "POST", status=500),
        Fault(UPLOADS, "PUT", status=400),
        Fault(r"/api/repos/create", "POST", status=403),
        Fault(r"/tree/", cut=True),
    ],
    ids=["the commit fails", "an upload fails", "nothing may be made", "the connection breaks"],
)
def test_the_token_is_not_shown_where_everything_is(pushes: Pushes, variable: str, fault: Fault) -> None:
    """`run` looks for it in both streams; signed addresses are as good as a token."""
    fault.seen = 0
    pushes.more = {variable: "1"}
    pushes.hub.fail(fault)
    done = pushes.push()
    assert done.code == 1
    assert "signature=" not in done.out + done.err


def test_debugging_shows_the_requests(pushes: Pushes) -> None:
    pushes.more = {"HF_DEBUG": "1"}
    done = pushes.push()
    assert done.code == 0
    assert "curl -X POST" in done.err
    assert "signature=" not in done.err


def test_a_token_in_what_the_hub_says_is_masked(pushes: Pushes) -> None:
    headers = {"X-Error-Message": f"the token {pushes.token} may not"}
    pushes.hub.fail(Fault(r"/commit/main", "POST", status=403, headers=headers))
    assert "the token *** may not" in refusal(pushes.push())["got"]


def test_another_host_never_gets_the_token(pushes: Pushes, tmp_path: Path) -> None:
    with Hub(tmp_path / "other") as other:
        elsewhere = {"Location": f"{other.endpoint.replace('127.0.0.1', 'localhost')}/api/models/{REPO}"}
        pushes.hub.fail(Fault(rf"/api/models/{REPO}$", status=307, headers=elsewhere))
        pushes.push()
        asked = other.requests()
    assert asked
    assert not any(record.had_authorization for record in asked)


def test_large_files_are_sent_without_the_token(pushes: Pushes) -> None:
    pushes.push()
    (upload,) = pushes.sent("PUT", UPLOADS)
    assert not upload.had_authorization


def test_a_mirror_behind_a_path_works(pushes: Pushes) -> None:
    with mirrored(pushes.hub, "/hub/mirror") as (endpoint, asked):
        pushes.more = {"HF_ENDPOINT": endpoint}
        done = pushes.push("--tag", "v1")
    assert done.code == 0, done.out
    assert done.document["result"]["url"].startswith(f"{endpoint}/{REPO}/commit/")
    assert any(COMMITS in path for path in asked)
    assert pushes.hub.storage.repositories[REPO].tags == {"v1": pushes.head().oid}


@contextmanager
def mirrored(hub: Hub, prefix: str) -> Iterator[tuple[str, list[str]]]:
    """An address with a path behind which `hub` is; every path that was asked for there."""
    asked: list[str] = []

    class Forward(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            asked.append(self.path)
            if not self.path.startswith(prefix):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection(urlsplit(hub.endpoint).netloc)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            connection.request(self.command, self.path.removeprefix(prefix), body, headers)
            answer = connection.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"server", "date"}:
                    here = f"{prefix}{value}" if name == "Location" and value.startswith("/") else value
                    self.send_header(name, here)
            self.end_headers()
            self.wfile.write(data)
            connection.close()

        do_GET = do_POST = do_PUT = forward  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Forward)
    server.daemon_threads = True
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}", asked
    finally:
        server.shutdown()
        server.server_close()
