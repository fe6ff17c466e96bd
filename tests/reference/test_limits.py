"""What drafting from everywhere may hold, and where it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from eaglekit.reference import head, slots
from eaglekit.reference.drafting import draft_everywhere
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.rope import rope_of
from eaglekit.reference.session import Session
from tests.reference.drafters import GROUPED, ROPES, VARIANTS, drafter_of, text_of


class Largest(TorchDispatchMode):
    """Notes the bytes of the largest tensor that any operation gives."""

    def __init__(self) -> None:
        super().__init__()
        self.size_bytes = 0

    def __torch_dispatch__(
        self,
        operation: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = operation(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.size_bytes = max(self.size_bytes, result.numel() * result.element_size())
        return result


def test_scores_and_logits_stay_within_their_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = replace(GROUPED, num_heads=32, head_dim=2, vocab_size=4000, draft_vocab_size=4000)
    drafter = drafter_of(spec, dtype=torch.float32)
    tokens, states = text_of(spec, 400)
    budget = 1 << 20  # all scores at once are 20 MB, all logits 6 MB
    monkeypatch.setattr(slots, "SCORE_BYTES", budget)
    monkeypatch.setattr(head, "LOGIT_BYTES", budget)
    with Largest() as largest:
        drafted = sum(len(step.tokens) for step in draft_everywhere(drafter, tokens, states, steps=3, attention=True))
    assert drafted == 3 * 399
    assert budget / 2 < largest.size_bytes <= budget


@pytest.mark.parametrize("name", ["eagle-3.1", "reduced-vocabulary", "latent", "parallel"])
def test_everything_is_computed_where_the_weights_lie(name: str) -> None:
    """On the meta device, an operation that mixes in a tensor of the CPU fails."""
    made = drafter_of(VARIANTS[name])
    drafter = ReferenceDrafter(made.spec, {role: weight.to("meta") for role, weight in made.weights.items()})
    tokens, states = text_of(drafter.spec, 9)
    for step in draft_everywhere(drafter, tokens, states, steps=3, attention=True):
        assert step.attention is not None
        assert {part.device.type for part in (step.tokens, step.raw, step.normed, step.attention.sink)} == {"meta"}
    assert Session(drafter).draft(tokens[1:], states[:-1], steps=3).device.type == "meta"


def test_a_text_of_one_token_has_nothing_to_draft_from() -> None:
    drafter = drafter_of(GROUPED)
    tokens, states = text_of(GROUPED, 1)
    steps = list(draft_everywhere(drafter, tokens, states, steps=2, attention=True))
    assert [step.tokens.shape for step in steps] == [(0,), (0,)]


def test_the_state_at_the_last_token_is_not_read() -> None:
    drafter = drafter_of(VARIANTS["eagle-3.1"])
    tokens, states = text_of(drafter.spec, 7)
    states[-1] = torch.nan
    for step in draft_everywhere(drafter, tokens, states, steps=2):
        assert step.raw.isfinite().all()


def test_a_dynamic_rope_without_a_position_table_scales_nothing() -> None:
    spec = replace(GROUPED, rope=ROPES["dynamic"], max_position_embeddings=None)
    plain = rope_of(replace(spec, rope=ROPES["default"]), context_length=0)
    assert torch.equal(rope_of(spec, context_length=0).frequencies, plain.frequencies)
