"""The reference drafter against speculators 0.9's own model: its logits over four training-time-test steps.

The recordings are made by fixtures/producers/speculators_logits.py. The model feeds the text's own tokens on, not the
drafted ones, and pads with token 0; it counts positions from 1, which a rotary embedding does not see.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.reading import read
from eaglekit.reference.drafting import draft_everywhere, logits
from eaglekit.reference.loading import load

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings" / "speculators-0.9"
STEPS = 4
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
"""Two float32 programs sum some hundred products in other orders; logits reach 4. The largest gap seen is 1.6e-6."""


@pytest.mark.parametrize("name", sorted(file.stem for file in RECORDINGS.glob("*.safetensors")))
def test_logits_are_those_of_speculators_own_model(name: str) -> None:
    recording = load_file(RECORDINGS / f"{name}.safetensors")
    checkpoint = open_folder(RECORDINGS / name)
    drafter = load(read(checkpoint).drafter_or_refuse(), checkpoint)

    tokens, states = recording["tokens"], recording["states"]
    padded = torch.cat([tokens, tokens.new_zeros(STEPS)])
    forced = [padded[step : step + len(tokens)] for step in range(1, STEPS)]
    # Our slots hold the token behind each state; theirs are given as pairs already, so a first token stands in front.
    text, beside = torch.cat([tokens[:1], tokens]), torch.cat([states, states[:1]])
    steps = 0
    for step in draft_everywhere(drafter, text, beside, steps=STEPS, forced=forced):
        assert_close(logits(drafter, step.normed), recording[f"logits.{step.depth}"], **CLOSE)
        steps += 1
    assert steps == STEPS
