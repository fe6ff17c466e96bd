"""Finite or not, equal or not: by role, by place, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from eaglekit.drafter import Drafter, Part, Role
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.validate.numbers import (
    broken_outputs,
    broken_states,
    broken_weights,
    captured_inputs,
    parity,
    probe_inputs,
    stand_in_parts,
)
from tests.reference.drafters import GROUPED, VARIANTS, drafter_of
from tests.validate.captures import capture_of, followed


def changed(drafter: ReferenceDrafter, role: Role, weight: torch.Tensor) -> ReferenceDrafter:
    return replace(drafter, weights={**drafter.weights, role: weight})


def test_weights_that_are_not_finite_are_named_by_role_count_and_place() -> None:
    drafter = drafter_of(GROUPED)
    weight = drafter.weight(Part.GATE, 0).clone()
    weight[3, 5], weight[7, 1] = float("nan"), float("-inf")
    broken = changed(drafter, Role(Part.GATE, 0), weight)
    findings = broken_weights(broken, Drafter(GROUPED, {}))
    assert [finding.code for finding in findings] == ["weights-not-finite"]
    assert "gate 0" in findings[0].message
    assert "2 values" in findings[0].message
    assert "[3, 5]" in findings[0].message


def test_finite_weights_are_not_spoken_of() -> None:
    assert broken_weights(drafter_of(GROUPED), Drafter(GROUPED, {})) == []


@pytest.mark.parametrize("kind", ["eagle-3", "final-state", "latent-3.1", "parallel"])
def test_made_up_states_are_the_same_every_time_and_suit_every_drafter(kind: str) -> None:
    drafter = drafter_of(VARIANTS[kind], dtype=torch.float32)
    once, twice = probe_inputs([drafter])[0], probe_inputs([drafter])[0]
    assert torch.equal(once.tokens, twice.tokens)
    assert broken_outputs(drafter, [once], 4) == broken_outputs(drafter, [twice], 4) == []


def test_an_output_that_overflows_is_found_though_every_weight_is_finite() -> None:
    drafter = drafter_of(GROUPED, dtype=torch.float16)
    loud = changed(drafter, Role(Part.DOWN, 0), drafter.weight(Part.DOWN, 0) * 60000)
    found = broken_outputs(loud, probe_inputs([loud]), 3)
    assert [finding.code for finding in found] == ["output-not-finite"]
    assert broken_weights(drafter, Drafter(GROUPED, {})) == []


def test_captured_states_that_are_not_finite_are_named_by_text_and_position() -> None:
    text = followed(drafter_of(GROUPED), 20)
    text.final[13, 2] = float("nan")
    found = broken_states(capture_of(GROUPED, [text]))
    assert [finding.code for finding in found] == ["states-not-finite"]
    assert found[0].got == "position 13"


def test_a_drafter_equals_itself_bit_for_bit() -> None:
    drafter = drafter_of(GROUPED, dtype=torch.float32)
    text = followed(drafter_of(GROUPED), 30)
    inputs = captured_inputs(capture_of(GROUPED, [text]), [drafter])
    outcome = parity(drafter, drafter, inputs, 4)
    assert outcome is not None
    assert (outcome.exact, outcome.rows, outcome.same_drafts, outcome.largest) == (True, 4 * 29, 4 * 29, 0.0)


def test_one_bit_of_one_weight_is_seen() -> None:
    drafter = drafter_of(GROUPED, dtype=torch.float32)
    weight = drafter.weight(Part.FINAL_NORM).clone()
    weight[0] = torch.nextafter(weight[0], torch.tensor(10.0))
    inputs = probe_inputs([drafter])
    outcome = parity(drafter, changed(drafter, Role(Part.FINAL_NORM), weight), inputs, 2)
    assert outcome is not None
    assert not outcome.exact
    assert 0 < outcome.largest < 1e-4
    assert outcome.place.startswith("text probe, slot ")


def test_a_vocabulary_in_another_order_is_compared_token_by_token() -> None:
    spec = VARIANTS["reduced-vocabulary"]
    drafter = drafter_of(spec, dtype=torch.float32)
    assert spec.target_ids is not None
    order = sorted(range(len(spec.target_ids)), key=spec.target_ids.__getitem__)
    head = drafter.weight(Part.HEAD)[order]
    other = changed(
        replace(drafter, spec=replace(spec, target_ids=tuple(sorted(spec.target_ids)))), Role(Part.HEAD), head
    )
    outcome = parity(drafter, other, probe_inputs([drafter]), 3)
    assert outcome is not None
    assert outcome.exact


def test_drafters_without_a_token_in_common_cannot_be_compared() -> None:
    spec = replace(GROUPED, draft_vocab_size=2, target_ids=(1, 2))
    first, second = drafter_of(spec), drafter_of(replace(spec, target_ids=(3, 4)))
    assert parity(first, second, probe_inputs([first]), 1) is None


def test_a_stand_in_for_a_shared_table_takes_no_memory() -> None:
    parts = stand_in_parts(replace(GROUPED, vocab_size=10**9, draft_vocab_size=10**9))
    assert {part: tuple(table.shape) for part, table in parts.items()} == {
        Part.EMBEDDING: (10**9, 12),
        Part.HEAD: (10**9, 12),
    }
    assert all(table.untyped_storage().nbytes() == 48 for table in parts.values())
