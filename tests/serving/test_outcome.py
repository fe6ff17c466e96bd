"""Jobs and outcomes: what goes to an engine's process, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eaglekit.serving.counters import Counters
from eaglekit.serving.job import Job, Prompt
from eaglekit.serving.outcome import Answer, Done, Loaded, States, Unreadable, parse

LINES = (Path(__file__).parent / "data" / "outcome-vllm-0.32.jsonl").read_text(encoding="utf-8").splitlines()
"""What the child told of vLLM 0.32 with fixtures/trained/llama-eagle3.1, shortened."""


def test_what_a_real_engine_told_is_understood() -> None:
    loaded, *answers, done = map(parse, LINES)
    assert isinstance(loaded, Loaded)
    assert (loaded.version, loaded.boundaries, loaded.watched) == ("0.32.0", (2, 4, 5), True)
    assert all(isinstance(answer, Answer) for answer in answers)
    assert isinstance(done, Done)
    assert done.counters == Counters(13, 39, 19, (8, 6, 5))


def test_a_round_holds_its_drafts_and_their_best_logits() -> None:
    answer = parse(LINES[1])
    assert isinstance(answer, Answer)
    assert answer.rounds is not None
    assert answer.rounds[0].drafts == (50, 46, 38)
    assert [step[0][0] for step in answer.rounds[0].best] == [50, 46, 38]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="cut off"),
        pytest.param("[]", id="a list"),
        pytest.param("null", id="nothing"),
        pytest.param('{"kind": "news"}', id="unknown kind"),
        pytest.param('{"kind": "done"}', id="without its fields"),
        pytest.param('{"kind": "done", "counters": 3, "why": ""}', id="counters of another kind"),
        pytest.param(LINES[1].replace('"answer":[', '"answer":[true,'), id="a token that is none"),
        pytest.param(LINES[1].replace('"answer":[', '"answer":[1.5,'), id="a token with a fraction"),
        pytest.param('{"kind": "states", "identity": "a", "file": "../a", "argmax": []}', id="a file elsewhere"),
        pytest.param(
            '{"kind": "states", "identity": "a", "file": "a", "argmax": [1.5]}', id="a next token with a fraction"
        ),
        pytest.param("[" * 100_000, id="nested without end"),
    ],
)
def test_a_line_that_is_none_is_told(line: str) -> None:
    with pytest.raises(Unreadable):
        parse(line)


def test_states_are_a_file_and_the_next_token_of_every_place() -> None:
    line = '{"kind": "states", "identity": "a", "file": "0-8c7a.safetensors", "argmax": [3, 1]}'
    assert parse(line) == States("a", "0-8c7a.safetensors", (3, 1))


def test_an_engine_without_these_counters_tells_none() -> None:
    done = parse('{"kind": "done", "counters": {}, "why": ""}')
    assert isinstance(done, Done)
    assert done.counters is None


def job(**more: object) -> Job:
    return Job(
        target="/t", drafter="/d", speculative_config={"method": "eagle3"}, prompts=(Prompt("one", (1, 2), 3),),
        stop_token_ids=(2,), max_model_len=128, **more,
    )  # fmt: skip


def test_a_job_is_plain_json() -> None:
    document = job().as_json()
    assert json.loads(json.dumps(document)) == document
    assert document["prompts"] == [{"identity": "one", "tokens": [1, 2], "max_tokens": 3}]


@pytest.mark.parametrize("name", ["model", "speculative_config", "max_num_seqs"])
def test_a_job_does_not_let_go_of_what_it_states_itself(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        job(arguments={name: 1})
