"""A server of our own: started, ready, and gone with everything it started. vLLM is a stand-in that serves."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from eaglekit.report import Finding, Refusal
from eaglekit.serving.benching import ask_all
from eaglekit.serving.benching_server import Command, running
from eaglekit.serving.environment import Environment, find_engine
from eaglekit.serving.job import Prompt
from tests.serving import stand_in

DRAFTER = {"method": "eagle3", "model": "/somewhere/my drafter", "num_speculative_tokens": 3}
COMMAND = Command("/somewhere/target", {}, DRAFTER)
PROMPTS = [Prompt("one", (1, 2), 8), Prompt("two", (3,), 8)]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setenv("PYTHONPATH", str(stand_in.write(tmp_path / "engine")))
    return find_engine(sys.executable)


def failing(how: str, engine: Environment, monkeypatch: pytest.MonkeyPatch, silence_s: float = 60) -> Finding:
    """The one finding of a server that does as it is told, and is asked two prompts when it is there."""
    monkeypatch.setenv("STAND_IN", how)
    with pytest.raises(Refusal) as caught, running(COMMAND, engine, "the server", silence_s=silence_s) as server:
        ask_all(server, PROMPTS, 1, ignore_end=False)
    (finding,) = caught.value.findings
    assert "/somewhere" not in str(finding)
    return finding


@pytest.mark.parametrize(("told", "drafts"), [(DRAFTER, True), (None, False)], ids=["with a drafter", "alone"])
def test_a_server_is_there_inside_and_gone_outside(
    engine: Environment, told: dict[str, object] | None, drafts: bool
) -> None:
    with running(Command("/somewhere/target", {}, told), engine, "the server") as server:
        assert server.drafts is drafts
        assert [reply.identity for reply in ask_all(server, PROMPTS, 2, ignore_end=False)] == ["one", "two"]
    with pytest.raises(Refusal) as caught:
        server.address.get("/health")
    assert [one.code for one in caught.value.findings] == ["endpoint-silent"]


def test_no_proxy_stands_between_this_machine_and_itself(engine: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with running(COMMAND, engine, "the server") as server:
        assert len(ask_all(server, PROMPTS, 1, ignore_end=False)) == 2


def test_the_words_are_those_of_vllms_command_line() -> None:
    command = Command(
        "t", {"enforce_eager": True, "async_scheduling": False, "max_model_len": 256, "dtype": "float32",
              "allowed": ["a", "b"], "compilation_config": {"mode": 0}}, {"method": "eagle3"}, "abc",
    )  # fmt: skip
    assert command.words == (
        "serve", "t", "--revision", "abc", "--speculative-config", '{"method": "eagle3"}', "--enforce-eager",
        "--no-async-scheduling", "--max-model-len", "256", "--dtype", "float32", "--allowed", "a", "b",
        "--compilation-config", '{"mode": 0}',
    )  # fmt: skip
    assert shlex.split(command.text) == ["vllm", *command.words]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        pytest.param(
            "leaves", "with code 3; the last it said: ValueError: Free memory on device is less", id="no memory"
        ),
        pytest.param(
            "drafter does not load",
            "ValueError: no module named 'fc_norm' in my drafter",
            id="a drafter it cannot load",
        ),
    ],
)
def test_a_server_that_does_not_come_up_is_told_in_its_own_words(
    how: str, words: str, engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = failing(how, engine, monkeypatch)
    assert finding.code == "bench-not-started"
    assert "does not come up as the server" in finding.message
    assert words in finding.message


def test_a_server_that_says_nothing_is_not_waited_for_without_end(
    engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = failing("silent", engine, monkeypatch, silence_s=1)
    assert finding.code == "bench-not-started"
    assert "it said nothing for" in finding.message


def test_a_server_that_dies_under_the_load_is_told_in_its_own_words(
    engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = failing("dies", engine, monkeypatch)
    assert finding.code == "bench-broke-off"
    assert "RuntimeError: out of memory" in finding.message


def test_a_request_that_is_refused_is_told_with_the_servers_answer(
    engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = failing("refuses", engine, monkeypatch)
    assert finding.code == "bench-broke-off"
    assert "the prompt is longer than the context" in finding.message
    assert "max_model_len" in finding.hint
