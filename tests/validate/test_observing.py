"""What is counted at every slot at once is what an engine counts that serves the text round by round."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from eaglekit.drafter import Part, Role
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.session import Session
from eaglekit.target.captured import CapturedText
from eaglekit.validate.observing import Wanted, observe, states_of
from tests.reference.drafters import GROUPED, VARIANTS, drafter_of
from tests.validate.captures import capture_of, followed

KINDS = ("eagle-3", "eagle-3.1", "reduced-vocabulary", "final-state", "latent-3.1", "parallel", "three-layers")
STEPS = 3


def served(drafter: ReferenceDrafter, text: CapturedText, states: torch.Tensor) -> list[int]:
    """Accepted drafts of each round of a server with a cache, made to say the text."""
    tokens = torch.tensor(text.text.tokens)
    session, rounds = Session(drafter), []
    known, given = text.text.prompt_length + 1, 1
    while known + STEPS <= len(tokens):
        drafts = session.draft(tokens[given:known], states[given - 1 : known - 1], steps=STEPS)
        count = 0
        while count < STEPS and drafts[count] == tokens[known + count]:
            count += 1
        rounds.append(count)
        given, known = known, known + count + 1
    return rounds


@pytest.mark.parametrize("kind", KINDS)
def test_accepted_drafts_are_those_of_a_server_with_a_cache(kind: str) -> None:
    drafter = drafter_of(VARIANTS[kind])
    text = followed(drafter, 60, seed=3)
    states = states_of(drafter, capture_of(drafter.spec, [text]), text)
    rounds = served(drafter, text, states)
    found = observe(drafter, text, states, Wanted(STEPS)).count.tally
    assert found.rounds == len(rounds)
    assert list(found.accepted) == [sum(count > step for count in rounds) for step in range(STEPS)]
    assert sum(rounds) > 0


@pytest.mark.parametrize("kind", ["eagle-3", "eagle-3.1", "latent"])
def test_watching_drift_changes_no_draft(kind: str) -> None:
    drafter = drafter_of(VARIANTS[kind])
    text = followed(drafter, 40)
    states = states_of(drafter, capture_of(drafter.spec, [text]), text)
    plain, watched = observe(drafter, text, states, Wanted(STEPS)), observe(drafter, text, states, Wanted(STEPS, 6))
    assert plain.count == watched.count
    assert (len(plain.drift), len(watched.drift)) == (0, 6)


def test_attention_shares_add_up_to_one_for_each_slot_of_the_response() -> None:
    drafter = drafter_of(GROUPED)
    text = followed(drafter, 30, prompt_length=10)
    sums = observe(drafter, text, text.states.flatten(1), Wanted(STEPS, 4)).drift
    assert {entry.slots for entry in sums} == {20}  # slots 9 to 28
    assert all(entry.sink + entry.context + entry.own == pytest.approx(20) for entry in sums)
    assert (sums[0].own, sums[1].own > 0) == (0.0, True)


@pytest.mark.parametrize(("kind", "constant"), [("eagle-3", False), ("eagle-3.1", True)])
def test_the_state_that_goes_in_is_the_normed_one_exactly_in_eagle_3_1(kind: str, constant: bool) -> None:
    drafter = drafter_of(VARIANTS[kind])
    weights = {**drafter.weights, Role(Part.FINAL_NORM): torch.ones(12, dtype=torch.float64)}
    drafter = replace(drafter, weights=weights)
    text = followed(drafter, 30)
    sums = observe(drafter, text, text.states.flatten(1), Wanted(1, 3)).drift
    fed_back = sums[1].state / sums[1].slots
    assert (fed_back == pytest.approx(1, abs=1e-3)) is constant
    assert (fed_back == pytest.approx(sums[0].residual / sums[0].slots)) is not constant


def test_a_response_of_the_target_s_own_agrees_with_its_argmax() -> None:
    drafter = drafter_of(GROUPED)
    text = followed(drafter, 30, prompt_length=10)
    count = observe(drafter, text, text.states.flatten(1), Wanted(STEPS)).count
    assert (count.agreeing, count.response) == (20, 20)


def test_a_state_that_is_not_finite_is_named_with_its_place() -> None:
    drafter = drafter_of(GROUPED)
    text = followed(drafter, 30)
    text.states[17] = float("inf")
    found = observe(drafter, text, text.states.flatten(1), Wanted(STEPS)).broken
    assert found is not None
    assert found.code == "output-not-finite"
    assert found.place.startswith("text text 0, slot ")


def test_a_text_without_a_response_is_counted_as_one_without_rounds() -> None:
    drafter = drafter_of(GROUPED)
    text = followed(drafter, 12, prompt_length=12)
    count = observe(drafter, text, text.states.flatten(1), Wanted(STEPS, 2)).count
    assert (count.tally.rounds, count.tally.slots, count.response) == (0, 0, 0)
