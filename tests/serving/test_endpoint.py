"""Servers that run already: a small one stands here for vLLM's, over a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from eaglekit.report import Refusal
from eaglekit.serving import endpoint
from eaglekit.serving.address import KEY_VARIABLE, parse_address
from eaglekit.serving.counters import Counters
from eaglekit.serving.endpoint import Observed, for_draft_tokens, look, observe
from eaglekit.serving.job import Prompt

PROMPTS = (Prompt("one", (1, 2, 3), 4), Prompt("two", (1, 2), 2))


@dataclass
class Behaviour:
    """What the server does, and what it was asked."""

    drafting: bool = True
    key: str = ""
    strangers: int = 0
    """Other requests that finish beside each of ours."""
    running: int = 0
    tells_requests: bool = True
    token_ids: bool = True
    restarts: bool = False
    figures: bool = False
    odd: dict[str, bytes | int] = field(default_factory=dict)
    """Path -> another body, or another status."""
    finished: int = 5
    prompt_tokens: int = 100
    drafts: int = 50
    asked: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    created: int = 1

    def metrics(self) -> str:
        if not self.drafting:
            return "vllm:num_requests_running 0\n"
        lines = [
            f"spec_decode_num_drafts_total {self.drafts}",
            f"spec_decode_num_drafts_created {self.created}",
            f"spec_decode_num_draft_tokens_total {2 * self.drafts}",
            f"spec_decode_num_accepted_tokens_total {self.drafts}",
            f'spec_decode_num_accepted_tokens_per_pos_total{{position="0"}} {self.drafts}',
            'spec_decode_num_accepted_tokens_per_pos_total{position="1"} 0',
            f"prompt_tokens_total {self.prompt_tokens}",
            f"num_requests_running {self.running}",
        ]
        if self.tells_requests:
            lines.append(f'request_success_total{{finished_reason="stop"}} {self.finished}')
        return "".join(f"vllm:{line}\n" for line in lines)

    def complete(self, document: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(document)
        self.finished += 1 + self.strangers
        self.prompt_tokens += len(document["prompt"])
        self.drafts += 1 + self.strangers
        if self.restarts:
            self.created += 1
        choice = {"finish_reason": "length", "text": "x"}
        if self.token_ids:
            choice["token_ids"] = [9] * document["max_tokens"]
        answer: dict[str, Any] = {"choices": [choice]}
        if self.figures:
            answer["metrics"] = {
                "speculative_decoding": {
                    "acceptance_histogram": [0, 1, 0], "num_draft_tokens": 2, "per_step_accepted": [1],
                }
            }  # fmt: skip
        return answer


class Handler(BaseHTTPRequestHandler):
    """Four paths of vLLM's server."""

    behaviour: Behaviour

    def do_GET(self) -> None:
        self.answer({
            "/v1/models": lambda: json.dumps({"data": [{"id": "the-target"}]}).encode(),
            "/version": lambda: b'{"version": "0.32.0"}',
            "/metrics": lambda: self.behaviour.metrics().encode(),
        })  # fmt: skip

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer({"/v1/completions": lambda: json.dumps(self.behaviour.complete(document)).encode()})

    def answer(self, paths: dict[str, Any]) -> None:
        self.behaviour.authorizations.append(self.headers["Authorization"])
        odd = self.behaviour.odd.get(self.path)
        wrong = bool(self.behaviour.key) and self.headers["Authorization"] != f"Bearer {self.behaviour.key}"
        status = 401 if wrong else odd if isinstance(odd, int) else 200 if self.path in paths else 404
        body = odd if isinstance(odd, bytes) else paths[self.path]() if status == 200 else b"no: hf_abcdefghijkl"
        self.send_response(status)
        if status in (301, 307):
            self.send_header("Location", "http://127.0.0.1:1/stolen")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """Nothing: what it says would be mistaken for the program's."""


@pytest.fixture
def behaviour(monkeypatch: pytest.MonkeyPatch) -> Behaviour:
    monkeypatch.setattr(endpoint, "SETTLE_S", 0.5)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return Behaviour()


@pytest.fixture
def url(behaviour: Behaviour) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Handler,), {"behaviour": behaviour}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def refusal(url: str) -> str:
    with pytest.raises(Refusal) as caught:
        observe(look(url), PROMPTS)
    (finding,) = caught.value.findings
    assert "127.0.0.1" not in str(finding)
    assert "hf_" not in str(finding)
    return finding.code


def seen(url: str) -> Observed:
    return observe(look(url), PROMPTS)


def test_a_server_tells_what_it_is(url: str) -> None:
    server = look(url)
    assert (server.version, server.model, server.draft_tokens, server.title) == (
        "0.32.0",
        "the-target",
        2,
        "vLLM 0.32.0",
    )


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"], ids=["bare", "slash", "v1", "v1 and slash"])
def test_the_address_may_be_that_of_clients(url: str, end: str) -> None:
    assert look(url + end).model == "the-target"


def test_only_what_was_counted_meanwhile_counts(url: str) -> None:
    assert seen(url).counters == Counters(2, 4, 2, (2, 0))


def test_prompts_go_as_token_ids_and_greedily(url: str, behaviour: Behaviour) -> None:
    answers = seen(url).answers
    assert [one["prompt"] for one in behaviour.asked] == [[1, 2, 3], [1, 2]]
    assert {one["temperature"] for one in behaviour.asked} == {0}
    assert [answer.tokens for answer in answers] == [(9, 9, 9, 9), (9, 9)]


def test_figures_of_each_request_are_taken_where_they_are_told(url: str, behaviour: Behaviour) -> None:
    behaviour.figures = True
    answer = seen(url).answers[0]
    assert (answer.accepted, answer.counters) == ((1,), Counters(1, 2, 1, (1, 0)))


def test_nobody_else_is_no_finding(url: str) -> None:
    assert seen(url).findings == ()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("strangers", 1, "finished 4 requests, 2 of them ours", id="others finish"),
        pytest.param("running", 3, "3 requests were under way when ours began", id="others run"),
        pytest.param("tells_requests", False, "does not tell how many", id="nobody can know"),
    ],
)
def test_other_traffic_is_told(url: str, behaviour: Behaviour, name: str, value: Any, words: str) -> None:
    setattr(behaviour, name, value)
    (finding,) = seen(url).findings
    assert finding.code == "endpoint-other-traffic"
    assert words in finding.message


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param({"drafting": False}, "endpoint-not-drafting", id="no speculation"),
        pytest.param({"restarts": True}, "endpoint-restarted", id="started anew"),
        pytest.param({"token_ids": False}, "endpoint-unusable", id="no token ids"),
        pytest.param({"key": "k"}, "endpoint-refused", id="key missing"),
        pytest.param({"odd": {"/v1/models": b"<html>"}}, "endpoint-unusable", id="no JSON"),
        pytest.param({"odd": {"/v1/models": b"[" * 100_000}}, "endpoint-unusable", id="nested without end"),
        pytest.param({"odd": {"/v1/models": b"[]"}}, "endpoint-unusable", id="other JSON"),
        pytest.param({"odd": {"/v1/models": b'{"data": [3]}'}}, "endpoint-unusable", id="no model"),
        pytest.param({"odd": {"/v1/completions": b"{}"}}, "endpoint-unusable", id="no completion"),
        pytest.param({"odd": {"/v1/completions": b'{"choices": [{"token_ids": [1.5]}]}'}}, "endpoint-unusable",
                     id="no tokens"),
        pytest.param({"odd": {"/v1/completions": 500}}, "endpoint-refused", id="fails"),
        pytest.param({"odd": {"/metrics": 307}}, "endpoint-refused", id="redirects"),
        pytest.param({"odd": {"/metrics": b"\xff\x00"}}, "endpoint-not-drafting", id="no text"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_measured_is_told(
    url: str, behaviour: Behaviour, change: dict[str, Any], code: str
) -> None:
    for name, value in change.items():
        setattr(behaviour, name, value)
    assert refusal(url) == code


def test_a_server_without_a_version_is_measured_all_the_same(url: str, behaviour: Behaviour) -> None:
    behaviour.odd["/version"] = 404
    assert look(url).title == "a vLLM server"


def test_the_key_comes_from_the_environment_alone(
    url: str, behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    behaviour.key = "secret"
    monkeypatch.setenv(KEY_VARIABLE, "secret")
    seen(url)
    assert set(behaviour.authorizations) == {"Bearer secret"}


def test_an_answer_without_end_is_not_read(url: str, behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eaglekit.serving.address.MOST_BYTES", 1000)
    behaviour.odd["/v1/models"] = b" " * 1001
    assert refusal(url) == "endpoint-unusable"


def test_a_server_that_is_not_there_is_told() -> None:
    assert refusal("http://127.0.0.1:1") == "endpoint-silent"


@pytest.mark.parametrize(
    "text",
    ["", "host:8000", "ftp://host", "file:///etc/passwd", "http://", "http://host:99999", "http://host/?x=1",
     "http://a b", "http://h\nost", "http://user:pass@host"],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_address(text)
    assert [finding.code for finding in caught.value.findings] == ["endpoint-address"]
    assert "pass" not in str(caught.value.findings[0]).replace("password", "")


def test_another_number_of_draft_tokens_is_refused(url: str) -> None:
    with pytest.raises(Refusal) as caught:
        for_draft_tokens(look(url), 3)
    assert caught.value.findings[0].hint == "add --draft-tokens 2"
