"""The reference drafter against the models that SpecForge 0.2 and AngelSlim 0.5 train: their logits at every step.

The recordings are made by fixtures/producers/specforge_0_2.py and angelslim_0_5.py. Both trainers feed the text's own
tokens on, not the drafted ones, and pad with token 0. A recording without a folder beside it is of the fixture of that
name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.testing import assert_close

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import Read, read
from eaglekit.drafter import Feedback, Part
from eaglekit.reference.drafting import draft_everywhere, logits
from eaglekit.reference.loading import load
from tests.plan.converting import converted

FIXTURES = Path(__file__).parents[2] / "fixtures"
CHECKPOINTS = FIXTURES / "checkpoints"
TARGET = CHECKPOINTS / "target-llama"
RECORDED = {
    file.stem: file
    for trainer in ("specforge-0.2", "angelslim-0.5")
    for file in sorted((FIXTURES / "recordings" / trainer).glob("*.safetensors"))
}
STEPS = 4
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
"""Two float32 programs sum some hundred products in other orders; logits reach 4."""

IGNORED_BASE = {"rope_theta": 10000.0}
SAID: Mapping[str, Mapping[str, Any]] = {
    "producer-specforge-0.2-sglang-eagle3.1": {"feedback": Feedback.RAW},
    "producer-specforge-0.2-peagle": {"mask_token_id": 7},
    "producer-angelslim-0.5-llama": IGNORED_BASE,
    "angelslim-linear": IGNORED_BASE,
}
"""Recording -> what its file leaves open, or says otherwise than its trainer computes. Each has a finding that asks."""
ORDINARY = sorted(RECORDED.keys() - {"specforge-unnormed-head"})


def reading(name: str, **facts: Any) -> Read:
    """The reading of a recorded drafter with what is said of it."""
    beside = RECORDED[name].with_suffix("")
    folder = beside if beside.is_dir() else CHECKPOINTS / name
    return read(open_folder(folder), Given(aux_layers=(2, 4, 5), facts=facts))


def logits_of(outcome: Read, recording: Mapping[str, Tensor]) -> list[Tensor]:
    """The reference's logits over the steps of a recording."""
    source = outcome.drafter_or_refuse()
    shared = {} if source.spec.own_embedding else {Part.EMBEDDING: target_embedding()}
    drafter = load(source, outcome.checkpoint, shared=shared)
    tokens, states = recording["tokens"], recording["states"]
    padded = torch.cat([tokens, tokens.new_zeros(STEPS)])
    forced = [padded[step : step + len(tokens)] for step in range(1, STEPS)]
    # Our slots hold the token behind each state; theirs are given as pairs already, so a first token stands in front.
    text, beside = torch.cat([tokens[:1], tokens]), torch.cat([states, states[:1]])
    steps = draft_everywhere(drafter, text, beside, steps=STEPS, forced=forced)
    return [logits(drafter, step.normed) for step in steps]


def target_embedding() -> Tensor:
    """What an exported drafter without an embedding shares with its target."""
    return load_file(TARGET / "model-00002-of-00002.safetensors")["model.embed_tokens.weight"].float()


def assert_recorded(outcome: Read, recording: Mapping[str, Tensor]) -> None:
    """Every step of the reference gives the logits that were recorded."""
    ours = logits_of(outcome, recording)
    assert len(ours) == STEPS
    for step, mine in enumerate(ours, start=1):
        theirs = recording[f"logits.{step}"]
        # P-EAGLE's last depths end before the text does.
        assert_close(mine[: len(theirs)], theirs, **CLOSE)


@pytest.mark.parametrize("name", ORDINARY)
def test_logits_are_those_of_the_trainer_s_own_model(name: str) -> None:
    assert_recorded(reading(name, **SAID.get(name, {})), load_file(RECORDED[name]))


EVERY = ("portable", "vllm", "sglang", "trtllm", "tokenspeed", "speculators", "torchspec", "specforge", "modelopt")
HELD: Mapping[str, Sequence[str]] = {
    "producer-specforge-0.2-hf": EVERY,
    "producer-specforge-0.2-sglang-eagle3.1": EVERY[:-1],
    "producer-specforge-0.2-peagle": ("vllm", "speculators"),
    "producer-angelslim-0.5-llama": EVERY,
    "producer-angelslim-0.5-vl": EVERY[:-1],
}
"""Fixture -> the layouts that can hold it: Model-Optimizer's has no fc_norm, and no embedding but the target's own."""


@pytest.mark.parametrize(
    ("name", "layout"),
    [pytest.param(name, layout, id=f"{name}-{layout}") for name, layouts in HELD.items() for layout in layouts],
)
def test_a_converted_folder_still_gives_the_trainer_s_logits(name: str, layout: str, tmp_path: Path) -> None:
    told = {"target_name": "example/target", "speculative_tokens": 3} if layout == "speculators" else {}
    folder = converted(
        CHECKPOINTS / name,
        tmp_path / "out",
        given=Given(aux_layers=(2, 4, 5), facts={**SAID.get(name, {}), **told}),
        target=None if name.endswith("-vl") else TARGET,
        to=layout,
        embedding="keep",
    )
    assert_recorded(read(open_folder(folder)), load_file(RECORDED[name]))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("producer-specforge-0.2-sglang-eagle3.1", "fault-specforge-norm-output"),
        ("producer-angelslim-0.5-llama", "fault-rope-theta-ignored"),
        ("angelslim-linear", "fault-rope-theta-ignored"),
        ("specforge-unnormed-head", "fault-specforge-unnormed-head"),
    ],
)
def test_a_file_that_says_otherwise_than_its_trainer_computes_has_a_finding(name: str, code: str) -> None:
    recording, said = load_file(RECORDED[name]), SAID.get(name, {})
    believed = {"feedback": Feedback.NORMED} if "feedback" in said else {}
    as_stated = logits_of(reading(name, **believed), recording)
    assert not torch.allclose(as_stated[-1], recording[f"logits.{STEPS}"], atol=0.1)
    assert code in {finding.code for finding in reading(name).findings}


@pytest.mark.parametrize("name", ["producer-angelslim-0.5-vl", "angelslim-stated-layers"])
def test_a_base_that_angelslim_uses_is_not_doubted(name: str) -> None:
    assert "fault-rope-theta-ignored" not in {finding.code for finding in reading(name).findings}


def test_the_layers_of_an_angelslim_run_are_read_as_layer_outputs() -> None:
    spec = read(open_folder(RECORDED["angelslim-stated-layers"].with_suffix(""))).drafter_or_refuse().spec
    assert spec.aux_layers == (1, 4, 6)
