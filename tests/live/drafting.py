"""The reference drafter in the place of the engine's: the same texts, the same states, its own drafts."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from eaglekit.checkpoint import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.drafter import Part
from eaglekit.reference.drafting import draft_everywhere
from eaglekit.reference.loading import load
from eaglekit.reference.model import ReferenceDrafter
from tests.live.serving import STEPS, Served

CLOSE = 2e-5
"""Two right programs may choose differently between logits that are nearer to each other than this."""


def reference(folder: Path, target: Path, given: Given | None = None) -> ReferenceDrafter:
    """The drafter in `folder`, read as eaglekit reads any; its target lends the embedding and the head."""
    checkpoint, beside = open_folder(folder), open_folder(target)
    drafter = read(checkpoint, given or Given()).drafter_or_refuse()
    shared = {
        part: beside.tensors[name]
        for part, name in ((Part.EMBEDDING, "model.embed_tokens.weight"), (Part.HEAD, "lm_head.weight"))
    }
    weights = {part: _values(target, tensor.name) for part, tensor in shared.items()}
    return load(drafter, checkpoint, shared=weights)


def _values(folder: Path, name: str) -> Tensor:
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "pt") as file:
        values: Tensor = file.get_tensor(name)
    return values.float()


def drafts_of(drafter: ReferenceDrafter, served: Served, *, steps: int = STEPS) -> list[list[int]]:
    """What `drafter` proposes in every round that was served."""
    drafts: list[list[int]] = []
    for text in served.texts:
        tokens = torch.tensor([text.tokens[position] for position in range(len(text.tokens))])
        states = torch.tensor([text.states[position] for position in range(len(text.states))])
        # The last token's state is nobody's business yet: a NaN that is read would spoil every draft.
        states = torch.cat([states, torch.full_like(states[:1], torch.nan)])
        slots = torch.tensor(text.lengths) - 2
        rounds = [step.tokens[slots] for step in draft_everywhere(drafter, tokens, states, steps=steps)]
        drafts += torch.stack(rounds, dim=1).tolist()
    return drafts


def engine_drafts(served: Served) -> list[list[int]]:
    """What the engine proposed in every round. Drafts that were too close to call would prove nothing."""
    nearest = min(gap for text in served.texts for row in text.gaps for gap in row)
    assert nearest > CLOSE, f"two logits are {nearest:.1e} apart: rename the drafter, which gives it other weights"
    return [row for text in served.texts for row in text.drafts]
