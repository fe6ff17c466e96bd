"""What the other engines and readers make of files: one fact a test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eaglekit.drafter import Feedback, Fusion, FusionNorm, Residual, Rope
from eaglekit.engines import Verdict
from tests.engines.drafters import EAGLE31, LLAMA, MLA, TOP, made, read, sentence, speculators, verdict

READS, DEGRADED, MISREADS, REJECTS = Verdict.READS, Verdict.DEGRADED, Verdict.MISREADS, Verdict.REJECTS
DEFAULT = LLAMA.replacing(aux_layers=(2, 16, 29))
FULL = LLAMA.replacing(draft_vocab_size=320, target_ids=None)
PLAIN_NAMES = {"layers.0.": "midlayer."}


# TensorRT-LLM.


def test_trtllm_takes_its_layers_from_an_argument() -> None:
    text = sentence(made(), "trtllm", "engine-layers-argument")
    assert "eagle3_layers_to_capture={2, 16, 29}" in text
    assert verdict(made(), "trtllm") is DEGRADED


def test_trtllm_needs_no_argument_for_the_default_layers() -> None:
    assert verdict(made(DEFAULT), "trtllm") is READS


def test_trtllm_cannot_be_asked_for_the_embeddings() -> None:
    assert verdict(made(LLAMA.replacing(aux_layers=(0, 17, 30))), "trtllm") is MISREADS


def test_trtllm_reads_the_whole_norm_in_eagle_config_only() -> None:
    spec = DEFAULT.replacing(fusion_norm=FusionNorm.WHOLE)
    nested = {"eagle_config": {TOP: [1, 15, 28], "norm_before_fc": True}}
    assert read(made(spec, config=nested), "trtllm").effects == ()
    assert "input_norm.weight" in " ".join(read(made(spec), "trtllm").unknown)


@pytest.mark.parametrize("key", ["norm_output", "eagle_config"])
def test_trtllm_reads_norm_output_under_both_names(key: str) -> None:
    keys = {"norm_output": True} if key == "norm_output" else {
        "norm_output": None, "eagle_config": {"return_hidden_post_norm": True}
    }  # fmt: skip
    assert verdict(made(DEFAULT.replacing(feedback=Feedback.NORMED), config=keys), "trtllm") is READS


def test_trtllm_knows_3_1_since_2026_07() -> None:
    assert verdict(made(DEFAULT.replacing(feedback=Feedback.NORMED)), "trtllm@2026.05") is MISREADS


def test_trtllm_reads_hidden_norm_in_later_layers() -> None:
    artefact = made(DEFAULT.replacing(num_layers=2))
    assert "layers.1.hidden_norm" in sentence(artefact, "trtllm", "engine-layer-norm-unread")


# tokenspeed.


def test_tokenspeed_takes_the_nested_list_first() -> None:
    assert verdict(made(), "tokenspeed") is READS
    assert verdict(made(config={"eagle_config": None}), "tokenspeed") is MISREADS


def test_tokenspeed_reads_boundary_indices_of_a_deepseek_target_one_late() -> None:
    text = sentence(made(MLA), "tokenspeed", "engine-layers-wrong")
    assert text.endswith("captures layers 3, 31, 59 instead of 2, 30, 58 (boundary indices), one block too late")


def test_tokenspeed_captures_the_last_block_under_the_depth_only() -> None:
    spec = LLAMA.replacing(aux_layers=(3, 17, 32))
    by_depth = {"eagle_config": {TOP: [2, 16, 32]}}
    assert verdict(made(spec, config=by_depth), "tokenspeed") is READS
    assert "captures nothing for id 31" in sentence(made(spec), "tokenspeed", "engine-layers-uncapturable")


def test_tokenspeed_builds_fc_from_the_drafter_s_own_width() -> None:
    artefact = made(LLAMA.replacing(target_hidden_size=128))
    assert "builds fc from the drafter's own width 64" in sentence(artefact, "tokenspeed", "engine-width-wrong")


def test_tokenspeed_always_uses_the_target_s_embedding() -> None:
    spec = LLAMA.replacing(own_embedding=True)
    assert verdict(made(spec), "tokenspeed") is DEGRADED


def test_tokenspeed_has_no_normed_residual() -> None:
    assert verdict(made(LLAMA.replacing(residual=Residual.NORMED)), "tokenspeed") is MISREADS


# ATOM.


ATOM = LLAMA.replacing(draft_vocab_size=320, target_ids=None, own_embedding=True)
BOUNDARY_NESTED = {"eagle_config": {TOP: [3, 17, 30], "use_aux_hidden_state": True}}


def test_atom_reads_nested_ids_as_boundary_indices() -> None:
    assert verdict(made(ATOM, config=BOUNDARY_NESTED), "atom") is READS
    assert sentence(made(ATOM), "atom", "engine-layers-wrong").endswith("one block too early")


def test_atom_has_no_draft_vocabulary() -> None:
    assert "has no draft vocabulary" in sentence(made(config=BOUNDARY_NESTED), "atom", "engine-vocabulary-wrong")


def test_atom_takes_a_silent_eagle_config_for_no_captured_states() -> None:
    silent = {"eagle_config": {TOP: [3, 17, 30]}}
    assert "captures no states" in sentence(made(ATOM, config=silent), "atom", "engine-final-state")


def test_atom_reads_the_flat_rope_base_only() -> None:
    text = sentence(made(ATOM, config={**BOUNDARY_NESTED, "rope_theta": None}), "atom", "engine-rope-wrong")
    assert text == "ATOM finds no rope_theta and takes 10000; the drafter was trained with base 500000"


def test_atom_ignores_rope_scaling_in_its_llama_drafter() -> None:
    spec = ATOM.replacing(rope=Rope(500000.0, "llama3", {"factor": 8.0}))
    assert "ignores rope scaling" in sentence(made(spec, config=BOUNDARY_NESTED), "atom", "engine-rope-wrong")


def test_atom_never_captures_the_last_block() -> None:
    spec = ATOM.replacing(aux_layers=(3, 17, 32))
    keys = {"eagle_config": {TOP: [3, 17, 32], "use_aux_hidden_state": True}}
    assert verdict(made(spec, config=keys), "atom") is REJECTS


def test_what_atom_does_with_a_stranger_is_not_known() -> None:
    reading = read(made(ATOM, config=BOUNDARY_NESTED, add=["extra.weight"]), "atom")
    assert reading.verdict is READS
    assert reading.unknown == ("it is not known how ATOM treats extra.weight: it has no parameter of that name",)


# llama.cpp.


def test_llama_cpp_reads_top_level_ids_as_boundary_indices() -> None:
    assert verdict(made(), "llama.cpp") is READS


def test_llama_cpp_ignores_nested_ids() -> None:
    text = sentence(made(config={TOP: None}), "llama.cpp", "engine-layers-wrong")
    assert text.startswith("llama.cpp ignores the nested ids and captures")


def test_llama_cpp_has_exactly_three_states() -> None:
    assert verdict(made(LLAMA.replacing(num_aux_states=2, aux_layers=(3, 17))), "llama.cpp") is REJECTS


def test_llama_cpp_merges_a_speculators_config() -> None:
    assert verdict(speculators(), "llama.cpp") is READS


def test_llama_cpp_honours_the_normed_residual() -> None:
    assert verdict(made(LLAMA.replacing(residual=Residual.NORMED)), "llama.cpp") is READS


@pytest.mark.parametrize(
    "changes",
    [{"fusion_norm": FusionNorm.PER_STATE}, {"qk_norm": True}, {"attention_bias": True}, {"num_layers": 2},
     {"fusion": Fusion.FINAL_STATE, "aux_layers": ()}],
    ids=["state norms", "query norms", "biases", "two layers", "final state"],
)  # fmt: skip
def test_llama_cpp_refuses_what_its_format_cannot_say(changes: dict[str, object]) -> None:
    spec = LLAMA.replacing(**changes)
    assert verdict(made(spec), "llama.cpp") is REJECTS


def test_llama_cpp_ignores_norm_output() -> None:
    assert verdict(made(LLAMA.replacing(feedback=Feedback.NORMED)), "llama.cpp") is MISREADS


def test_llama_cpp_recognises_a_drafter_by_draft_vocab_size() -> None:
    assert verdict(made(FULL, config={"draft_vocab_size": None}), "llama.cpp") is REJECTS


@pytest.mark.parametrize(("family", "expected"), [("llama", MISREADS), ("gpt_oss", READS), ("deepseek_v3", READS)])
def test_llama_cpp_captures_the_last_block_of_some_targets_only(family: str, expected: Verdict) -> None:
    spec = LLAMA.replacing(aux_layers=(2, 16, LLAMA.target_layers), target_family=family)
    assert verdict(made(spec), "llama.cpp") is expected


def test_llama_cpp_uses_the_target_s_head_where_the_drafter_has_none() -> None:
    shared = made(FULL.replacing(own_head=False))
    null = replace(shared, config={**shared.config, "draft_vocab_size": None})
    assert (verdict(null, "llama.cpp"), verdict(null, "llama.cpp@2026.08")) == (READS, REJECTS)


def test_llama_cpp_norms_all_states_together_since_2026_11() -> None:
    artefact = made(LLAMA.replacing(fusion_norm=FusionNorm.WHOLE))
    assert [verdict(artefact, f"llama.cpp@{version}") for version in ("2026.08", "2026.11")] == [REJECTS, READS]


# The smaller ones.


def test_rtp_llm_serves_a_plain_drafter_of_a_qwen3_target() -> None:
    artefact = made(DEFAULT.replacing(target_family="qwen3"), rename=PLAIN_NAMES, add=["t2d"])
    assert verdict(artefact, "rtp-llm") is READS


def test_rtp_llm_serves_no_other_target() -> None:
    artefact = made(DEFAULT, rename=PLAIN_NAMES, add=["t2d"])
    assert "drafts for qwen3 targets only" in sentence(artefact, "rtp-llm", "engine-target-refused")


@pytest.mark.parametrize(("without", "says"), [("d2t", "without d2t"), ("t2d", "without t2d")])
def test_rtp_llm_needs_both_maps(without: str, says: str) -> None:
    both = {"d2t", "t2d"} - {without}
    spec = DEFAULT.replacing(target_family="qwen3")
    artefact = made(spec, rename=PLAIN_NAMES, without=["d2t"], add=sorted(both))
    assert says in sentence(artefact, "rtp-llm", "engine-map-wrong")


@pytest.mark.parametrize("engine", ["rtp-llm", "tpu-inference", "sglang-jax", "safeailab", "angelslim"])
def test_engines_of_plain_eagle_3_look_for_midlayer_only(engine: str) -> None:
    spec = DEFAULT.replacing(target_family="qwen3")
    assert "it looks for midlayer.*" in sentence(made(spec), engine, "engine-names-unread")


@pytest.mark.parametrize("engine", ["rtp-llm", "tpu-inference", "sglang-jax", "safeailab", "angelslim", "llama.cpp"])
def test_engines_of_plain_eagle_3_ignore_norm_output(engine: str) -> None:
    spec = DEFAULT.replacing(target_family="qwen3", feedback=Feedback.NORMED)
    text = sentence(made(spec, rename=PLAIN_NAMES, add=["t2d"]), engine, "engine-switch-ignored")
    assert "has no norm_output" in text


def test_how_sglang_jax_understands_the_map_is_not_known() -> None:
    assert "understands d2t" in " ".join(read(made(DEFAULT, rename=PLAIN_NAMES), "sglang-jax").unknown)


def test_safeailab_captures_fixed_layers() -> None:
    assert verdict(made(DEFAULT, rename=PLAIN_NAMES), "safeailab") is READS
    assert verdict(made(rename=PLAIN_NAMES), "safeailab") is MISREADS


def test_safeailab_computes_the_head_width() -> None:
    artefact = made(DEFAULT.replacing(head_dim=32), rename=PLAIN_NAMES)
    assert "builds heads of width 16" in sentence(artefact, "safeailab", "engine-width-wrong")


def test_safeailab_knows_two_kinds_of_rope_scaling() -> None:
    artefact = made(DEFAULT.replacing(rope=Rope(500000.0, "yarn", {"factor": 8.0})), rename=PLAIN_NAMES)
    assert "linear and dynamic only" in sentence(artefact, "safeailab", "engine-rope-wrong")


@pytest.mark.parametrize("engine", ["tpu-inference", "sglang-jax", "safeailab", "angelslim", "rtp-llm", "llama.cpp"])
def test_engines_without_an_mla_class_refuse_an_mla_drafter(engine: str) -> None:
    assert read(made(MLA), engine).effects[0].code == "engine-class-unregistered"


# speculators as a reader.


def test_speculators_opens_its_own_files() -> None:
    assert verdict(speculators(EAGLE31.replacing(own_embedding=True)), "speculators") is READS


def test_speculators_fills_no_missing_embedding() -> None:
    text = sentence(speculators(), "speculators", "engine-tensor-missing")
    assert text == "speculators loads without embed_tokens.weight and serves with it uninitialised"


def test_speculators_opens_no_plain_folder() -> None:
    assert [e.code for e in read(made(), "speculators").effects] == ["engine-format-unread"]


def test_what_older_speculators_do_with_a_plain_folder_is_not_known() -> None:
    assert read(made(), "speculators@0.7").unknown == ("it is not known how speculators treats a plain drafter config",)


def test_speculators_takes_an_absent_norm_before_residual_for_false() -> None:
    spec = LLAMA.replacing(own_embedding=True)
    assert verdict(speculators(spec, config={"norm_before_residual": None}), "speculators") is READS


def test_speculators_newly_initialises_state_norms_that_were_lost() -> None:
    names = [f"fc_norm.{number}.weight" for number in range(3)]
    assert verdict(speculators(EAGLE31, without=names), "speculators") is MISREADS


def test_speculators_refuses_a_target_of_another_width() -> None:
    assert verdict(speculators(LLAMA.replacing(target_hidden_size=128)), "speculators") is REJECTS


def test_how_trainers_read_a_speculators_config_is_not_known() -> None:
    assert read(speculators(), "angelslim").unknown == ("it is not known how AngelSlim treats a speculators config",)
