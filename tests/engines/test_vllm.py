"""What vLLM makes of files: one fact a test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eaglekit.drafter import Feedback, Fusion, FusionNorm, Residual, Rope, Spec
from eaglekit.engines import Verdict
from tests.engines.drafters import EAGLE31, LLAMA, MLA, TOP, made, read, sentence, speculators, verdict

READS, DEGRADED, MISREADS, REJECTS = Verdict.READS, Verdict.DEGRADED, Verdict.MISREADS, Verdict.REJECTS
NESTED_ONLY = {TOP: None, "eagle_config": {TOP: [2, 16, 29], "use_aux_hidden_state": True}}
WHOLE = LLAMA.replacing(fusion_norm=FusionNorm.WHOLE)


# Layer ids.


def test_from_0_29_on_the_nested_ids_are_ignored_and_the_fall_back_is_told() -> None:
    assert sentence(made(config=NESTED_ONLY), "vllm@0.29", "engine-layers-wrong") == (
        "vLLM ignores the nested ids and captures layers 2, 16, 29 instead of 3, 17, 30 (boundary indices); the V1 "
        "runner, to which vLLM falls back on CPU or without Triton, reads them as boundary indices and captures layers "
        "2, 16, 29 instead of 3, 17, 30 (boundary indices), one block too early"
    )


def test_from_0_29_on_a_fall_back_that_captures_the_right_layers_is_told() -> None:
    nested = {TOP: None, "eagle_config": {TOP: [3, 17, 30]}}
    artefact = made(config=nested)
    assert verdict(artefact, "vllm@0.29") is MISREADS
    assert sentence(artefact, "vllm@0.29", "engine-layers-wrong").endswith(
        "; the V1 runner, to which vLLM falls back on CPU or without Triton, captures the right layers"
    )


def test_before_0_22_the_nested_ids_are_ignored_on_every_runner() -> None:
    text = sentence(made(config=NESTED_ONLY), "vllm@0.21", "engine-layers-wrong")
    assert text.startswith("vLLM ignores the nested ids and captures")


def test_between_0_22_and_0_28_the_two_runners_differ_and_both_are_told() -> None:
    nested = {TOP: None, "eagle_config": {TOP: [3, 9, 27]}}
    texts = [e.text for e in read(made(config=nested), "vllm@0.24").effects if e.code == "engine-layers-wrong"]
    assert texts == [
        "vLLM on its V1 runner reads the ids [3, 9, 27] in eagle_config as boundary indices and captures layers "
        "3, 9, 27 instead of 3, 17, 30 (boundary indices)",
        "vLLM on its V2 runner ignores the nested ids and captures layers 2, 16, 29 instead of 3, 17, 30 (boundary "
        "indices)",
    ]


def test_a_runner_that_captures_the_right_layers_is_mentioned_beside_the_one_that_does_not() -> None:
    nested = {TOP: None, "eagle_config": {TOP: [3, 17, 30]}}
    text = sentence(made(config=nested), "vllm@0.24", "engine-layers-wrong")
    assert text.startswith("vLLM on its V2 runner ignores")
    assert text.endswith("; its V1 runner captures the right layers")


def test_nested_ids_that_mean_the_default_are_right_by_accident_on_v2_and_misread_after_a_fall_back() -> None:
    spec = MLA.replacing(target_family="kimi_k2")
    artefact = made(spec, config={TOP: None, "eagle_config": {TOP: [1, 29, 57], "use_aux_hidden_state": True}})
    assert verdict(artefact, "vllm@0.29") is DEGRADED
    assert sentence(artefact, "vllm@0.29", "engine-layers-wrong") == (
        "vLLM on its V2 runner captures the right layers; the V1 runner, to which vLLM falls back on CPU or without "
        "Triton, reads the ids [1, 29, 57] in eagle_config as boundary indices and captures layers 1, 29, 57 instead "
        "of 2, 30, 58 (boundary indices), one block too early"
    )


def test_layers_nobody_decided_are_told_for_the_fall_back_too() -> None:
    artefact = made(LLAMA.replacing(aux_layers=()), config={TOP: None, "eagle_config": {TOP: [3, 9, 27]}})
    (text,) = read(artefact, "vllm@0.29").unknown
    assert text.startswith("vLLM captures 2, 16, 29 (ignores the nested ids)")
    assert "falls back on CPU or without Triton, captures 3, 9, 27 (reads them as boundary indices)" in text


def test_top_level_ids_are_read_as_boundary_indices() -> None:
    text = sentence(made(config={TOP: [2, 16, 29]}), "vllm", "engine-layers-wrong")
    assert "reads the ids [2, 16, 29] at the top level as boundary indices" in text


@pytest.mark.parametrize("version", ["0.10.2", "0.11.0"])
def test_before_0_11_2_no_ids_are_read(version: str) -> None:
    text = sentence(made(), f"vllm@{version}", "engine-layers-wrong")
    assert text.startswith("vLLM ignores the ids at the top level and captures layers 2, 16, 29")


def test_ids_are_sorted_and_counted_once() -> None:
    assert verdict(made(config={TOP: [30, 3, 17, 3]}), "vllm") is READS


def test_the_v2_runner_also_reads_layer_ids_from_0_27_on_and_v1_does_not() -> None:
    config = {TOP: None, "eagle_config": {"layer_ids": [3, 17, 30]}}
    assert verdict(made(config=config), "vllm@0.29") is DEGRADED
    assert "without Triton, ignores layer_ids and captures" in sentence(
        made(config=config), "vllm@0.29", "engine-layers-wrong"
    )


def test_an_id_past_the_target_is_never_captured() -> None:
    text = sentence(made(config={TOP: [3, 17, 40]}), "vllm", "engine-layers-uncapturable")
    assert text == ("vLLM waits for boundary 40 of a target of 32 blocks, which never comes, so fc gets 2 states of 3")


def test_the_last_boundary_of_a_deepseek_target_is_captured_from_0_25_on() -> None:
    artefact = made(LLAMA.replacing(target_family="deepseek_v3", aux_layers=(3, 17, 32)))
    assert sentence(artefact, "vllm@0.24", "engine-layers-uncapturable").startswith("vLLM never captures boundary 32")
    assert verdict(artefact, "vllm@0.25") is READS


def test_the_last_boundary_of_other_targets_is_captured() -> None:
    assert verdict(made(LLAMA.replacing(aux_layers=(3, 17, 32))), "vllm@0.24") is READS


def test_the_embeddings_of_a_deepseek_target_cannot_be_captured() -> None:
    artefact = made(LLAMA.replacing(target_family="deepseek_v3", aux_layers=(0, 17, 30)))
    assert "cannot capture boundary 0" in sentence(artefact, "vllm", "engine-layers-uncapturable")


def test_layers_nobody_decided_are_not_judged() -> None:
    reading = read(made(LLAMA.replacing(aux_layers=()), config={TOP: [3, 17, 30]}), "vllm")
    assert reading.verdict is READS
    assert reading.unknown == (
        "vLLM captures 3, 17, 30 (reads the ids [3, 17, 30] at the top level as boundary indices); which states the "
        "drafter was trained on is not decided",
    )


def test_a_default_that_no_depth_makes_right_is_wrong_at_an_unknown_depth() -> None:
    artefact = made(LLAMA.replacing(target_layers=None), config={TOP: None, "eagle_config": None})
    text = sentence(artefact, "vllm", "engine-layers-wrong")
    assert text.endswith("captures layers 2, L//2, L-3 of a target of L blocks instead of 3, 17, 30 (boundary indices)")


def test_a_default_that_one_depth_makes_right_is_not_judged_at_an_unknown_depth() -> None:
    spec = LLAMA.replacing(target_layers=None, aux_layers=(2, 16, 29))
    reading = read(made(spec, config={TOP: None, "eagle_config": None}), "vllm")
    assert reading.verdict is READS
    assert "right only if L is 32" in reading.unknown[0]


# The width of fc.

FOUR = LLAMA.replacing(num_aux_states=4, aux_layers=(1, 3, 5, 7), target_layers=8)


def test_the_llama_class_does_not_count_the_top_level_ids() -> None:
    artefact = made(FOUR, config={"num_aux_hidden_states": None, "eagle_config": None})
    assert sentence(artefact, "vllm", "engine-width-wrong").startswith("vLLM builds fc for 3 captured states")


def test_num_aux_hidden_states_makes_four_states_load() -> None:
    assert verdict(made(FOUR), "vllm") is READS


def test_four_states_do_not_load_before_0_22() -> None:
    assert verdict(made(FOUR), "vllm@0.21") is REJECTS


def test_the_qwen3_class_counts_the_top_level_ids() -> None:
    spec = FOUR.replacing(qk_norm=True)
    keys = {"architectures": ["Eagle3Qwen3ForCausalLM"], "num_aux_hidden_states": None, "eagle_config": None}
    assert verdict(made(spec, config=keys), "vllm") is READS


def test_more_states_than_ids_fail_at_the_first_batch() -> None:
    keys = {TOP: None, "eagle_config": None}
    text = " ".join(e.text for e in read(made(FOUR, config=keys), "vllm").effects)
    assert "captures 3 states (2, 4, 5) for an fc that reads 4" in text


# Classes and formats.


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "Eagle3LlamaForCausalLM", "LlamaForCausalLMEagle3"])
def test_names_that_the_registry_has_after_the_prefix_serve(name: str) -> None:
    assert verdict(made(config={"architectures": [name]}), "vllm") is READS


@pytest.mark.parametrize("name", ["LlamaEagle3DraftModel", "PEagleDraftModel"])
def test_a_name_that_the_prefix_spoils_is_refused(name: str) -> None:
    text = sentence(made(config={"architectures": [name]}), "vllm", "engine-class-unregistered")
    assert f"{name!r}, looked up as 'Eagle3{name}'" in text


def test_a_name_that_is_no_model_of_its_own_is_refused_although_the_prefix_makes_it_one() -> None:
    assert verdict(made(config={"architectures": ["Eagle3Qwen3vlForCausalLM"]}), "vllm") is READS
    assert verdict(made(config={"architectures": ["Qwen3vlForCausalLM"]}), "vllm") is REJECTS


def test_the_mla_class_exists_from_0_18_on() -> None:
    assert verdict(made(MLA), "vllm@0.17") is REJECTS
    assert verdict(made(MLA), "vllm@0.18") is READS


@pytest.mark.parametrize("model_type", ["deepseek_v3", "deepseek_v32", "deepseek_mtp", "glm_moe_dsa"])
@pytest.mark.parametrize("version", ["0.18", "0.32"])
def test_an_mla_drafter_of_a_model_type_with_a_prediction_block_is_refused(model_type: str, version: str) -> None:
    text = sentence(made(MLA, config={"model_type": model_type}), f"vllm@{version}", "engine-latent-attention")
    assert text.startswith(f"vLLM takes model_type {model_type!r} for a multi-token prediction block")


@pytest.mark.parametrize("model_type", ["kimi_k2", "axk1", "deepseek_v2"])
def test_an_mla_drafter_of_a_model_type_that_was_served_is_read(model_type: str) -> None:
    reading = read(made(MLA, config={"model_type": model_type}), "vllm")
    assert (reading.verdict, reading.unknown) == (READS, ())


def test_how_an_mla_drafter_of_another_model_type_is_served_is_not_known() -> None:
    reading = read(made(MLA, config={"model_type": "llama"}), "vllm")
    assert reading.verdict is READS
    assert reading.unknown == (
        "it is not known how vLLM serves an MLA drafter of model_type 'llama': kimi_k2, axk1, deepseek_v2 are known to "
        "serve",
    )


@pytest.mark.parametrize("version", ["0.18", "0.32"])
def test_an_mla_drafter_without_a_query_rank_is_refused(version: str) -> None:
    artefact = made(MLA.replacing(q_lora_rank=None))
    assert "needs q_lora_rank" in sentence(artefact, f"vllm@{version}", "engine-latent-attention")


def test_an_mla_drafter_under_a_llama_name_is_refused_for_its_projections() -> None:
    artefact = made(MLA, config={"architectures": ["LlamaForCausalLMEagle3"]})
    assert "its Llama" not in sentence(artefact, "vllm", "engine-tensor-rejected")
    assert verdict(artefact, "vllm") is REJECTS


# Tensors.


def test_both_spellings_of_layer_0_serve() -> None:
    assert verdict(made(rename={"layers.0.": "midlayer."}), "vllm") is READS


def test_an_outer_prefix_is_refused() -> None:
    artefact = made(rename={"layers.0.": "model.layers.0.", "fc.": "model.fc."})
    assert sentence(artefact, "vllm", "engine-names-unread").startswith("vLLM refuses 11 tensors named model.*")


@pytest.mark.parametrize("name", ["layers.0.self_attn.q_proj.weight", "fc.weight", "norm.weight"])
def test_a_missing_tensor_is_served_uninitialised(name: str) -> None:
    text = sentence(made(without=[name]), "vllm", "engine-tensor-missing")
    assert text == f"vLLM loads without {name} and serves with it uninitialised"


def test_a_stranger_is_refused() -> None:
    text = sentence(made(add=["extra.weight"]), "vllm", "engine-tensor-rejected")
    assert text == "vLLM refuses extra.weight: it has no parameter of that name"


def test_layers_that_are_not_stored_stay_random() -> None:
    text = sentence(made(config={"num_hidden_layers": 8}), "vllm", "engine-depth-wrong")
    assert text == "vLLM builds 8 layers as num_hidden_layers says, of which 7 are not stored and stay random"


def test_before_0_11_2_there_is_one_layer() -> None:
    assert verdict(made(LLAMA.replacing(num_layers=2)), "vllm@0.11.0") is REJECTS


def test_a_later_layer_reads_input_layernorm() -> None:
    spec = LLAMA.replacing(num_layers=2)
    old, new = "layers.1.input_layernorm", "layers.1.hidden_norm"
    assert verdict(made(spec), "vllm") is READS
    assert "reads layers.1.input_layernorm.weight" in sentence(
        made(spec, rename={old: new}), "vllm", "engine-layer-norm-unread"
    )


@pytest.mark.parametrize(
    "name", ["layers.0.self_attn.q_proj.bias", "layers.0.mlp.up_proj.bias", "fc.bias"], ids=["query", "mlp", "fc"]
)
def test_a_bias_nobody_asked_for_is_dropped(name: str) -> None:
    artefact = made(LLAMA.replacing(attention_bias=True, mlp_bias=True, fusion_bias=True))
    texts = [e.text for e in read(artefact, "vllm").effects if e.code == "engine-tensor-dropped"]
    assert sum(name in text and " silently: " in text for text in texts) == 1


def test_attention_biases_serve_from_0_16_on_with_their_flag() -> None:
    artefact = made(LLAMA.replacing(attention_bias=True), config={"attention_bias": True})
    assert verdict(artefact, "vllm@0.16") is READS
    assert verdict(artefact, "vllm@0.15") is MISREADS


QWEN3 = {"architectures": ["Eagle3Qwen3ForCausalLM"]}


def test_the_qwen3_class_has_no_bias_on_the_attention_s_output() -> None:
    spec = LLAMA.replacing(qk_norm=True, attention_bias=True)
    text = sentence(made(spec, config=QWEN3 | {"attention_bias": True}), "vllm", "engine-tensor-dropped")
    assert text.startswith("vLLM drops layers.0.self_attn.o_proj.bias silently")


def test_only_the_llama_class_has_mlp_biases() -> None:
    biased = LLAMA.replacing(mlp_bias=True)
    assert verdict(made(biased, config={"mlp_bias": True}), "vllm") is READS
    assert verdict(made(biased.replacing(qk_norm=True), config=QWEN3 | {"mlp_bias": True}), "vllm") is MISREADS
    assert verdict(made(MLA.replacing(mlp_bias=True), config={"mlp_bias": True}), "vllm") is MISREADS


def test_query_norms_are_refused_by_the_llama_class() -> None:
    assert "its Llama drafter has no q/k norms" in sentence(
        made(LLAMA.replacing(qk_norm=True)), "vllm", "engine-tensor-rejected"
    )


def test_query_norms_serve_in_the_qwen3_class_from_0_24_on() -> None:
    artefact = made(LLAMA.replacing(qk_norm=True), config={"architectures": ["Eagle3Qwen3ForCausalLM"]})
    assert verdict(artefact, "vllm@0.24") is READS
    assert verdict(artefact, "vllm@0.23") is REJECTS


def test_the_qwen3_class_leaves_norms_it_does_not_find_at_ones() -> None:
    text = sentence(made(config={"architectures": ["Eagle3Qwen3ForCausalLM"]}), "vllm", "engine-tensor-missing")
    assert "q_norm" in text
    assert text.endswith("serves with them at ones")


# Switches.


def test_fc_norm_needs_0_22() -> None:
    assert "its Llama drafter has no fc_norm" in sentence(made(EAGLE31), "vllm@0.21", "engine-tensor-rejected")


def test_fc_norm_without_its_flag_is_refused() -> None:
    text = sentence(made(EAGLE31, config={"fc_norm": False}), "vllm", "engine-tensor-rejected")
    assert text.endswith("the config it sees does not say fc_norm: true")


def test_fc_norm_in_eagle_config_is_not_read() -> None:
    keys = {"fc_norm": None, "eagle_config": {TOP: [2, 16, 29], "fc_norm": True}}
    text = sentence(made(EAGLE31, config=keys), "vllm", "engine-tensor-rejected")
    assert text.endswith("it reads fc_norm at the top level, and the file says it in eagle_config")


def test_fc_norm_without_weights_stays_at_ones() -> None:
    names = [f"fc_norm.{number}.weight" for number in range(3)]
    text = sentence(made(EAGLE31, without=names), "vllm", "engine-tensor-missing")
    assert text == f"vLLM loads without {', '.join(names)} and serves with them at ones"


@pytest.mark.parametrize(("version", "expected"), [("0.22.0", MISREADS), ("0.22.1", MISREADS), ("0.23.0", READS)])
def test_the_state_norms_of_an_mla_drafter_are_applied_from_0_23_on(version: str, expected: Verdict) -> None:
    artefact = made(MLA.replacing(fusion_norm=FusionNorm.PER_STATE))
    assert verdict(artefact, f"vllm@{version}") is expected


def test_state_norms_under_their_old_names_are_refused() -> None:
    old = {f"fc_norm.{n}.": f"aux_norm_{name}." for n, name in enumerate(("low", "mid", "high"))}
    artefact = made(EAGLE31, rename=old)
    assert "old names of the state norms" in sentence(artefact, "vllm", "engine-tensor-rejected")


def test_norm_output_is_unknown_before_0_22() -> None:
    artefact = made(LLAMA.replacing(feedback=Feedback.NORMED))
    assert sentence(artefact, "vllm@0.21", "engine-switch-ignored") == (
        "vLLM has no norm_output and feeds the next draft step the state before the final norm; the drafter was "
        "trained with the state after the final norm"
    )


def test_norm_output_in_eagle_config_is_ignored() -> None:
    keys = {"norm_output": None, "eagle_config": {TOP: [2, 16, 29], "norm_output": True}}
    text = sentence(made(LLAMA.replacing(feedback=Feedback.NORMED), config=keys), "vllm", "engine-switch-ignored")
    assert text.startswith("vLLM reads norm_output at the top level, not in eagle_config,")


def test_norm_output_that_the_trainer_did_not_mean_is_taken_at_its_word() -> None:
    text = sentence(made(config={"norm_output": True}), "vllm", "engine-switch-ignored")
    assert text.startswith("vLLM takes norm_output at its word and feeds the next draft step the state after")


def test_the_whole_norm_serves_from_0_18_on_and_in_eagle_config_from_0_22_on() -> None:
    nested = {"norm_before_fc": None, "eagle_config": {TOP: [2, 16, 29], "norm_before_fc": True}}
    assert verdict(made(WHOLE), "vllm@0.17") is REJECTS
    assert verdict(made(WHOLE), "vllm@0.18") is READS
    assert verdict(made(WHOLE, config=nested), "vllm@0.21") is MISREADS
    assert verdict(made(WHOLE, config=nested), "vllm@0.22") is READS


def test_the_whole_norm_without_its_flag_is_dropped() -> None:
    text = sentence(made(WHOLE, config={"norm_before_fc": None}), "vllm", "engine-tensor-dropped")
    assert text.startswith("vLLM drops input_norm.weight silently")


def test_the_mla_class_knows_no_whole_norm() -> None:
    assert verdict(made(MLA.replacing(fusion_norm=FusionNorm.WHOLE)), "vllm") is REJECTS


def test_the_normed_residual_serves_on_every_version() -> None:
    assert verdict(made(LLAMA.replacing(residual=Residual.NORMED)), "vllm@0.12") is READS


FINAL = LLAMA.replacing(fusion=Fusion.FINAL_STATE, aux_layers=())
FINAL_KEYS = {TOP: None, "eagle_config": {"use_aux_hidden_state": False}}


def test_the_v2_runner_cannot_serve_a_drafter_of_the_final_state() -> None:
    assert verdict(made(FINAL, config=FINAL_KEYS), "vllm@0.29") is REJECTS
    assert verdict(made(FINAL, config=FINAL_KEYS), "vllm@0.12") is READS


def test_the_v1_runner_serves_the_final_state_after_a_fall_back() -> None:
    text = sentence(made(FINAL, config=FINAL_KEYS), "vllm@0.29", "engine-final-state")
    assert text.endswith("; the V1 runner, to which vLLM falls back on CPU or without Triton, serves it")


def test_an_mla_drafter_of_the_final_state_fails_on_both_runners() -> None:
    artefact = made(MLA.replacing(fusion=Fusion.FINAL_STATE, aux_layers=()), config=FINAL_KEYS)
    assert verdict(artefact, "vllm@0.28") is REJECTS
    assert "its MLA drafter applies fc all the same" in sentence(artefact, "vllm@0.29", "engine-final-state")


def test_a_parallel_drafter_of_the_qwen3_class_is_served() -> None:
    artefact = made(PARALLEL.replacing(qk_norm=True), config=QWEN3 | {"mask_token_id": 7})
    reading = read(artefact, "vllm")
    assert (reading.verdict, reading.unknown) == (DEGRADED, ())


def test_captured_states_without_an_fc_fail_on_v2_and_are_not_captured_on_v1() -> None:
    artefact = made(config={"eagle_config": {"use_aux_hidden_state": False}})
    text = sentence(artefact, "vllm@0.29", "engine-final-state")
    assert verdict(artefact, "vllm@0.29") is REJECTS
    assert text.startswith("vLLM captures states and builds no fc for them")
    assert "without Triton, captures no states" in text


def test_between_the_two_runners_the_final_state_is_refused_on_v2_only() -> None:
    text = sentence(made(FINAL, config=FINAL_KEYS), "vllm@0.24", "engine-final-state")
    assert text.startswith("vLLM on its V2 runner always captures states")


# Vocabulary, head, rope, activation.

FULL = LLAMA.replacing(draft_vocab_size=320, target_ids=None)


def test_a_map_at_full_vocabulary_is_refused_from_0_30_on() -> None:
    assert verdict(made(FULL, add=["d2t", "t2d"]), "vllm@0.29") is READS
    assert "refuses d2t" in sentence(made(FULL, add=["d2t", "t2d"]), "vllm@0.30", "engine-map-wrong")


def test_a_full_vocabulary_without_a_map_serves() -> None:
    assert verdict(made(FULL), "vllm") is READS


def test_without_draft_vocab_size_the_target_s_is_taken() -> None:
    reading = read(made(config={"draft_vocab_size": None}), "vllm")
    texts = [effect.text for effect in reading.effects]
    assert any("builds a head of 320 rows" in text for text in texts)
    assert any("refuses d2t" in text for text in texts)


def test_a_pruned_head_without_a_map_is_taken_for_the_first_tokens() -> None:
    text = sentence(made(without=["d2t"]), "vllm", "engine-map-wrong")
    assert text == "vLLM finds no d2t and takes draft id i for target id i"


def test_a_pruned_head_of_which_nothing_says_the_ids_is_not_taken_for_the_first_tokens() -> None:
    assert verdict(made(LLAMA.replacing(target_ids=None), without=["d2t"]), "vllm") is MISREADS


def test_a_pruned_head_of_the_first_tokens_needs_no_map() -> None:
    spec = LLAMA.replacing(target_ids=tuple(range(96)))
    assert verdict(made(spec, without=["d2t"]), "vllm") is READS


def test_a_vocabulary_that_is_not_the_target_s_fails_at_the_first_logits() -> None:
    text = sentence(made(FULL, config={"vocab_size": 576}), "vllm", "engine-vocabulary-wrong")
    assert text == "vLLM fails on vocab_size 576 for a target vocabulary of 320"


@pytest.mark.parametrize(("spec", "version"), [(LLAMA, "0.32"), (FULL, "0.29")], ids=["pruned", "before 0.30"])
def test_another_vocabulary_is_not_judged_where_it_was_not_seen(spec: Spec, version: str) -> None:
    reading = read(made(spec, config={"vocab_size": 576}), f"vllm@{version}")
    assert reading.verdict is READS
    assert reading.unknown == ("it is not known how vLLM treats vocab_size 576 for a target vocabulary of 320",)


def test_a_map_at_the_target_s_full_vocabulary_is_refused_whatever_vocab_size_says() -> None:
    artefact = made(FULL, config={"vocab_size": 576}, add=["d2t"])
    assert "refuses d2t" in sentence(artefact, "vllm", "engine-map-wrong")


def test_a_map_past_the_vocabulary_fails_at_the_first_draft() -> None:
    ids = (*range(5, 100), 402)
    text = sentence(made(LLAMA.replacing(target_ids=ids)), "vllm", "engine-map-wrong")
    assert text == (
        "vLLM reads d2t as offsets, which send draft id 95 to target id 402 of 320, and fails at the first draft"
    )


def test_a_map_of_absolute_ids_inside_the_vocabulary_drafts_other_tokens() -> None:
    artefact = replace(made(), seen_ids=tuple(row + token for row, token in enumerate(LLAMA.target_ids or ())))
    assert verdict(artefact, "vllm") is MISREADS
    assert "it holds target ids" in sentence(artefact, "vllm", "engine-map-wrong")


def test_a_missing_head_is_the_target_s() -> None:
    assert verdict(made(FULL.replacing(own_head=False)), "vllm") is READS


@pytest.mark.parametrize(("version", "expected"), [("0.11.0", DEGRADED), ("0.11.2", READS)])
def test_an_own_embedding_is_kept_from_0_11_2_on(version: str, expected: Verdict) -> None:
    artefact = made(LLAMA.replacing(own_embedding=True, aux_layers=(2, 16, 29)))
    assert verdict(artefact, f"vllm@{version}") is expected


def test_an_activation_other_than_silu_is_refused() -> None:
    spec = LLAMA.replacing(hidden_act="gelu_pytorch_tanh")
    assert "refuses hidden_act 'gelu_pytorch_tanh'" in sentence(made(spec), "vllm", "engine-activation-refused")


def test_a_rope_base_that_was_not_trained_with_is_believed() -> None:
    artefact = made(LLAMA.replacing(rope=Rope(10000.0, "default")), config={"rope_theta": 1e6, "rope_parameters": None})
    text = sentence(artefact, "vllm", "engine-rope-wrong")
    assert text == "vLLM reads rope_theta 1e+06; the drafter was trained with base 10000"


# Parallel drafting.

PARALLEL = LLAMA.replacing(parallel_drafting=True, mask_token_id=7)


@pytest.mark.parametrize("key", ["pard_token", "mask_token_id", "ptd_token_id"])
def test_a_parallel_drafter_serves_when_the_server_is_told(key: str) -> None:
    reading = read(made(PARALLEL, config={key: 7}), "vllm")
    assert reading.verdict is DEGRADED
    assert "parallel_drafting" in reading.effects[0].text


def test_a_parallel_drafter_without_a_mask_token_is_refused() -> None:
    assert "needs the mask token's id" in sentence(made(PARALLEL), "vllm", "engine-parallel-drafting")


def test_a_parallel_drafter_without_its_mask_state_is_refused() -> None:
    artefact = made(PARALLEL, config={"mask_token_id": 7}, without=["mask_hidden"])
    assert "without the tensor mask_hidden" in sentence(artefact, "vllm", "engine-parallel-drafting")


@pytest.mark.parametrize("key", ["pard_token", "mask_token_id", "ptd_token_id"])
def test_a_mask_token_without_a_mask_state_is_an_ordinary_drafter_until_it_drafts_in_parallel(key: str) -> None:
    artefact = made(config={key: 7})
    assert verdict(artefact, "vllm") is DEGRADED
    assert sentence(artefact, "vllm", "engine-parallel-drafting") == (
        f"vLLM finds a mask token ({key}) and no mask_hidden: with parallel drafting it raises ValueError, without it "
        "the drafter runs as an ordinary EAGLE-3 one"
    )


def test_a_mask_token_means_nothing_before_0_16() -> None:
    assert "engine-parallel-drafting" not in {
        e.code for e in read(made(config={"mask_token_id": 7}), "vllm@0.15").effects
    }


def test_a_parallel_drafter_runs_on_v1_where_nested_ids_are_read() -> None:
    nested = {TOP: None, "eagle_config": {TOP: [3, 17, 30]}, "mask_token_id": 7}
    assert verdict(made(PARALLEL, config=nested), "vllm@0.29") is DEGRADED


def test_before_0_16_the_mask_state_is_refused() -> None:
    assert verdict(made(PARALLEL, config={"mask_token_id": 7}), "vllm@0.15") is REJECTS


# The speculators reader.


def test_a_speculators_config_is_read() -> None:
    assert verdict(speculators(), "vllm") is READS


def test_an_absent_norm_before_residual_is_taken_for_true() -> None:
    text = sentence(speculators(config={"norm_before_residual": None}), "vllm", "engine-switch-ignored")
    assert "which this speculators config does not say, for true and starts layer 0 from the state after" in text


def test_an_absent_norm_before_residual_is_right_where_it_was_trained_so() -> None:
    artefact = speculators(LLAMA.replacing(residual=Residual.NORMED), config={"norm_before_residual": None})
    assert verdict(artefact, "vllm") is READS


def test_the_reader_keeps_the_switches_of_3_1_from_0_25_on() -> None:
    assert verdict(speculators(EAGLE31), "vllm@0.25") is READS
    text = sentence(speculators(EAGLE31), "vllm@0.24", "engine-tensor-rejected")
    assert text.endswith("its speculators reader does not keep fc_norm")


def test_norm_output_alone_is_lost_silently_up_to_0_24() -> None:
    artefact = speculators(LLAMA.replacing(feedback=Feedback.NORMED))
    assert "does not keep norm_output" in sentence(artefact, "vllm@0.24", "engine-switch-ignored")


def test_switches_inside_transformer_layer_config_survive() -> None:
    assert verdict(speculators(EAGLE31, inner={"fc_norm": True, "norm_output": True}), "vllm@0.24") is READS


def test_four_states_load_only_with_their_number_inside_transformer_layer_config() -> None:
    assert verdict(speculators(FOUR), "vllm") is REJECTS
    assert verdict(speculators(FOUR, inner={"num_aux_hidden_states": 4}), "vllm") is READS


def test_the_reader_keeps_the_whole_norm_from_0_19_on() -> None:
    assert verdict(speculators(WHOLE), "vllm@0.18") is MISREADS
    assert verdict(speculators(WHOLE), "vllm@0.19") is READS


def test_another_model_type_inside_is_refused() -> None:
    text = sentence(speculators(inner={"model_type": "mistral"}), "vllm", "engine-format-unread")
    assert text.endswith("this one says 'mistral'")


def test_a_switch_inside_is_overwritten_by_its_absence_at_the_top() -> None:
    artefact = speculators(EAGLE31, config={"fc_norm": None, "norm_output": None}, inner={"fc_norm": True})
    assert verdict(artefact, "vllm@0.25") is REJECTS
    artefact = speculators(LLAMA.replacing(feedback=Feedback.NORMED), config={"norm_output": None},
                           inner={"norm_output": True})  # fmt: skip
    assert verdict(artefact, "vllm@0.24") is READS
    assert verdict(artefact, "vllm@0.25") is MISREADS


def test_layer_ids_inside_are_left_alone() -> None:
    artefact = speculators(config={TOP: None}, inner={TOP: [3, 17, 30]})
    assert "engine-layers-wrong" not in {effect.code for effect in read(artefact, "vllm").effects}


def test_no_model_type_inside_means_llama() -> None:
    assert verdict(speculators(inner={"model_type": None}), "vllm") is READS


def test_a_parallel_speculator_is_known_from_0_22_on_and_must_be_told_unless_it_is_the_model() -> None:
    artefact = speculators(PARALLEL, config={"speculators_model_type": "peagle", "mask_token_id": 7})
    assert verdict(artefact, "vllm@0.21") is REJECTS
    assert verdict(artefact, "vllm") is DEGRADED
    assert sentence(artefact, "vllm", "engine-parallel-drafting").endswith("a start with this folder as the model")


def test_a_parallel_speculator_with_state_norms_is_refused_unless_the_flag_is_inside() -> None:
    spec = PARALLEL.replacing(fusion_norm=FusionNorm.PER_STATE)
    keys = {"speculators_model_type": "peagle", "mask_token_id": 7}
    assert verdict(speculators(spec, config=keys), "vllm") is REJECTS
    assert verdict(speculators(spec, config=keys, inner={"fc_norm": True}), "vllm") is DEGRADED
