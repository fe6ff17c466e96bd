"""The load on two servers: who is asked when, how many at a time, and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from eaglekit.report import Refusal
from eaglekit.serving.benching import (
    PLAIN,
    SPECULATING,
    Load,
    Visit,
    ask_all,
    bench,
    refuse_unlike,
    visits,
    warm_up,
)
from eaglekit.serving.counters import Counters
from eaglekit.serving.endpoint import Server, meet
from eaglekit.serving.job import Prompt
from tests.serving.streaming_server import Behaviour, serving

PROMPTS = tuple(Prompt(f"p{number}", (number, 1), 8) for number in range(6))
LOAD = Load({"code": PROMPTS[:4], "talk": PROMPTS[4:]}, (1, 2), repeats=2)


def test_whoever_comes_last_in_a_round_comes_first_in_the_next() -> None:
    assert visits(3) == (
        Visit(SPECULATING, (0,)), Visit(PLAIN, (0, 1)), Visit(SPECULATING, (1, 2)), Visit(PLAIN, (2,)),
    )  # fmt: skip


def test_one_round_asks_both() -> None:
    assert visits(1) == (Visit(SPECULATING, (0,)), Visit(PLAIN, (0,)))


def test_the_number_of_requests_is_told_beforehand() -> None:
    assert LOAD.requests == 6 * 2 * 2 * 2


@pytest.mark.parametrize("users", [1, 3, 6])
def test_as_many_users_ask_at_a_time_as_there_are(users: int) -> None:
    behaviour = Behaviour(pause_s=0.05)
    with serving(behaviour) as address:
        ask_all(meet(address), PROMPTS, users, ignore_end=False)
    assert behaviour.most_at_once == users


def test_replies_come_back_in_the_order_of_the_prompts() -> None:
    with serving(Behaviour()) as address:
        replies = ask_all(meet(address), PROMPTS, 4, ignore_end=False)
    assert [reply.identity for reply in replies] == [prompt.identity for prompt in PROMPTS]


def test_no_request_shares_its_salt_with_another() -> None:
    behaviour = Behaviour()
    with serving(behaviour) as address:
        for _ in range(2):
            ask_all(meet(address), PROMPTS, 2, ignore_end=False)
    assert len({document["cache_salt"] for document in behaviour.asked}) == 12


def test_the_first_request_that_fails_ends_the_run() -> None:
    behaviour = Behaviour(fault="refuses", fault_from=2)
    with serving(behaviour) as address, pytest.raises(Refusal) as caught:
        ask_all(meet(address), PROMPTS, 1, ignore_end=False)
    assert [one.code for one in caught.value.findings] == ["endpoint-refused"]
    assert len(behaviour.asked) == 3


def test_a_server_is_warmed_up_at_every_concurrency() -> None:
    behaviour = Behaviour()
    with serving(behaviour) as address:
        warm_up(meet(address), LOAD)
    assert [document["prompt"][0] for document in behaviour.asked[:1]] == [0]
    assert len(behaviour.asked) == 1 + 2


class Both:
    """Two servers that run already."""

    def __init__(self) -> None:
        self.behaviours = {SPECULATING: Behaviour(drafting=True), PLAIN: Behaviour()}
        self.opened: list[str] = []

    @contextmanager
    def running(self) -> Iterator[Both]:
        with ExitStack() as stack:
            self.servers = {side: meet(stack.enter_context(serving(one))) for side, one in self.behaviours.items()}
            yield self

    @contextmanager
    def open_side(self, side: str) -> Iterator[Server]:
        self.opened.append(side)
        yield self.servers[side]


def test_each_round_asks_everything_of_both_and_is_told() -> None:
    heard: list[int] = []
    with Both().running() as both:
        done = bench(LOAD, both.open_side, heard.append)
    assert sum(heard) == LOAD.requests
    assert both.opened == [SPECULATING, PLAIN, SPECULATING]
    assert {(run.side, run.repeat, run.concurrency, run.category) for run in done.runs} == {
        (side, repeat, users, category)
        for side in (SPECULATING, PLAIN) for repeat in (0, 1) for users in (1, 2) for category in ("code", "talk")
    }  # fmt: skip
    assert done.findings == ()


def test_what_the_server_counts_is_of_this_run_alone() -> None:
    with Both().running() as both:
        done = bench(LOAD, both.open_side)
    # Eight tokens: the prompt's, then three, three and one, of which two, two and none are accepted drafts.
    assert {run.counters for run in done.runs if run.category == "talk"} == {Counters(6, 12, 8, (4, 4)), None}


def test_requests_of_somebody_else_are_told_once() -> None:
    both = Both()

    class Busy(Behaviour):
        def end(self, document: dict[str, object], pieces: list[list[int]]) -> None:
            super().end(document, pieces)
            self.finished += 1

    both.behaviours[PLAIN] = Busy()
    with both.running():
        done = bench(LOAD, both.open_side)
    assert [one.code for one in done.findings] == ["endpoint-other-traffic"]


def test_a_server_without_drafts_cannot_be_the_speculating_one() -> None:
    with serving(Behaviour()) as address, pytest.raises(Refusal) as caught:
        refuse_unlike(meet(address), meet(address))
    assert [one.code for one in caught.value.findings] == ["endpoint-not-drafting"]


def test_a_baseline_that_drafts_is_told() -> None:
    with serving(Behaviour(drafting=True)) as address:
        (finding,) = refuse_unlike(meet(address), meet(address))
    assert finding.code == "bench-baseline-drafts"
