"""The overlap of target and drafter, held against whole distributions over the whole vocabulary."""

from __future__ import annotations

import pytest
import torch

from eaglekit.reference.drafting import draft_everywhere, logits
from eaglekit.validate import sampling
from eaglekit.validate.observing import Wanted, observe
from eaglekit.validate.rounds import accepted_lengths
from tests.reference.drafters import VARIANTS, drafter_of
from tests.validate.captures import followed

STEPS, TEMPERATURE = 3, 0.7


@pytest.fixture(params=["eagle-3", "reduced-vocabulary"])
def measured(request: pytest.FixtureRequest) -> tuple[list[float], list[float], list[float], list[float]]:
    """Overlap and probability of the best draft, as measured and as summed up slot by slot."""
    drafter = drafter_of(VARIANTS[request.param])
    text = followed(drafter, 50, prompt_length=6, seed=5)
    tokens, states = torch.tensor(text.text.tokens), text.states.flatten(1)
    head = torch.randn(drafter.spec.vocab_size, text.final.shape[1], dtype=torch.float64)
    wanted = Wanted(STEPS, temperature=TEMPERATURE, target_logits=lambda final: final @ head.T)
    count = observe(drafter, text, states, wanted).count

    steps = list(draft_everywhere(drafter, tokens, states, steps=STEPS))
    accepted = accepted_lengths(torch.stack([step.tokens for step in steps]).numpy(), tokens.numpy())
    ids = list(drafter.spec.target_ids or range(drafter.spec.vocab_size))
    shared, taken = [0.0] * STEPS, [0.0] * STEPS
    for slot in range(5, len(tokens) - 1 - STEPS):
        for depth in range(1, STEPS + 1):
            if accepted[slot] < depth - 1:
                continue
            p = torch.softmax(text.final[slot + depth] @ head.T / TEMPERATURE, -1)
            q = torch.zeros(drafter.spec.vocab_size, dtype=torch.float64)
            q[ids] = torch.softmax(logits(drafter, steps[depth - 1].normed[slot][None])[0] / TEMPERATURE, -1)
            shared[depth - 1] += float(torch.minimum(p, q).sum())
            taken[depth - 1] += float(p[q.argmax()])
    return list(count.overlap), list(count.taken), shared, taken


def test_the_overlap_is_the_sum_over_tokens_of_the_smaller_probability(
    measured: tuple[list[float], list[float], list[float], list[float]],
) -> None:
    assert measured[0] == pytest.approx(measured[2], rel=1e-4)


def test_the_best_draft_is_taken_with_the_targets_probability_of_it(
    measured: tuple[list[float], list[float], list[float], list[float]],
) -> None:
    assert measured[1] == pytest.approx(measured[3], rel=1e-4)


def test_chunks_of_the_vocabulary_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drafter = drafter_of(VARIANTS["eagle-3"])
    text = followed(drafter, 50, seed=5)
    head = torch.randn(drafter.spec.vocab_size, text.final.shape[1], dtype=torch.float64)
    wanted = Wanted(STEPS, target_logits=lambda final: final @ head.T)
    whole = observe(drafter, text, text.states.flatten(1), wanted).count
    monkeypatch.setattr(sampling, "PROBABILITY_BYTES", 3 * 4 * drafter.spec.vocab_size)
    pieces = observe(drafter, text, text.states.flatten(1), wanted).count
    assert pieces.overlap == pytest.approx(whole.overlap, rel=1e-5)


def test_a_drafter_that_is_the_target_has_nothing_but_overlap() -> None:
    drafter = drafter_of(VARIANTS["eagle-3"])
    text = followed(drafter, 30)
    states = text.states.flatten(1)
    steps = list(draft_everywhere(drafter, torch.tensor(text.text.tokens), states, steps=1))
    final = torch.cat([steps[0].normed[:1], steps[0].normed])
    everywhere = [torch.ones(29, dtype=torch.bool)]
    found = sampling.overlap(
        drafter, [steps[0].normed], everywhere, final, lambda rows: logits(drafter, rows), temperature=1.0
    )
    # State p + 1 of this target is what the drafter's head reads at slot p.
    assert found.shared == pytest.approx((29.0,), rel=1e-5)
