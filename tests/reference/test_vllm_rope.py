"""Rotary tables against vLLM 0.32's own, recorded by fixtures/producers/vllm_rope.py."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch.testing import assert_close

from eaglekit.drafter import Rope
from eaglekit.reference.rope import rope_of
from tests.reference.drafters import GROUPED, LATENT

with safe_open(
    Path(__file__).parents[2] / "fixtures" / "recordings" / "vllm-0.32-rope" / "tables.safetensors", "pt"
) as file:
    NOTE = json.loads(file.metadata()["note"])
    TABLES = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping


@pytest.mark.parametrize("name", sorted(TABLES))
def test_cosines_and_sines_are_those_of_vllm(name: str) -> None:
    numbers = dict(NOTE["cases"][name])
    kind, theta, channels = numbers.pop("rope_type"), numbers.pop("rope_theta"), NOTE["channels"]
    latent = kind == "deepseek_yarn"
    spec = replace(LATENT, qk_rope_head_dim=channels) if latent else replace(GROUPED, head_dim=channels)
    length = NOTE["max_position_embeddings"]
    spec = replace(spec, max_position_embeddings=length, rope=Rope(theta, "yarn" if latent else kind, numbers))
    angles = rope_of(spec, context_length=length).at(torch.tensor(NOTE["positions"]))
    # An angle of 2047 radians in float32 is known to 1.2e-4 when its frequency is rounded once more.
    assert_close(torch.cat([angles.cosine, angles.sine], dim=-1), TABLES[name], rtol=0.0, atol=5e-4)
