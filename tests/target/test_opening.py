"""Opening a target: every tensor has its place, is left behind for a reason, or is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers

from eaglekit.checkpoint import LocalFolder
from eaglekit.report import Finding, Refusal
from eaglekit.target.model import open_model
from eaglekit.target.streaming import run
from tests.target.models import SIZES, codes, edit_config, edit_weights, make, opened, renamed, text

Tensors = dict[str, torch.Tensor]


def refused(folder: Path) -> tuple[Finding, ...]:
    """The findings of a target that must not open."""
    with pytest.raises(Refusal) as caught:
        opened(folder)
    return caught.value.findings


BROKEN: dict[str, tuple[str, Callable[[Tensors], object], set[str]]] = {
    "a missing weight": (
        "llama", lambda t: t.pop("model.layers.1.mlp.up_proj.weight"), {"target-tensor-absent"},
    ),
    "a missing norm of a block": (
        "qwen3", lambda t: t.pop("model.layers.0.self_attn.q_norm.weight"), {"target-tensor-absent"},
    ),
    "a missing bias": (
        "qwen2 with biases", lambda t: t.pop("model.layers.0.self_attn.k_proj.bias"), {"target-tensor-absent"},
    ),
    "a missing final norm": ("llama", lambda t: t.pop("model.norm.weight"), {"target-tensor-absent"}),
    "a missing embedding": ("llama", lambda t: t.pop("model.embed_tokens.weight"), {"target-tensor-absent"}),
    "a missing head": ("llama", lambda t: t.pop("lm_head.weight"), {"target-tensor-absent"}),
    "a missing matrix of one expert": (
        "qwen3-moe", lambda t: t.pop("model.layers.2.mlp.experts.7.down_proj.weight"), {"target-tensor-absent"},
    ),
    "a missing router bias": (
        "deepseek-v3", lambda t: t.pop("model.layers.1.mlp.gate.e_score_correction_bias"), {"target-tensor-absent"},
    ),
    "a bias that the block has no place for": (
        "llama",
        lambda t: t.update({"model.layers.0.self_attn.q_proj.bias": torch.zeros(64)}),
        {"target-tensor-unknown"},
    ),
    "a module that the block does not have": (
        "llama", lambda t: t.update({"model.layers.0.adapter.weight": torch.zeros(2, 2)}), {"target-tensor-unknown"},
    ),
    "a bias of an expert": (
        "qwen3-moe",
        lambda t: t.update({"model.layers.0.mlp.experts.0.up_proj.bias": torch.zeros(32)}),
        {"target-tensor-unknown"},
    ),
    "an expert too many": (
        "qwen3-moe",
        lambda t: t.update({"model.layers.0.mlp.experts.8.up_proj.weight": torch.zeros(32, 64)}),
        {"target-tensor-unknown"},
    ),
    "a tensor outside of the blocks": (
        "llama", lambda t: t.update({"model.prompt_embedding.weight": torch.zeros(2, 2)}), {"target-tensor-unknown"},
    ),
    "a shape that is not the config's": (
        "llama",
        lambda t: t.update({"model.layers.0.mlp.up_proj.weight": torch.zeros(95, 64)}),
        {"target-tensor-shape"},
    ),
    "a head of another vocabulary": (
        "llama", lambda t: t.update({"lm_head.weight": torch.zeros(161, 64)}), {"target-tensor-shape"},
    ),
    "one tensor under two prefixes": (
        "llama",
        lambda t: t.update({"language_model.model.norm.weight": torch.ones(64)}),
        {"target-tensor-twice"},
    ),
    "a whole block missing": (
        "llama",
        lambda t: [t.pop(name) for name in list(t) if ".layers.1." in name],
        {"target-block-absent"},
    ),
    "integers where floats belong": (
        "llama",
        lambda t: t.update({"model.layers.0.mlp.up_proj.weight": torch.zeros(96, 64, dtype=torch.int64)}),
        {"quantisation-unknown"},
    ),
    "an FP8 weight without its scale": (
        "llama",
        lambda t: t.update({"model.layers.0.mlp.up_proj.weight": torch.zeros(96, 64).to(torch.float8_e4m3fn)}),
        {"quantisation-part-missing"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_target_is_refused(name: str, tmp_path: Path) -> None:
    family, change, expected = BROKEN[name]
    make(tmp_path, family)
    edit_weights(tmp_path, change)
    assert codes(refused(tmp_path)) == expected


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    make(tmp_path)

    def change(tensors: Tensors) -> None:
        del tensors["model.layers.0.mlp.up_proj.weight"], tensors["model.layers.2.input_layernorm.weight"]
        tensors["model.layers.1.extra.weight"] = torch.zeros(2, 2)

    edit_weights(tmp_path, change)
    assert [finding.place for finding in refused(tmp_path)] == [
        "layers.0.mlp.up_proj.weight",
        "model.layers.1.extra.weight",
        "layers.2.input_layernorm.weight",
    ]


LEFT = {
    "a rotary table of an old export": "model.layers.0.self_attn.rotary_emb.inv_freq",
    "a vision tower": "vision_tower.blocks.0.attn.weight",
    "a projector": "mm_projector.linear_1.bias",
    "a block that predicts further tokens": "model.layers.3.eh_proj.weight",
    "a multi-token predictor": "mtp.layers.0.self_attn.q_proj.weight",
    "a cache scale": "model.layers.0.self_attn.k_proj.k_scale",
    "a cache scale of the block": "model.layers.0.self_attn.v_scale",
}


@pytest.mark.parametrize("kind", LEFT)
def test_what_a_text_pass_does_not_need_is_left_behind_with_a_reason(kind: str, tmp_path: Path) -> None:
    make(tmp_path)
    before = run(opened(tmp_path), [text(9)], boundaries=[]).texts[0].final
    edit_weights(tmp_path, lambda tensors: tensors.update({LEFT[kind]: torch.ones(1)}))
    model = opened(tmp_path)
    left = {**model.left}
    for block in model.blocks:
        left |= block.left or {}
    if kind != "a cache scale":
        assert list(left) == [LEFT[kind]]
        assert left[LEFT[kind]]
    assert torch.equal(run(model, [text(9)], boundaries=[]).texts[0].final, before)


PREFIXES: dict[str, Callable[[str], str]] = {
    "hub layout of Kimi": lambda name: f"language_model.{name}",
    "layout of nvidia/Kimi-K2.5-NVFP4": lambda name: "language_model." + name.removeprefix("model."),
    "layout of a ModelOpt export": lambda name: (
        name.replace("model.", "model.language_model.", 1) if name.startswith("model.") else name
    ),
    "no prefix": lambda name: name.removeprefix("model."),
}


@pytest.mark.parametrize("layout", PREFIXES)
def test_every_prefix_is_read_as_the_same_model(layout: str, tmp_path: Path) -> None:
    make(tmp_path, "deepseek-v3")
    before = run(opened(tmp_path), [text(9)], boundaries=[1]).texts[0]
    renamed(tmp_path, PREFIXES[layout])
    after = run(opened(tmp_path), [text(9)], boundaries=[1]).texts[0]
    assert torch.equal(before.final, after.final)


def test_kimi_is_built_as_deepseek_v3_from_its_text_config(tmp_path: Path) -> None:
    make(tmp_path, "deepseek-v3")
    before = run(opened(tmp_path), [text(9)], boundaries=[1]).texts[0]
    config = json.loads((tmp_path / "config.json").read_text())
    inner = {**config, "model_type": "kimi_k2", "quantization_config": {"quant_method": "compressed-tensors"}}
    outer = {"model_type": "kimi_k25", "architectures": ["KimiK25ForConditionalGeneration"], "text_config": inner}
    (tmp_path / "config.json").write_text(json.dumps({**outer, "auto_map": {"AutoConfig": "configuration.Evil"}}))
    renamed(tmp_path, lambda name: f"language_model.{name}")
    after = run(opened(tmp_path), [text(9)], boundaries=[1]).texts[0]
    assert opened(tmp_path).model_type == "kimi_k2"
    assert torch.equal(before.final, after.final)


def test_experts_fused_in_two_tensors_are_read_as_those_stored_one_by_one(tmp_path: Path) -> None:
    make(tmp_path, "qwen3-moe")
    before = run(opened(tmp_path), [text(9)], boundaries=[1]).texts[0]

    def fuse(tensors: Tensors) -> None:
        for layer in range(3):
            prefix = f"model.layers.{layer}.mlp.experts"
            parts = {
                part: torch.stack([tensors.pop(f"{prefix}.{expert}.{part}.weight") for expert in range(8)])
                for part in ("gate_proj", "up_proj", "down_proj")
            }
            tensors[f"{prefix}.gate_up_proj"] = torch.cat([parts["gate_proj"], parts["up_proj"]], dim=1)
            tensors[f"{prefix}.down_proj"] = parts["down_proj"]

    edit_weights(tmp_path, fuse)
    after = run(opened(tmp_path), [text(9)], boundaries=[1]).texts[0]
    # One product for gate and up together adds up in another order than two.
    torch.testing.assert_close(after.final, before.final, rtol=0, atol=2e-6)


def test_a_tied_head_that_differs_from_the_embedding_is_refused(tmp_path: Path) -> None:
    make(tmp_path)
    edit_config(tmp_path, tie_word_embeddings=True)
    assert codes(refused(tmp_path)) == {"target-head-differs"}


def test_a_tied_head_that_is_the_embedding_is_no_contradiction(tmp_path: Path) -> None:
    make(tmp_path, "llama, tied")
    edit_weights(tmp_path, lambda t: t.update({"lm_head.weight": t["model.embed_tokens.weight"].clone()}))
    model = opened(tmp_path)
    assert torch.equal(model.head("cpu", torch.float32), model.embedding("cpu", torch.float32))


def test_code_of_the_folder_is_never_run(tmp_path: Path) -> None:
    make(tmp_path)
    for name in ("configuration_evil.py", "modeling_evil.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    edit_config(
        tmp_path,
        auto_map={"AutoConfig": "configuration_evil.Evil", "AutoModelForCausalLM": "modeling_evil.Evil"},
        _attn_implementation="evil/kernel",
        attn_implementation="evil/kernel",
        experts_implementation="evil/kernel",
    )
    run(opened(tmp_path), [text(3)], boundaries=[1])
    assert not (tmp_path / "ran").exists()


def test_a_stale_quantisation_config_decides_nothing(tmp_path: Path) -> None:
    make(tmp_path)
    before = run(opened(tmp_path), [text(9)], boundaries=[]).texts[0].final
    edit_config(tmp_path, quantization_config={"quant_method": "compressed-tensors", "format": "pack-quantized"})
    assert torch.equal(run(opened(tmp_path), [text(9)], boundaries=[]).texts[0].final, before)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"model_type": "nonesuch"}, "target-family-unsupported", id="a family nobody knows"),
        pytest.param({"model_type": None}, "target-family-unsupported", id="no family"),
        pytest.param({"hidden_size": "64"}, "target-config-refused", id="a size as text"),
        pytest.param({"num_attention_heads": 0}, "target-config-refused", id="no heads"),
        pytest.param({"hidden_act": "nonesuch"}, "target-config-refused", id="an unknown activation"),
        pytest.param(
            {"rope_parameters": {"rope_type": "nonesuch", "rope_theta": 1e4}},
            "target-config-refused",
            id="unknown rope",
        ),
        pytest.param({"head_dim": 1 << 40}, "target-config-refused", id="a head wider than memory"),
        pytest.param({"head_dim": 1 << 24}, "target-family-unsupported", id="more rotary channels than a head has"),
        pytest.param({"num_hidden_layers": 1_000}, "target-block-absent", id="a thousand blocks"),
        pytest.param({"num_hidden_layers": 1_000_000}, "target-config-refused", id="a million blocks"),
        pytest.param({"num_labels": 1_000_000_000}, "target-config-refused", id="a billion labels"),
        pytest.param({"vision_config": {"num_experts": 1 << 30}}, "target-config-refused", id="a part in a part"),
        pytest.param({"hidden_size": 1 << 30}, "target-config-refused", id="states larger than memory"),
        pytest.param({"vocab_size": None}, "target-unreadable", id="no vocabulary"),
    ],
)
def test_a_config_that_cannot_be_is_refused(changes: dict[str, object], code: str, tmp_path: Path) -> None:
    make(tmp_path)
    edit_config(tmp_path, **changes)
    assert codes(refused(tmp_path)) == {code}


@pytest.mark.parametrize(
    ("family", "why"),
    [
        pytest.param(transformers.GemmaConfig, "embedding", id="a scaled embedding"),
        pytest.param(transformers.CohereConfig, "behind the head", id="scaled logits"),
        pytest.param(transformers.PhiConfig, "head", id="a head with a bias"),
        pytest.param(transformers.GPT2Config, "blocks", id="blocks under another name"),
        pytest.param(transformers.GptOssConfig, "experts", id="experts of another kind"),
    ],
)
def test_a_family_that_is_more_than_blocks_is_refused_by_name(
    family: type[transformers.PretrainedConfig], why: str, tmp_path: Path
) -> None:
    from eaglekit.target.skeleton import build

    config = family(**{**SIZES, "num_key_value_heads": 4})
    with pytest.raises(Refusal) as caught:
        build(config, "target")
    (finding,) = caught.value.findings
    assert finding.code == "target-family-unsupported"
    assert why in finding.message


def test_a_pickled_target_is_refused(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save({"model.norm.weight": torch.ones(64)}, tmp_path / "pytorch_model.bin")
    assert codes(refused(tmp_path)) == {"target-not-safetensors"}


def test_a_missing_shard_is_refused(tmp_path: Path) -> None:
    make(tmp_path, shard="60KB")
    sorted(tmp_path.glob("*.safetensors"))[1].unlink()
    assert "shard-missing" in codes(refused(tmp_path))


def test_a_copy_has_the_same_digest_and_another_config_has_not(tmp_path: Path) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b")
    digests = [open_model(LocalFolder(tmp_path / name)).digest for name in "ab"]
    edit_config(tmp_path / "b", rms_norm_eps=1e-5)
    assert digests[0] == digests[1] != opened(tmp_path / "b").digest
