"""Attacks on running a target: what its weights and its config hold refuses or is told, and never becomes a number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from eaglekit.report import Finding, Refusal
from eaglekit.target.settings import Settings
from eaglekit.target.streaming import run
from tests.target.models import codes, edit_config, edit_weights, fixture, make, opened, text

Tensors = dict[str, torch.Tensor]
TEXT = text(9, prompt=3)


def refused(folder: Path) -> tuple[Finding, ...]:
    """What opening or running the target in `folder` is refused with."""
    with pytest.raises(Refusal) as caught:
        run(opened(folder), [TEXT], boundaries=(1,), settings=Settings())
    return caught.value.findings


def filled(name: str, value: float) -> Callable[[Tensors], object]:
    """Fills one tensor with one number."""
    return lambda tensors: tensors[name].view(tensors[name].dtype).fill_(value)


@pytest.mark.parametrize(
    "name",
    [
        # On the CPU torch's attention makes zeros of these: every state behind it would be finite.
        pytest.param("model.layers.1.self_attn.q_proj.weight", id="queries"),
        pytest.param("model.layers.1.self_attn.k_proj.weight", id="keys"),
        pytest.param("model.layers.0.mlp.up_proj.weight", id="a projection"),
        pytest.param("model.norm.weight", id="the final norm"),
        # No number is greater than NaN, so that the most likely token would be the first.
        pytest.param("lm_head.weight", id="the head"),
    ],
)
def test_weights_that_are_not_finite_are_refused_by_name(name: str, tmp_path: Path) -> None:
    make(tmp_path)
    edit_weights(tmp_path, filled(name, torch.nan))
    (finding,) = refused(tmp_path)
    assert (finding.code, finding.place) == ("target-weight-not-finite", name)


def test_fp8_weights_that_are_nan_are_refused(tmp_path: Path) -> None:
    name = "model.layers.0.self_attn.q_proj.weight"
    fixture("modelopt-llama-fp8", tmp_path)
    edit_weights(tmp_path, lambda tensors: tensors[name].view(torch.uint8)[0].fill_(0x7F))
    assert codes(refused(tmp_path)) == {"target-weight-not-finite"}


def test_a_row_of_the_embedding_that_no_text_has_is_not_looked_at(tmp_path: Path) -> None:
    make(tmp_path)
    unused = next(token for token in range(160) if token not in TEXT.tokens)
    edit_weights(tmp_path, lambda tensors: tensors["model.embed_tokens.weight"][unused].fill_(torch.nan))
    assert len(run(opened(tmp_path), [TEXT], boundaries=(1,)).texts) == 1


@pytest.mark.parametrize(
    ("value", "part", "code"),
    [
        (0.0, "weight_scale_2", "quantisation-second-scale-suspicious"),
        (8000.0, "weight_scale_2", "quantisation-second-scale-suspicious"),
        (0.0, "weight_scale", "quantisation-scales-zero"),
    ],
    ids=["a second scale of zero", "its reciprocal", "block scales of zero"],
)
def test_scales_that_look_wrong_are_told_with_what_was_captured(
    value: float, part: str, code: str, tmp_path: Path
) -> None:
    fixture("modelopt-llama-nvfp4", tmp_path)

    def change(tensors: Tensors) -> None:
        for layer in (0, 1):
            stored = tensors[f"model.layers.{layer}.mlp.up_proj.{part}"]
            stored.copy_(torch.full_like(stored, value, dtype=torch.float32))

    edit_weights(tmp_path, change)
    (finding,) = run(opened(tmp_path), [TEXT], boundaries=(1,)).findings
    assert (finding.code, finding.place) == (code, f"model.layers.0.mlp.up_proj.{part}")
    assert "1 more are like it, up to model.layers.1.mlp.up_proj" in finding.message


def test_a_second_scale_that_makes_weights_infinite_is_refused(tmp_path: Path) -> None:
    fixture("modelopt-llama-nvfp4", tmp_path)
    edit_weights(tmp_path, filled("model.layers.0.mlp.up_proj.weight_scale_2", 1e37))
    assert codes(refused(tmp_path)) == {"quantisation-scale-invalid"}


@pytest.mark.parametrize("key", ["n_group", "topk_group", "num_experts_per_tok"])
def test_a_router_that_cannot_choose_is_a_config_that_cannot_be(key: str, tmp_path: Path) -> None:
    fixture("modelopt-deepseek-v3-nvfp4-experts", tmp_path)
    edit_config(tmp_path, **{key: 5000})
    assert codes(refused(tmp_path)) == {"target-config-refused"}


def test_a_way_to_choose_experts_that_transformers_has_not_is_refused(tmp_path: Path) -> None:
    fixture("modelopt-deepseek-v3-nvfp4-experts", tmp_path)
    edit_config(tmp_path, scoring_func="softmax")
    (finding,) = refused(tmp_path)
    assert (finding.code, finding.got) == ("target-config-refused", "softmax")


def test_what_is_wrong_in_every_expert_of_every_block_is_said_once(tmp_path: Path) -> None:
    fixture("modelopt-deepseek-v3-nvfp4-experts", tmp_path)
    edit_config(tmp_path, n_routed_experts=4000, n_group=1)
    found = [finding for finding in refused(tmp_path) if finding.code == "target-tensor-absent"]
    assert len(found) == 3
    assert "7983 more are like it, up to layers.2.mlp.experts.3999." in found[0].message
