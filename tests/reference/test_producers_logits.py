"""The reference drafter against the models of NeMo Automodel and TorchSpec: their logits over four draft steps.

The recordings are made by fixtures/producers/nemo_automodel_0_7.py and torchspec_0_1.py from the drafters of the same
names in fixtures/checkpoints. Both trainers feed the text's own tokens on and pad with token 0.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.reference.drafting import draft_everywhere, logits
from eaglekit.reference.loading import load

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDINGS = sorted(
    path
    for folder in ("nemo-0.7", "torchspec-0.1")
    for path in (FIXTURES / "recordings" / folder).glob("*.safetensors")
)
OLD_BASE = "producer-torchspec-2026-04-kimi-mla"
"""TorchSpec of that time ignored its rope_theta of 50000 and trained at base 10000."""
STEPS = 4
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
"""Two float32 programs sum some hundred products in other orders; logits reach 5. The largest gap seen is 1.8e-6."""


def ours(checkpoint: Checkpoint, given: Given, recording: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """The reference's logits at every draft step of what was recorded."""
    drafter = load(read(checkpoint, given).drafter_or_refuse(), checkpoint)
    tokens, states = recording["tokens"], recording["states"]
    padded = torch.cat([tokens, tokens.new_zeros(STEPS)])
    forced = [padded[step : step + len(tokens)] for step in range(1, STEPS)]
    # Our slots hold the token behind each state; theirs are given as pairs already, so a first token stands in front.
    text, beside = torch.cat([tokens[:1], tokens]), torch.cat([states, states[:1]])
    return [
        logits(drafter, step.normed) for step in draft_everywhere(drafter, text, beside, steps=STEPS, forced=forced)
    ]


def said(name: str) -> Given:
    """What must be said of a drafter: layers where the file has none, and the base that TorchSpec ignored."""
    return Given(aux_layers=(2, 4, 5), facts={"rope_theta": 10000.0} if name == OLD_BASE else {})


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
def test_logits_are_those_of_the_producer_s_own_model(file: Path) -> None:
    recording = load_file(file)
    steps = ours(open_folder(FIXTURES / "checkpoints" / file.stem), said(file.stem), recording)
    assert len(steps) == STEPS
    for depth, step in enumerate(steps, start=1):
        assert_close(step, recording[f"logits.{depth}"], **CLOSE)


def test_a_recording_tells_the_base_that_was_trained_from_the_one_that_is_stated() -> None:
    [file] = [file for file in RECORDINGS if file.stem == OLD_BASE]
    recording = load_file(file)
    [first, *_] = ours(open_folder(FIXTURES / "checkpoints" / OLD_BASE), Given(), recording)
    assert float((first - recording["logits.1"]).abs().max()) > 0.1


def test_exports_for_another_reader_hold_the_same_tensors() -> None:
    """So that one recording speaks for both."""
    checkpoints = FIXTURES / "checkpoints"
    for exported in ("nemo-0.7-llama", "torchspec-2026-04-llama", OLD_BASE.removeprefix("producer-"),
                     "torchspec-2026-08-kimi-mla-eagle3.1"):  # fmt: skip
        one, two = (next((checkpoints / f"producer-{exported}{end}").glob("*.safetensors")) for end in ("", "-vllm"))
        first, second = load_file(one), load_file(two)
        names = {name.removeprefix("model.").replace("midlayer.", "layers.0."): name for name in first}
        assert names.keys() == second.keys()
        assert all(torch.equal(first[old], second[new]) for new, old in names.items())
