"""What Automodel and TorchSpec wrote, converted and served: vLLM loads it by the recipe and drafts as was trained.

That the reference computes what the producers' own models compute is held by tests/reference/test_producers_logits.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglekit.dialects.given import Given
from eaglekit.report import Refusal
from tests.live.conftest import Folder, Serve, speculative_config
from tests.live.drafting import drafts_of, engine_drafts, reference
from tests.live.material import write
from tests.live.producers import CHECKPOINTS, served_size, target_of
from tests.live.serving import PROMPTS as ALL_PROMPTS
from tests.live.serving import STEPS, Job
from tests.live.test_conversions import recipe_of
from tests.plan.converting import converted

pytestmark = pytest.mark.engine

GROUPED = {
    "nemo-0.7-llama": "portable", "nemo-0.7-llama-vllm": "portable", "nemo-0.7-qwen3-eagle3.1": "portable",
    "nemo-0.7-peagle": "vllm", "nemo-0.7-gpt-oss": "vllm", "torchspec-2026-04-llama": "portable",
    "torchspec-2026-04-llama-vllm": "portable", "torchspec-2026-08-llama-eagle3.1": "portable",
}  # fmt: skip
"""Drafter -> layout: vllm where SGLang could not serve it, and eaglekit therefore writes no portable folder."""
LATENT = (
    "nemo-0.7-deepseek-eagle3.1", "nemo-0.7-deepseek-yarn", "torchspec-2026-04-kimi-mla",
    "torchspec-2026-08-kimi-mla-eagle3.1", "torchspec-2026-08-kimi-mla-eagle3.1-vllm",
    "torchspec-2026-08-qwen3-mla-eagle3.1",
)  # fmt: skip
LAYERS = (2, 4, 5)
PROMPTS = tuple(tuple(token % 150 for token in prompt) for prompt in ALL_PROMPTS)
"""Within the smallest vocabulary here."""


@pytest.fixture
def beside(tmp_path: Path) -> Any:
    """Writes the target of a drafter of grouped attention."""

    def written(name: str) -> Path:
        write(target_of(name), tmp_path / "target")
        return tmp_path / "target"

    return written


def said(name: str) -> Given:
    """What must be said of a file: Automodel writes no layer ids."""
    return Given(aux_layers=LAYERS if name.startswith("nemo") else None)


def held(folder: Path, target: Path, engine: Serve, **job: Any) -> None:
    """Serves a folder by its recipe and compares every draft."""
    served = engine(Job(target, speculative_config(recipe_of(folder, target).text), **job))
    assert served, served.error
    assert served.boundaries == LAYERS
    assert engine_drafts(served) == drafts_of(reference(folder, target), served)


@pytest.mark.parametrize("name", GROUPED)
def test_a_producer_s_drafter_drafts_in_vllm_as_it_was_trained(
    name: str, beside: Any, tmp_path: Path, engine: Serve
) -> None:
    source, target = CHECKPOINTS / f"producer-{name}", beside(f"producer-{name}")
    # A Llama stands in for the gpt-oss target, which would have to be quantised: conversion must not look at it.
    looked_at = None if "gpt-oss" in name else target
    if GROUPED[name] != "portable":
        with pytest.raises(Refusal):
            converted(source, tmp_path / "refused", given=said(name), target=looked_at)
    folder = converted(source, tmp_path / "drafter", given=said(name), target=looked_at, to=GROUPED[name])
    held(folder, target, engine, prompts=PROMPTS)


@pytest.mark.parametrize("name", LATENT)
def test_a_producer_s_latent_drafter_drafts_in_vllm_as_it_was_trained(
    name: str, target_folder: Folder, tmp_path: Path, engine: Serve
) -> None:
    write(served_size(f"producer-{name}"), tmp_path / "source")
    target = target_folder("deepseek")
    folder = converted(
        tmp_path / "source", tmp_path / "drafter", given=said(name), target=target, to="portable", embedding="keep"
    )
    held(folder, target, engine, mla=True)


def test_automodel_s_own_export_for_vllm_leaves_seven_of_eight_layers_unread(
    beside: Any, tmp_path: Path, engine: Serve
) -> None:
    # Its num_hidden_layers is the target's; vLLM builds that many and reads the one that is stored.
    name = "producer-nemo-0.7-llama-vllm"
    told = {"model": str(CHECKPOINTS / name), "method": "eagle3", "num_speculative_tokens": STEPS}
    served = engine(Job(beside(name), told, prompts=PROMPTS))
    assert served, served.error
    unread = {parameter.split(".self_attn")[0] for parameter in served.untouched if ".self_attn" in parameter}
    assert len(unread) == 7


def test_vllm_reads_torchspec_s_own_ids_one_block_early(beside: Any, engine: Serve) -> None:
    name = "producer-torchspec-2026-08-llama-eagle3.1"
    told = {"model": str(CHECKPOINTS / name), "method": "eagle3", "num_speculative_tokens": STEPS}
    served = engine(Job(beside(name), told, prompts=PROMPTS))
    assert served, served.error
    assert served.boundaries == (1, 3, 4)
