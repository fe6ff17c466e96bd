"""One streamed request over a real socket: what came, when, and every way in which a stream is none."""

from __future__ import annotations

import pytest

from eaglekit.report import Finding, Refusal
from eaglekit.serving.benching_request import Reply, request
from eaglekit.serving.endpoint import meet
from eaglekit.serving.job import Prompt
from tests.serving.streaming_server import LENGTH, Behaviour, serving

PROMPT = Prompt("one", (1, 2, 3), 32)


def asked(behaviour: Behaviour, *, ignore_end: bool = False) -> Reply:
    with serving(behaviour) as address:
        return request(meet(address), PROMPT, ignore_end=ignore_end, salt="s")


def refused(fault: str) -> Finding:
    with pytest.raises(Refusal) as caught:
        asked(Behaviour(drafting=True, fault=fault))
    (finding,) = caught.value.findings
    return finding


def test_every_token_is_kept_with_the_pieces_it_came_in() -> None:
    reply = asked(Behaviour(drafting=True))
    assert reply.tokens == tuple(range(16, 16 + LENGTH))
    assert reply.pieces == (1, 3, 3, 3, 3)
    assert reply.finish == "stop"


def test_the_rate_is_of_the_tokens_behind_the_first_piece() -> None:
    reply = asked(Behaviour(pause_s=0.02))
    assert reply.later_tokens == LENGTH - 1
    assert reply.later_s == reply.last_s - reply.first_s
    assert reply.later_s >= 12 * 0.02


def test_an_answer_that_came_at_once_has_no_time() -> None:
    reply = Reply("one", (1, 2, 3, 4), (1, 3), first_s=0.5, last_s=0.50001, finish="stop")
    assert not reply.timed
    assert (reply.later_tokens, reply.later_s) == (0, 0.0)


def test_an_answer_of_one_piece_has_no_time() -> None:
    assert not Reply("one", (1, 2), (2,), first_s=0.5, last_s=0.5, finish="stop").timed


def test_the_request_is_greedy_streamed_and_salted() -> None:
    behaviour = Behaviour()
    asked(behaviour, ignore_end=True)
    (document,) = behaviour.asked
    assert document == {
        "model": "the-target", "prompt": [1, 2, 3], "max_tokens": 32, "temperature": 0, "repetition_penalty": 1.0,
        "stream": True, "return_token_ids": True, "ignore_eos": True, "cache_salt": "s",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        pytest.param("refuses", "endpoint-refused", "400: .*longer than the context", id="a status"),
        pytest.param("error", "endpoint-unusable", "an error: .*the engine is dead", id="an error in the stream"),
        pytest.param("breaks off", "endpoint-silent|endpoint-unusable", "", id="a stream that breaks off"),
        pytest.param("no ids", "endpoint-unusable", "without its token ids", id="no ids"),
        pytest.param("no json", "endpoint-unusable", "no JSON object", id="no object"),
        pytest.param("no tokens", "endpoint-unusable", "no token for prompt one", id="no tokens"),
    ],
)
def test_a_stream_that_is_none_is_told(fault: str, code: str, words: str) -> None:
    import re

    finding = refused(fault)
    assert finding.code in code.split("|")
    assert re.search(words, finding.message)


def test_a_server_that_is_gone_is_told() -> None:
    with serving(Behaviour()) as address:
        server = meet(address)
    with pytest.raises(Refusal) as caught:
        request(server, PROMPT, ignore_end=False, salt="s")
    assert [one.code for one in caught.value.findings] == ["endpoint-silent"]
