"""ModelOpt 0.47's own EAGLE-3 module on what `--to modelopt` writes: every key fits, and what it drafts.

The recordings are made by fixtures/producers/modelopt_logits.py from folders converted as here. ModelOpt norms the
hidden state by the norm of the embedding before hidden_norm, which no engine does; where that norm is flat the two
agree.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.drafter import Part
from eaglekit.reference.drafting import draft_everywhere, logits
from eaglekit.reference.loading import load
from tests.plan.converting import converted

FIXTURES = Path(__file__).parents[2] / "fixtures"
TARGET = FIXTURES / "checkpoints" / "target-llama"
RECORDINGS = sorted((FIXTURES / "recordings" / "modelopt-0.47").glob("*.safetensors"))
EMBEDDING_NORM = "layers.0.input_layernorm.weight"
STEPS = 4
CLOSE = 2e-4
"""The second norm adds its epsilon once more; logits reach 5."""

each_recording = pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)


@cache
def embedding() -> Tensor:
    """The embedding that the drafters share with their target."""
    return load_file(TARGET / "model-00002-of-00002.safetensors")["model.embed_tokens.weight"].float()


@pytest.fixture
def folder(file: Path, tmp_path: Path) -> Path:
    """A fixture as `--to modelopt` writes it."""
    source = FIXTURES / "checkpoints" / file.stem
    return converted(source, tmp_path / "out", given=Given(aux_layers=(2, 4, 5)), target=TARGET, to="modelopt")


def gaps(folder: Path, recording: dict[str, Tensor], name: str) -> list[float]:
    """The largest difference of the reference's logits at every step."""
    checkpoint = open_folder(folder)
    drafter = load(read(checkpoint).drafter_or_refuse(), checkpoint, shared={Part.EMBEDDING: embedding()})
    states = torch.cat([recording["states"], recording["states"][:1]])
    found = []
    for step in draft_everywhere(drafter, recording["tokens"], states, steps=STEPS):
        found.append(float((logits(drafter, step.normed)[-1] - recording[f"{name}.{step.depth}"]).abs().max()))
    return found


@each_recording
def test_modelopt_finds_every_key_and_no_other(file: Path) -> None:
    with safe_open(file, "pt") as recording:
        report = json.loads(recording.metadata()["report"])
    assert (report["missing"], report["unexpected"]) == ([], [])


@each_recording
def test_modelopt_drafts_as_the_reference_where_the_norm_of_the_embedding_is_flat(file: Path, folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    flat = {EMBEDDING_NORM: torch.ones_like(tensors[EMBEDDING_NORM])}
    with safe_open(folder / "model.safetensors", "pt") as stored:
        save_file(tensors | flat, folder / "model.safetensors", stored.metadata())
    assert max(gaps(folder, load_file(file), "flat")) < CLOSE


@each_recording
def test_modelopt_norms_the_hidden_state_twice(file: Path, folder: Path) -> None:
    assert min(gaps(folder, load_file(file), "logits")) > 100 * CLOSE
