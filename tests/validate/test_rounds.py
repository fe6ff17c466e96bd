"""Counting from every slot gives what a serving loop counts, held against a loop that serves token by token."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eaglekit.validate.rounds import accepted_lengths, agreement, complete_slots, tally


def served(drafts: list[list[int]], tokens: list[int], prompt_length: int) -> list[int]:
    """Accepted drafts per round of an engine that is made to say `tokens`, one round after the other."""
    steps, known, rounds = len(drafts), prompt_length + 1, []
    while True:
        offered = [drafts[step][known - 2] for step in range(steps)] if known - 2 < len(drafts[0]) else []
        if not offered or known + steps > len(tokens):
            return rounds
        count = 0
        for position, draft in enumerate(offered):
            if draft != tokens[known + position]:
                break
            count += 1
        rounds.append(count)
        known += count + 1


@st.composite
def texts(draw: st.DrawFn) -> tuple[list[list[int]], list[int], int]:
    length = draw(st.integers(2, 40))
    tokens = draw(st.lists(st.integers(0, 2), min_size=length, max_size=length))
    steps = draw(st.integers(1, 5))
    rows = st.lists(st.integers(0, 2), min_size=length - 1, max_size=length - 1)
    drafts = draw(st.lists(rows, min_size=steps, max_size=steps))
    return drafts, tokens, draw(st.integers(1, length))


@given(texts())
def test_the_tally_is_what_a_serving_loop_counts(text: tuple[list[list[int]], list[int], int]) -> None:
    drafts, tokens, prompt_length = text
    expected = served(drafts, tokens, prompt_length)
    found = tally(numpy.array(drafts), numpy.array(tokens), prompt_length)
    assert found.rounds == len(expected)
    assert list(found.accepted) == [sum(count > step for count in expected) for step in range(len(drafts))]


@given(texts())
def test_every_slot_is_compared_with_the_text_behind_it(text: tuple[list[list[int]], list[int], int]) -> None:
    drafts, tokens, prompt_length = text
    steps = len(drafts)
    slots = [slot for slot in range(prompt_length - 1, len(tokens) - 1) if slot + 1 + steps < len(tokens)]
    lengths = []
    for slot in slots:
        wrong = [step for step in range(steps) if drafts[step][slot] != tokens[slot + 2 + step]]
        lengths.append(wrong[0] if wrong else steps)
    found = tally(numpy.array(drafts), numpy.array(tokens), prompt_length)
    assert found.slots == len(slots)
    assert list(found.slots_accepted) == [sum(length > step for length in lengths) for step in range(steps)]


def test_a_perfect_drafter_jumps_by_all_its_drafts_and_the_bonus_token() -> None:
    tokens = numpy.arange(12)
    drafts = numpy.stack([numpy.arange(11) + 2 + step for step in range(3)])
    assert tally(drafts, tokens, 2).rounds == 2  # rounds start behind tokens 2 and 6; one behind 10 could not be seen
    assert tally(drafts, tokens, 2).accepted == (2, 2, 2)


def test_a_draft_after_a_wrong_one_counts_for_nothing() -> None:
    drafts = numpy.array([[9, 9], [3, 3]])
    assert accepted_lengths(drafts, numpy.array([1, 2, 3]))[0] == 0
    assert accepted_lengths(numpy.array([[3, 0, 0], [4, 0, 0]]), numpy.array([1, 2, 3, 4]))[0] == 2


@pytest.mark.parametrize(
    ("length", "prompt", "count"),
    [
        pytest.param(10, 4, 3, id="the last whole round ends with the text"),
        pytest.param(7, 4, 0, id="a response of three tokens has no room for three drafts behind its first"),
        pytest.param(8, 4, 1, id="a response of four tokens has room for one round"),
        pytest.param(4, 4, 0, id="a prompt without a response has no round"),
    ],
)
def test_rounds_that_the_text_cuts_off_are_left_out(length: int, prompt: int, count: int) -> None:
    assert len(complete_slots(length, prompt, 3)) == count


def test_agreement_compares_the_response_with_the_argmax_before_each_token() -> None:
    tokens = numpy.array([5, 6, 7, 8])
    argmax = numpy.array([0, 7, 0, 9])
    assert agreement(argmax, tokens, 2) == (1, 2)
    assert agreement(argmax, tokens, 4) == (0, 0)
