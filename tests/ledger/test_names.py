"""Names of tensors and classes, and files that are something else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cases.builders import Folder, bf16, d0, norm, quantized, random, serialized, stored_in
from tests.cases.running import BOUNDARY, convert, only, refused, run, target
from tests.cases.test_k03_what_is_this import eagle_1

CHECKPOINTS = Path(__file__).parents[2] / "fixtures" / "checkpoints"
QKV = ("q", "k", "v")
MLA_PARTS = ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "q_a_layernorm", "kv_a_layernorm", "o_proj")


def renamed(draft: Folder, changes: dict[str, str]) -> Folder:
    """The draft with the beginnings of its tensor names changed; the first that fits counts."""
    draft.tensors = {
        next((new + name.removeprefix(old) for old, new in changes.items() if name.startswith(old)), name): tensor
        for name, tensor in draft.tensors.items()
    }
    return draft


PRIVATE = {
    "midlayer.input_layernorm": "decoder.input_emb_layernorm",
    "midlayer.hidden_norm": "decoder.hidden_layernorm",
    "midlayer.": "decoder.",
    "fc.": "hidden_proj.",
}
"""Names of a trainer's own modules, as NeMo AutoModel saved them before #2235."""


@pytest.mark.parametrize("name", ["Qwen3ForCausalLM", "Qwen2ForCausalLM", "LlamaForCausalLM"])
def test_a_plain_class_becomes_the_one_that_sglang_drafts_with(tmp_path, name):
    draft = d0().config_with(architectures=[name], model_type=name.removesuffix("ForCausalLM").lower())
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", "sglang")
    assert written.config["architectures"] == ["LlamaForCausalLMEagle3"]


@pytest.mark.parametrize(
    "name", ["LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "Eagle3Speculator", "Eagle3DraftModel"]
)
def test_each_published_name_of_the_one_layout_is_read(tmp_path, name):
    draft = d0().config_with(architectures=[name])
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    assert written.config["architectures"] == ["LlamaForCausalLMEagle3"]


def test_names_of_a_trainer_s_own_modules_are_refused(tmp_path):
    draft = renamed(d0(), PRIVATE).config_with(architectures=["LlamaEagle3DraftModel"])
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    assert set(errors) & {"dialect-unknown", "tensor-unknown"}


def test_fused_projections_are_not_split_by_a_guess(tmp_path):
    draft = d0().without(*(f"midlayer.self_attn.{part}_proj.weight" for part in QKV))
    fused = draft.with_tensors({"midlayer.self_attn.qkv_proj.weight": random("qkv", 320, 128)})
    errors = refused(tmp_path, fused, *BOUNDARY, "--target", target(tmp_path))
    assert "qkv_proj" in errors["tensor-unknown"]["message"]


def test_a_map_that_lies_in_a_file_beside_the_weights_does_not_count(tmp_path):
    source = d0().without("d2t", "t2d").write(tmp_path / "source")
    (source / "eagle_meta.pt").write_bytes(b"PK\3\4")
    only(refused(tmp_path, source, *BOUNDARY, "--target", target(tmp_path)), "map-missing")


@pytest.mark.parametrize(
    "more",
    [{}, {"fc.bias": norm("bias")}, {"enorm.weight": norm("e"), "hnorm.weight": norm("h")}],
    ids=["no bias", "a bias", "norms of both inputs"],
)
def test_an_eagle_1_drafter_is_named_whatever_else_it_stores(tmp_path, more):
    only(refused(tmp_path, eagle_1().with_tensors(more)), "is-eagle-1")


def test_a_bias_of_fc_is_never_dropped_silently(tmp_path):
    draft = d0().with_tensors({"fc.bias": norm("bias")})
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "dialect-cannot-hold")
    assert "bias" in finding["message"]


def test_projections_that_read_embedding_and_state_side_by_side_are_right(tmp_path):
    source = d0().write(tmp_path / "source")
    answer = run("inspect", source, *BOUNDARY, "--target", target(tmp_path))
    assert (answer.exit_code, answer.findings("error")) == (0, {})


def test_projections_as_wide_as_the_state_alone_are_refused(tmp_path):
    narrow = {
        f"midlayer.self_attn.{part}_proj.weight": random(part, 64 * (3 if part == "q" else 1), 64) for part in QKV
    }
    errors = refused(tmp_path, d0().with_tensors(narrow), *BOUNDARY, "--target", target(tmp_path))
    assert "expected [64, 128]" in errors["tensor-shape"]["message"]


def test_a_quantised_drafter_is_refused_by_that_name(tmp_path):
    draft = d0().without("midlayer.mlp.up_proj.weight").with_tensors(quantized("midlayer.mlp.up_proj", 128, 64))
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    assert "midlayer.mlp.up_proj.weight" in errors["drafter-quantized"]["message"]


def test_an_output_gate_makes_it_a_kimi_k3_drafter(tmp_path):
    draft = d0().with_tensors({"midlayer.self_attn.g_proj.weight": random("gate", 192, 128)})
    only(refused(tmp_path, draft), "is-kimi-k3")


def test_an_output_projection_as_wide_as_the_input_is_refused(tmp_path):
    draft = d0().with_tensors({"midlayer.self_attn.o_proj.weight": bf16(random("o", 128, 192).values)})
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    assert "o_proj.weight is [128, 192], expected [64, 192]" in only(errors, "tensor-shape")["message"]


@pytest.mark.parametrize("name", sorted(MLA_PARTS))
def test_an_mla_draft_is_held_against_the_list_of_its_tensors(tmp_path, name):
    source = shutil.copytree(CHECKPOINTS / "torchspec-kimi-k25-mla", tmp_path / "source")
    weights = source / "model.safetensors"
    tensors = stored_in(source)
    (missing,) = (each for each in tensors if each.endswith(f"self_attn.{name}.weight"))
    del tensors[missing]
    weights.write_bytes(serialized(tensors, {"format": "pt"}))
    errors = refused(tmp_path, source)
    # Without a tensor that a width follows from, the width is what is asked for first.
    assert set(errors) in ({"tensor-missing"}, {"fact-unknown"})
