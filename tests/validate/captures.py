"""Captured texts made by hand for random drafters, written so that some of their drafts are right."""

from __future__ import annotations

import torch

from eaglekit.drafter import Fusion, Spec
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.session import Session
from eaglekit.target.captured import Capture, CapturedText
from eaglekit.target.texts import Text
from tests.reference.drafters import text_of


def followed(drafter: ReferenceDrafter, length: int, *, prompt_length: int = 4, seed: int = 0) -> CapturedText:
    """A text that often says what the drafter drafts, over random states, and the target's argmax for it."""
    spec = drafter.spec
    tokens, states = text_of(spec, length, seed=seed)
    dice = torch.Generator().manual_seed(seed)
    session, given = Session(drafter), 1
    for place in range(prompt_length + 1, length):
        # The first draft behind token place - 1 stands for this place.
        draft = int(session.draft(tokens[given:place], states[given - 1 : place - 1], steps=1)[0])
        given = place
        if float(torch.rand((), generator=dice)) < 0.75:
            tokens[place] = draft
    width = spec.target_hidden_size
    final = (
        states[:, :width] if spec.fusion is Fusion.FINAL_STATE else torch.randn(length, width, generator=dice).double()
    )
    argmax = torch.cat([tokens[1:], tokens[:1]])
    text = Text(f"text {seed}", "", tuple(tokens.tolist()), prompt_length)
    shaped = states.view(length, spec.num_aux_states, width)
    return CapturedText(text, shaped, final, argmax)


def capture_of(spec: Spec, texts: list[CapturedText]) -> Capture:
    """The texts as a capture at the layers that a drafter of `spec` reads."""
    return Capture(
        boundaries=spec.aux_layers,
        num_layers=12,
        hidden_size=spec.target_hidden_size,
        vocab_size=spec.vocab_size,
        target={},
        texts=texts,
    )
