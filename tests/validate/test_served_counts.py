"""Where an engine and the reference part, and what an engine must have counted: on what a real vLLM told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from eaglekit.serving.outcome import Answer, parse
from eaglekit.validate.served_counts import TextServed, coarser, compare_text, near, predict

OUTCOME = Path(__file__).resolve().parents[1] / "serving" / "data" / "outcome-vllm-0.32.jsonl"
ANSWERS = [news for line in OUTCOME.read_text(encoding="utf-8").splitlines() if isinstance(news := parse(line), Answer)]
PROMPT = 9
"""Tokens of the prompt of both recorded texts."""
FLOAT32 = ("float32", "float32")
FIRST, SECOND = ANSWERS


def prompt_of(answer: Answer) -> tuple[int, ...]:
    assert answer.known is not None
    return answer.known[:PROMPT]


def drafts_of(answer: Answer) -> numpy.ndarray:
    """What a reference that drafts like the engine gives at every slot; nothing sensible where no round started."""
    assert answer.rounds is not None
    made = numpy.full((3, PROMPT + len(answer.tokens) - 1), -1)
    for one in answer.rounds:
        if one.length - 2 < made.shape[1]:
            made[:, one.length - 2] = one.drafts
    return made


def no_score(slot: int, step: int, wanted: Sequence[int]) -> list[float | None]:
    return [1.0, 9.0][: len(wanted)]


def close_score(slot: int, step: int, wanted: Sequence[int]) -> list[float | None]:
    return [8.0, 8.000_01][: len(wanted)]


def compared(answer: Answer, drafts: numpy.ndarray, score: object = no_score) -> TextServed:
    return compare_text(answer, prompt_of(answer), drafts, score, FLOAT32)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.identity)
def test_a_reference_that_drafts_alike_differs_nowhere(answer: Answer) -> None:
    text = compared(answer, drafts_of(answer))
    assert text.differences == ()
    assert text.steps_same == text.steps_compared


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.identity)
def test_a_reference_that_drafts_alike_counts_what_the_engine_counted(answer: Answer) -> None:
    predicted = compared(answer, drafts_of(answer)).predicted
    assert answer.counters is not None
    assert predicted.drafts == answer.counters.drafts
    assert predicted.least == predicted.most == answer.counters.accepted_per_position


@pytest.mark.parametrize("step", [0, 1, 2])
def test_the_first_draft_that_differs_is_named_with_both_tokens_and_their_logits(step: int) -> None:
    drafts = drafts_of(FIRST)
    assert FIRST.rounds is not None
    one = FIRST.rounds[1]
    second_best, logit = one.best[step][1]
    drafts[step, one.length - 2] = second_best
    (difference,) = compared(FIRST, drafts).differences
    assert (difference.identity, difference.step) == (FIRST.identity, step + 1)
    assert difference.position == one.length + step
    assert difference.engine is not None
    assert (difference.engine.token, difference.engine.engine) == one.best[step][0]
    assert (difference.reference.token, difference.reference.engine) == (second_best, logit)
    assert (difference.engine.reference, difference.reference.reference) == (1.0, 9.0)
    assert not difference.tie


def test_drafts_behind_the_first_that_differs_are_not_compared() -> None:
    drafts = drafts_of(FIRST)
    assert FIRST.rounds is not None
    drafts[0, FIRST.rounds[1].length - 2] = 250
    text = compared(FIRST, drafts)
    assert text.steps_compared == (text.rounds, text.rounds - 1, text.rounds - 1)
    assert text.steps_same == (text.rounds - 1, text.rounds - 1, text.rounds - 1)


def test_a_token_that_is_not_among_the_engines_best_has_no_logit_there() -> None:
    drafts = drafts_of(FIRST)
    drafts[0, PROMPT - 1] = 250
    (difference,) = compared(FIRST, drafts).differences
    assert difference.reference.engine is None


def test_two_tokens_that_are_near_on_both_sides_are_a_tie() -> None:
    assert FIRST.rounds is not None
    one = FIRST.rounds[0]
    other = 250
    tied = replace(one, best=(((one.drafts[0], 8.0), (other, 7.999_99)), *one.best[1:]))
    drafts = drafts_of(FIRST)
    drafts[0, one.length - 2] = other
    (difference,) = compared(replace(FIRST, rounds=(tied,)), drafts, close_score).differences
    assert difference.tie


def test_two_tokens_that_only_the_reference_finds_near_are_no_tie() -> None:
    assert FIRST.rounds is not None
    one = FIRST.rounds[0]
    drafts = drafts_of(FIRST)
    drafts[0, one.length - 2] = one.best[0][1][0]
    (difference,) = compared(FIRST, drafts, close_score).differences
    assert not difference.tie


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        pytest.param([8.0, 8.0005], "float32", True, id="float32, a last digit"),
        pytest.param([8.0, 8.01], "float32", False, id="float32, more than that"),
        pytest.param([8.0, 8.25], "bfloat16", True, id="bfloat16, a last digit"),
        pytest.param([8.0, 9.0], "bfloat16", False, id="bfloat16, more than that"),
        pytest.param([8.0, None], "bfloat16", False, id="unknown"),
    ],
)
def test_near_is_a_part_of_the_size_of_a_logit(values: list[float | None], dtype: str, expected: bool) -> None:
    assert near(values, dtype) is expected


def test_the_coarser_arithmetic_decides_what_is_near() -> None:
    assert coarser(("float32", "bfloat16")) == "bfloat16"


def test_a_piece_of_a_prompt_is_no_round() -> None:
    assert FIRST.rounds is not None
    piece = replace(FIRST.rounds[0], length=5, drafts=(1, 1, 1))
    answer = replace(FIRST, rounds=(piece, *FIRST.rounds))
    assert compared(answer, drafts_of(FIRST)).differences == ()


def test_what_was_seen_of_another_text_is_not_compared() -> None:
    assert FIRST.known is not None
    answer = replace(FIRST, known=(99, *FIRST.known[1:]), accepted=None)
    assert compared_blind(answer).rounds == 0


def compared_blind(answer: Answer) -> TextServed:
    return compare_text(answer, prompt_of(FIRST), drafts_of(FIRST), no_score, FLOAT32)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.identity)
def test_accepted_drafts_of_each_round_are_enough_to_compare(answer: Answer) -> None:
    blind = replace(answer, rounds=None, known=None)
    text = compare_text(blind, prompt_of(answer), drafts_of(answer), no_score, FLOAT32)
    assert (text.rounds, text.differences) == (len(answer.accepted or ()), ())


def test_a_draft_that_only_the_engine_had_right_is_named_without_its_logit() -> None:
    blind = replace(FIRST, rounds=None, known=None)
    assert FIRST.accepted is not None
    third = next(number for number, accepted in enumerate(FIRST.accepted) if accepted)
    start = PROMPT + 1 + sum(accepted + 1 for accepted in FIRST.accepted[:third])
    drafts = drafts_of(FIRST)
    drafts[0, start - 2] = 250
    (difference,) = compare_text(blind, prompt_of(FIRST), drafts, no_score, FLOAT32).differences
    assert (difference.position, difference.step, difference.reference.token) == (start, 1, 250)
    assert difference.engine is not None
    assert difference.engine.token == FIRST.tokens[start - PROMPT]


def test_a_draft_that_only_the_reference_had_right_is_named_too() -> None:
    blind = replace(FIRST, rounds=None, known=None)
    drafts = drafts_of(FIRST)
    drafts[0, PROMPT - 1] = FIRST.tokens[1]
    (difference, *_) = compare_text(blind, prompt_of(FIRST), drafts, no_score, FLOAT32).differences
    assert (difference.position, difference.step, difference.engine) == (PROMPT + 1, 1, None)


def test_what_lies_past_the_end_of_an_answer_is_left_open() -> None:
    # Ten tokens, eight of them prompt: the round at length 9 is right about the last token, and then the text is over.
    drafts = numpy.full((3, 9), -1)
    drafts[:, 7] = (5, 6, 7)
    predicted = predict([0] * 8 + [4, 5], 8, 10, drafts)
    assert (predicted.drafts, predicted.least, predicted.most) == (1, (1, 0, 0), (1, 1, 1))


def test_an_answer_of_one_token_has_no_round() -> None:
    assert predict([0, 0, 1], 2, 3, numpy.full((3, 2), -1)).drafts == 0
