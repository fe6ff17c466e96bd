"""Rotary embeddings against transformers' own numbers, for every scaling kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from transformers import DeepseekV3Config, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from eaglekit.drafter import Rope, Rotation, Spec
from eaglekit.reference.attention import softmax_scale
from eaglekit.reference.frequencies import KINDS
from eaglekit.reference.rope import Angles, rope_of, served_length
from tests.reference.drafters import GROUPED, LATENT

HEAD, TABLE = 32, 4096
LENGTH = {"original_max_position_embeddings": 512}
SHORT, LONG = [1.0 + pair / 16 for pair in range(HEAD // 2)], [2.0 + pair / 2 for pair in range(HEAD // 2)]
CASES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "default": ("default", {}),
    "linear": ("linear", {"factor": 8.0}),
    "dynamic": ("dynamic", {"factor": 4.0}),
    "yarn": ("yarn", {"factor": 8.0, **LENGTH}),
    "yarn as gpt-oss has it": (
        "yarn", {"factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False, **LENGTH}
    ),
    "yarn with other betas": ("yarn", {"factor": 8.0, "beta_fast": 16.0, "beta_slow": 2.0, **LENGTH}),
    "yarn with its attention factor": ("yarn", {"factor": 8.0, "attention_factor": 1.2, **LENGTH}),
    "yarn with both mscales": ("yarn", {"factor": 8.0, "mscale": 0.7, "mscale_all_dim": 1.0, **LENGTH}),
    "yarn that shrinks": ("yarn", {"factor": 0.5, **LENGTH}),
    "llama3": ("llama3", {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **LENGTH}),
    "longrope": ("longrope", {"short_factor": SHORT, "long_factor": LONG, **LENGTH}),
    "longrope with factor": ("longrope", {"short_factor": SHORT, "long_factor": LONG, "factor": 4.0, **LENGTH}),
    "longrope with attention factor": (
        "longrope", {"short_factor": SHORT, "long_factor": LONG, "attention_factor": 1.3, **LENGTH}
    ),
}  # fmt: skip


def drafter_with(kind: str, numbers: Mapping[str, Any], theta: float = 50000.0) -> Spec:
    return replace(GROUPED, head_dim=HEAD, max_position_embeddings=TABLE, rope=Rope(theta, kind, numbers))


def theirs(kind: str, numbers: Mapping[str, Any], length: int) -> tuple[torch.Tensor, float]:
    config = LlamaConfig(
        hidden_size=4 * HEAD, num_attention_heads=4, head_dim=HEAD, max_position_embeddings=TABLE,
        rope_parameters={"rope_type": kind, "rope_theta": 50000.0, **numbers},
    )  # fmt: skip
    if kind == "default":
        return LlamaRotaryEmbedding.compute_default_rope_parameters(config)
    return ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=length)


def test_the_cases_cover_every_kind() -> None:
    assert {kind for kind, _ in CASES.values()} == set(KINDS)


@pytest.mark.parametrize("length", [256, 4096, 10000], ids=["short", "as long as the table", "longer than the table"])
@pytest.mark.parametrize("name", CASES)
def test_frequencies_and_scale_are_those_of_transformers(name: str, length: int) -> None:
    kind, numbers = CASES[name]
    rope = rope_of(drafter_with(kind, numbers), context_length=length)
    frequencies, scale = theirs(kind, numbers, length)
    assert rope.scale == pytest.approx(scale, rel=1e-12)
    # The same formula in float32: powers and divisions in another order round apart by a few of 2^-24.
    assert_close(rope.frequencies, frequencies, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize(
    ("which", "length"), [pytest.param("short", 512, id="short"), pytest.param("long", 513, id="long")]
)
def test_longrope_scales_by_the_mscale_of_the_list_it_uses(which: str, length: int) -> None:
    numbers = {"short_factor": SHORT, "long_factor": LONG, "short_mscale": 1.1, "long_mscale": 1.4, **LENGTH}
    rope = rope_of(drafter_with("longrope", numbers), context_length=length)
    assert rope.scale == {"short": 1.1, "long": 1.4}[which]


def test_llama3_with_one_wavelength_is_a_step() -> None:
    numbers = {"factor": 8.0, "low_freq_factor": 2.0, "high_freq_factor": 2.0, **LENGTH}
    plain = rope_of(drafter_with("default", {}), context_length=TABLE).frequencies
    ratio = rope_of(drafter_with("llama3", numbers), context_length=TABLE).frequencies / plain
    assert sorted(set(ratio.tolist())) == [0.125, 1.0]


def test_halves_are_turned_as_transformers_turns_them() -> None:
    channels = torch.randn(5, 3, HEAD)
    angles = rope_of(drafter_with("default", {}), context_length=TABLE).at(torch.arange(7, 12))
    cosine, sine = (torch.cat([table, table], dim=-1).unsqueeze(0) for table in (angles.cosine, angles.sine))
    by_head = channels.transpose(0, 1).unsqueeze(0)
    expected, _ = apply_rotary_pos_emb(by_head, by_head, cosine, sine)
    assert_close(angles.turn(channels), expected[0].transpose(0, 1), rtol=1e-6, atol=1e-6)


def test_interleaved_pairs_are_complex_numbers_turned_by_their_angle() -> None:
    channels, turns = torch.randn(5, 3, 8, dtype=torch.float64), torch.rand(5, 4, dtype=torch.float64)
    angles = Angles(turns.cos(), turns.sin(), Rotation.INTERLEAVED)
    rotated = torch.view_as_complex(channels.view(5, 3, 4, 2)) * torch.polar(torch.ones_like(turns), turns)[:, None]
    assert_close(angles.turn(channels), torch.view_as_real(rotated).flatten(-2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param({"factor": 64.0, "mscale": 1.0, "mscale_all_dim": 1.0, **LENGTH}, id="both mscales are one"),
        pytest.param({"factor": 40.0, "mscale": 0.707, "mscale_all_dim": 0.5, **LENGTH}, id="mscales differ"),
        pytest.param({"factor": 8.0, **LENGTH}, id="no mscale"),
        pytest.param({"factor": 8.0, "mscale": 1.0, "mscale_all_dim": 0, **LENGTH}, id="mscale_all_dim is zero"),
    ],
)
def test_mla_scales_products_and_angles_as_deepseek_does(numbers: Mapping[str, Any]) -> None:
    spec = replace(LATENT, rope=Rope(50000.0, "yarn", numbers), max_position_embeddings=TABLE)
    config = DeepseekV3Config(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=4, q_lora_rank=7, kv_lora_rank=5,
        qk_nope_head_dim=spec.qk_nope_head_dim, qk_rope_head_dim=spec.qk_rope_head_dim, v_head_dim=3,
        max_position_embeddings=TABLE, rope_parameters={"rope_type": "yarn", "rope_theta": 50000.0, **numbers},
    )  # fmt: skip
    frequencies, scale = ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"))
    rope = rope_of(spec, context_length=TABLE)
    assert softmax_scale(spec) == pytest.approx(DeepseekV3Attention(config, 0).scaling, rel=1e-12)
    assert rope.scale == pytest.approx(scale, rel=1e-12)
    assert_close(rope.frequencies, frequencies, rtol=1e-6, atol=0.0)


def test_mla_products_are_not_corrected_where_the_file_says_so() -> None:
    numbers = {"factor": 8.0, "mscale_all_dim": 1.0, "attention_factor": 1.0, **LENGTH}
    assert softmax_scale(replace(LATENT, rope=Rope(50000.0, "yarn", numbers))) == pytest.approx(9**-0.5)


@pytest.mark.parametrize(
    ("table", "text", "length"),
    [
        pytest.param(64, 10, 64, id="the table, for a short text"),
        pytest.param(64, 100, 100, id="the text, when it is longer"),
        pytest.param(None, 100, 100, id="the text, when no table is stated"),
    ],
)
def test_a_rope_is_laid_out_for(table: int | None, text: int, length: int) -> None:
    assert served_length(replace(GROUPED, max_position_embeddings=table), text) == length
