"""Where attention goes, as the drift report counts it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from eaglekit.drafter import Part, Role
from eaglekit.reference.drafting import draft_everywhere
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.slots import AttentionMass
from tests.reference.drafters import GROUPED, VARIANTS, drafter_of, text_of


def masses(drafter: ReferenceDrafter, *, length: int, steps: int) -> list[AttentionMass]:
    tokens, states = text_of(drafter.spec, length)
    found = [step.attention for step in draft_everywhere(drafter, tokens, states, steps=steps, attention=True)]
    assert None not in found
    return [mass for mass in found if mass is not None]


@pytest.mark.parametrize("name", ["eagle-3", "three-layers", "latent", "parallel"])
def test_the_three_masses_add_up_to_one_at_every_depth(name: str) -> None:
    for mass in masses(drafter_of(VARIANTS[name]), length=12, steps=4):
        assert_close(mass.sink + mass.prompt + mass.drafts, torch.ones(11, dtype=torch.float64))


def test_queries_of_nothing_look_everywhere_alike() -> None:
    """With query weights of zero every visible slot gets the same share, so shares count slots."""
    plain = drafter_of(replace(GROUPED, num_layers=2))
    silent = {Role(Part.QUERY, layer): torch.zeros_like(plain.weight(Part.QUERY, layer)) for layer in (0, 1)}
    drafter = ReferenceDrafter(plain.spec, {**plain.weights, **silent})
    slots = torch.arange(7, dtype=torch.float64)
    for depth, mass in enumerate(masses(drafter, length=8, steps=3), start=1):
        seen = slots + depth  # slots 0..p and depth - 1 drafts
        assert_close(mass.sink, 1 / seen)
        assert_close(mass.prompt, slots / seen)
        assert_close(mass.drafts, (depth - 1) / seen)


def test_nothing_is_counted_unless_asked_for() -> None:
    drafter = drafter_of(GROUPED)
    tokens, states = text_of(drafter.spec, 5)
    assert [step.attention for step in draft_everywhere(drafter, tokens, states, steps=2)] == [None, None]
