"""Drafting from all positions at once gives what a cached session gives that drafts from one after the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch.testing import assert_close

from eaglekit.drafter import Feedback, Fusion, FusionNorm, Residual, Spec
from eaglekit.reference import slots
from eaglekit.reference.drafting import DraftStep, draft_everywhere, logits
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.session import Session
from tests.reference.drafters import GROUPED, LATENT, ROPES, VARIANTS, drafter_of, longrope, text_of

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
"""float64 sums of some tens of terms in another order differ by 1e-15; three layers and four steps leave 1e-12."""


def one_by_one(
    drafter: ReferenceDrafter, tokens: torch.Tensor, states: torch.Tensor, *, steps: int
) -> list[list[DraftStep]]:
    """The rounds of a session that is given one accepted token at a time."""
    session = Session(drafter)
    return [
        list(session.round(tokens[slot + 1 : slot + 2], states[slot : slot + 1], steps=steps))
        for slot in range(len(tokens) - 1)
    ]


def assert_same(drafter: ReferenceDrafter, *, length: int = 13, steps: int = 4) -> None:
    tokens, states = text_of(drafter.spec, length)
    rounds = one_by_one(drafter, tokens, states, steps=steps)
    for step in draft_everywhere(drafter, tokens, states, steps=steps):
        served = [at_slot[step.depth - 1] for at_slot in rounds]
        assert step.tokens.tolist() == [int(at_slot.tokens) for at_slot in served]
        assert_close(step.raw, torch.cat([at_slot.raw for at_slot in served]), **CLOSE)
        assert_close(
            logits(drafter, step.normed), torch.cat([logits(drafter, at_slot.normed) for at_slot in served]), **CLOSE
        )


@pytest.mark.parametrize("name", VARIANTS)
def test_a_cached_session_drafts_what_all_positions_at_once_draft(name: str) -> None:
    assert_same(drafter_of(VARIANTS[name]))


@some.composite
def specs(draw: some.DrawFn) -> Spec:
    """Any mixture of the switches."""
    latent, captured = draw(some.booleans()), draw(some.integers(0, 4))
    spec = LATENT if latent else replace(
        GROUPED, qk_norm=draw(some.booleans()), attention_bias=draw(some.booleans()), mlp_bias=draw(some.booleans()),
        num_kv_heads=draw(some.sampled_from((1, 2, 4))),
    )  # fmt: skip
    if latent:
        spec = replace(spec, q_lora_rank=draw(some.none() | some.integers(1, 7)))
    if captured:
        spec = replace(
            spec, num_aux_states=captured, fusion_norm=draw(some.sampled_from(FusionNorm)),
            fusion_bias=draw(some.booleans()), target_hidden_size=draw(some.sampled_from((8, 12))),
            parallel_drafting=(parallel := draw(some.booleans())), mask_token_id=5 if parallel else None,
        )  # fmt: skip
    else:
        spec = replace(spec, fusion=Fusion.FINAL_STATE, num_aux_states=1)
    if draw(some.booleans()):
        spec = replace(spec, draft_vocab_size=6, target_ids=(39, 1, 3, 5, 20, 21))
    return replace(
        spec, num_layers=draw(some.integers(1, 3)), feedback=draw(some.sampled_from(Feedback)),
        residual=draw(some.sampled_from(Residual)),
        rope=draw(some.sampled_from((*ROPES.values(), longrope(2 if latent else 3)))),
        max_position_embeddings=draw(some.sampled_from((16, 64))),
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(spec=specs(), seed=some.integers(0, 1000))
def test_both_forms_agree_for_any_mixture_of_switches(spec: Spec, seed: int) -> None:
    assert_same(drafter_of(spec, seed=seed), length=8, steps=3)


@pytest.mark.parametrize("name", ["three-layers", "latent", "parallel"])
def test_chunks_of_queries_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drafter = drafter_of(VARIANTS[name])
    tokens, states = text_of(drafter.spec, 30)
    whole = list(draft_everywhere(drafter, tokens, states, steps=3, attention=True))
    monkeypatch.setattr(slots, "SCORE_BYTES", 4 * 32 * 8 * 7)  # seven queries of four heads over 32 slots
    for step, same in zip(whole, draft_everywhere(drafter, tokens, states, steps=3, attention=True), strict=True):
        assert_close(step.raw, same.raw, **CLOSE)
        assert step.attention is not None
        assert same.attention is not None
        assert_close(step.attention.prompt, same.attention.prompt, **CLOSE)


def test_a_session_may_be_given_several_accepted_tokens_at_once() -> None:
    drafter = drafter_of(VARIANTS["eagle-3.1"])
    tokens, states = text_of(drafter.spec, 12)
    session, drafts = Session(drafter), {}
    for start, stop in ((0, 6), (6, 7), (7, 11)):
        drafts[stop - 1] = session.draft(tokens[start + 1 : stop + 1], states[start:stop], steps=3).tolist()
    everywhere = torch.stack([step.tokens for step in draft_everywhere(drafter, tokens, states, steps=3)], dim=1)
    assert drafts == {slot: everywhere[slot].tolist() for slot in drafts}


@pytest.mark.parametrize("name", ["eagle-3.1", "latent-yarn", "parallel", "every-bias"])
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [
        # float32 carries 24 bits: some hundred roundings of 6e-8, on values of order one.
        pytest.param(torch.float32, 2e-5, id="float32"),
        # bfloat16 carries 8 bits: every rounding is up to 0.4 %, and a layer makes about twenty in a row.
        pytest.param(torch.bfloat16, 0.1, id="bfloat16"),
    ],
)
def test_both_forms_agree_in_the_types_engines_serve(name: str, dtype: torch.dtype, tolerance: float) -> None:
    drafter = drafter_of(VARIANTS[name], dtype=dtype)
    tokens, states = text_of(drafter.spec, 20)
    first = next(draft_everywhere(drafter, tokens, states, steps=1))
    served = torch.cat([at_slot[0].normed for at_slot in one_by_one(drafter, tokens, states, steps=1)])
    assert first.normed.dtype == dtype
    assert_close(first.normed, served, rtol=tolerance, atol=tolerance)
