"""Attacks on `eaglekit bench`: servers that never end, lie or repeat the key; limits of this machine; a port taken."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from eaglekit.api.engines import parse_arguments
from eaglekit.report import Finding, Refusal
from eaglekit.serving.address import KEY_VARIABLE
from eaglekit.serving.benching import PLAIN, Load, ask_all, bench, measure, warm_up
from eaglekit.serving.benching_request import request
from eaglekit.serving.benching_server import Command, running
from eaglekit.serving.endpoint import meet
from eaglekit.serving.environment import find_engine
from eaglekit.serving.job import Prompt
from tests.attacks.raw_server import END, STREAM, Post, chunk, event, listening, saying, serve, tokens
from tests.cli.running import PROGRAM
from tests.serving import stand_in
from tests.serving.streaming_server import Behaviour, serving

KEY = "the-only-key-42"
PROMPT = Prompt("one", (1, 2), 8)


def refused(post: Post) -> Finding:
    """What one request to such a server is refused with."""
    with listening(post) as address, pytest.raises(Refusal) as caught:
        request(meet(address), PROMPT, ignore_end=False, salt="s")
    (finding,) = caught.value.findings
    return finding


@pytest.mark.parametrize(
    ("post", "got"),
    [
        pytest.param(saying(STREAM, again=tokens(1)), "a stream of more than", id="tokens without end"),
        pytest.param(saying(STREAM, again=tokens()), "a stream of more than", id="events without a token"),
        pytest.param(saying(STREAM, again=chunk(b": wait" + b"." * 60 + b"\n")), "a stream of", id="comments"),
        pytest.param(saying(STREAM, again=chunk(b"x" * 65536)), "an event of more than", id="one line"),
        pytest.param(saying(STREAM, tokens(*range(9)), END), "9 tokens for prompt one", id="one token too many"),
        pytest.param(saying(STREAM, b"F" * 20 + b"\r\n", tokens(1)), "no answer", id="a chunk larger than any memory"),
        pytest.param(saying(STREAM, b"-5\r\n", again=b"x" * 65536), "no answer", id="a chunk of less than nothing"),
        pytest.param(saying(b"HTTP/1.1 308 X\r\nLocation: http://h/\r\n\r\n"), "308", id="a redirect"),
    ],
)
def test_a_stream_that_no_server_makes_is_a_finding(post: Post, got: str) -> None:
    assert got in refused(post).got


def test_a_server_that_only_says_go_on_is_not_waited_for_without_end() -> None:
    with listening(saying(again=b"HTTP/1.1 100 Continue\r\n\r\n")) as address, pytest.raises(Refusal) as caught:
        ask_all(meet(address), [PROMPT], 1, ignore_end=False, patience_s=0.2)
    (finding,) = caught.value.findings
    assert "no answer has ended for" in finding.message


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(lambda key: b"HTTP/9 " + key + b"\r\n\r\n", id="where the status stands"),
        pytest.param(lambda key: b"HTTP/1.1 401 No\r\nConnection: close\r\n\r\nbad key " + key, id="in a refusal"),
        pytest.param(lambda key: STREAM + event({"error": f"bad key {key.decode()}"}) + END, id="in the stream"),
    ],
)
def test_a_key_that_a_server_repeats_is_not_told(
    said: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    finding = refused(lambda connection, key: connection.sendall(said(key.encode())))
    assert KEY not in str(finding)
    assert "***" in finding.message


def test_a_version_that_is_the_key_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "0.32.0")
    with listening(saying()) as address:
        assert meet(address).version == "***"


def test_requests_that_warm_up_are_not_taken_for_somebody_elses() -> None:
    class Late(Behaviour):
        def end(self, document: dict[str, object], pieces: list[list[int]]) -> None:
            time.sleep(0.2)
            super().end(document, pieces)

    load = Load({"": (PROMPT,)}, (1,), repeats=1)
    with serving(Late()) as address:
        server = meet(address)
        warm_up(server, load)
        assert measure(server, PLAIN, 0, 1, "", (PROMPT,), load)[1] == ()


@pytest.mark.parametrize(("limit", "code"), [("-n 64", "bench-users"), ("-Sn 64", "endpoint-refused")])
def test_more_users_than_files_that_may_be_open(limit: str, code: str, tmp_path: Path) -> None:
    """The limit that a user can raise is raised; of the other one it is told."""
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(f'{{"id": "{n}", "prompt_token_ids": [{n}]}}\n' for n in range(100)))
    with listening(saying(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")) as address:
        load = ("--prompts", prompts, "--concurrency", "100", "--repeats", "1")
        words = [*PROGRAM, "bench", *load, "--endpoint", address, "--baseline-endpoint", address, "--json"]
        shell = ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *map(str, words)]
        done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert f'"code": "{code}"' in done.stdout


@pytest.fixture
def loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Starting]:
    """A server that is being started and does not get ready."""
    monkeypatch.setenv("PYTHONPATH", str(stand_in.write(tmp_path / "engine")))
    monkeypatch.setenv("STAND_IN", "silent")
    starting = Starting()
    starting.start()
    yield starting
    starting.kill()
    starting.join()


class Starting(threading.Thread):
    """What `running` comes to, its child, and the port that the child was told."""

    codes: Sequence[str] = ("it came up",)

    def run(self) -> None:
        command = Command("/somewhere/target", {}, None)
        with suppress(Refusal), running(command, find_engine(sys.executable), "the server"):
            return
        self.codes = ("bench-not-started",)

    def child(self) -> tuple[int, int]:
        while True:
            for file in Path("/proc/self/task").glob("*/children"):
                for pid in map(int, file.read_text().split()):
                    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    if any(word.endswith(b"serve.py") for word in words):
                        job = json.loads(Path(words[2].decode()).read_text())
                        return pid, int(job["words"][-1])
            time.sleep(0.05)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.child()[0], signal.SIGKILL) if self.is_alive() else None


def test_nobody_else_is_given_the_port_of_a_server_that_is_still_loading(loading: Starting) -> None:
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", loading.child()[1]))


def test_who_answers_in_place_of_a_server_that_has_ended_is_not_measured(loading: Starting) -> None:
    pid, port = loading.child()
    with socket.socket() as other:
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            other.setsockopt(socket.SOL_SOCKET, option, 1)
        other.bind(("127.0.0.1", port))
        os.kill(pid, signal.SIGKILL)
        other.listen()
        threading.Thread(target=serve, args=(other, saying()), daemon=True).start()
        loading.join(10)
        other.shutdown(socket.SHUT_RDWR)
    assert loading.codes == ("bench-not-started",)


@pytest.mark.parametrize("value", ["NaN", "1e999", '{"a": [-Infinity]}', '"\\ud800"'])
def test_an_engine_argument_that_no_report_can_repeat_is_refused_before_any_work(value: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_arguments((f"seed={value}",), frozenset())
    assert [finding.code for finding in caught.value.findings] == ["engine-argument"]


@pytest.mark.parametrize("drafts", [False, True], ids=["that does not speculate", "whose counters go back"])
def test_figures_of_a_server_are_not_told(drafts: bool) -> None:
    class Backwards(Behaviour):
        def end(self, document: dict[str, object], pieces: list[list[int]]) -> None:
            super().end(document, pieces)
            self.accepted = [900 - 10 * self.finished, 0]

    load = Load({"": (PROMPT,)}, (1,), repeats=1)
    with serving(Backwards(drafting=drafts)) as address, pytest.raises(Refusal) as caught:
        bench(load, lambda side: nullcontext(meet(address)))
    (finding,) = caught.value.findings
    assert finding.code == ("endpoint-restarted" if drafts else "endpoint-not-drafting")
