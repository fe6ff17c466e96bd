"""What SGLang makes of files: one fact a test."""

from __future__ import annotations

import pytest

from eaglekit.drafter import Feedback, Fusion, FusionNorm, Residual
from eaglekit.engines import Verdict
from tests.engines.drafters import EAGLE31, LLAMA, MLA, TOP, made, read, sentence, speculators, verdict

READS, DEGRADED, MISREADS, REJECTS = Verdict.READS, Verdict.DEGRADED, Verdict.MISREADS, Verdict.REJECTS


def nested(*ids: int) -> dict[str, object]:
    """Config keys with ids in eagle_config only."""
    return {TOP: None, "eagle_config": {TOP: list(ids), "use_aux_hidden_state": True}}


# Layer ids.


def test_top_level_ids_are_ignored() -> None:
    text = sentence(made(config={"eagle_config": None}), "sglang", "engine-layers-wrong")
    assert text.startswith("SGLang ignores the ids at the top level and captures layers 2")


def test_explicit_ids_are_outputs_of_blocks() -> None:
    text = sentence(made(config=nested(3, 17, 30)), "sglang", "engine-layers-wrong")
    assert text == (
        "SGLang reads the ids [3, 17, 30] in eagle_config as outputs of blocks counted from 0 and captures layers "
        "4, 18, 31 instead of 3, 17, 30 (boundary indices), one block too late"
    )


def test_the_default_is_boundary_indices_although_explicit_ids_are_not() -> None:
    artefact = made(LLAMA.replacing(aux_layers=(2, 16, 29)), config={TOP: None, "eagle_config": None})
    assert verdict(artefact, "sglang") is READS


@pytest.mark.parametrize("family", ["deepseek_v3", "kimi_k2", "glm4_moe_lite"])
@pytest.mark.parametrize("ids", [(1, 29, 57), (2, 30, 58)], ids=["starts with 1", "starts with 2"])
def test_from_0_5_13_on_a_deepseek_target_takes_both_conventions(family: str, ids: tuple[int, ...]) -> None:
    artefact = made(MLA.replacing(target_family=family), config=nested(*ids))
    assert verdict(artefact, "sglang@0.5.13") is READS


def test_in_0_5_12_boundary_indices_of_a_deepseek_target_are_one_late() -> None:
    text = sentence(made(MLA, config=nested(2, 30, 58)), "sglang@0.5.12", "engine-layers-wrong")
    assert text.endswith("one block too late")


def test_from_0_5_17_on_a_gpt_oss_list_that_ends_with_the_depth_is_boundary_indices() -> None:
    spec = LLAMA.replacing(target_family="gpt_oss", target_layers=36, aux_layers=(24, 30, 36))
    artefact = made(spec, config=nested(24, 30, 36))
    assert verdict(artefact, "sglang@0.5.17") is READS
    assert verdict(artefact, "sglang@0.5.16") is REJECTS


def test_the_output_of_the_last_block_of_an_ordinary_target_is_never_captured() -> None:
    artefact = made(LLAMA.replacing(aux_layers=(3, 17, 32)))
    text = sentence(artefact, "sglang", "engine-layers-uncapturable")
    assert text == (
        "SGLang never captures boundary 32, the output of this target's last block, so fc gets 2 states of 3"
    )


def test_the_default_for_a_vision_minimax_m3_is_one_later() -> None:
    spec = LLAMA.replacing(target_family="minimax_m3_vl", target_layers=60, aux_layers=(3, 31, 58))
    assert verdict(made(spec, config={TOP: None, "eagle_config": None}), "sglang@0.5.16") is READS


def test_the_default_for_a_minimax_m3_of_unknown_class_is_not_established() -> None:
    spec = LLAMA.replacing(target_family="minimax_m3", target_layers=60, aux_layers=(2, 30, 57))
    reading = read(made(spec, config={TOP: None, "eagle_config": None}), "sglang")
    assert reading.verdict is READS
    assert "is not established" in reading.unknown[0]


def test_ids_whose_meaning_depends_on_an_unknown_family_are_not_judged_when_one_fits() -> None:
    spec = LLAMA.replacing(target_family=None, target_layers=61, aux_layers=(2, 30, 58))
    reading = read(made(spec, config=nested(2, 30, 58)), "sglang")
    assert reading.verdict is READS
    assert reading.unknown == (
        "SGLang captures layers 3, 31, 59 or 2, 30, 58, depending on the target's family, which nothing says",
    )


def test_ids_that_mean_the_same_for_every_family_are_judged_without_one() -> None:
    spec = LLAMA.replacing(target_family=None, target_layers=61, aux_layers=(2, 30, 58))
    assert read(made(spec, config=nested(1, 29, 57)), "sglang").unknown == ()


def test_ids_that_fit_no_family_are_wrong_without_one() -> None:
    spec = LLAMA.replacing(target_family=None, target_layers=61, aux_layers=(5, 6, 7))
    assert verdict(made(spec, config=nested(2, 30, 58)), "sglang") is MISREADS


def test_a_family_no_row_covers_is_an_unknown_one() -> None:
    spec = LLAMA.replacing(target_family="brand_new", target_layers=61, aux_layers=(2, 30, 58))
    assert "depending on the target's family" in read(made(spec, config=nested(2, 30, 58)), "sglang").unknown[0]


# Classes, names, tensors.


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "Eagle3LlamaForCausalLM", "LlamaEagle3DraftModel"])
def test_only_its_own_names_are_registered(name: str) -> None:
    artefact = made(config={"architectures": [name]})
    assert name in sentence(artefact, "sglang", "engine-class-unregistered")


def test_a_speculators_config_is_not_understood() -> None:
    assert [e.code for e in read(speculators(), "sglang").effects] == ["engine-format-unread"]


def test_up_to_0_5_11_layers_0_loads_nothing() -> None:
    text = sentence(made(), "sglang@0.5.11", "engine-names-unread")
    assert text == "SGLang drops 10 tensors named layers.{n}.* silently: it looks for midlayer.*"
    assert verdict(made(rename={"layers.0.": "midlayer."}), "sglang@0.5.11") is READS


def test_from_0_5_12_on_both_spellings_load() -> None:
    assert verdict(made(rename={"layers.0.": "midlayer."}), "sglang@0.5.12") is READS


def test_an_outer_prefix_loads_in_the_llama_class_only() -> None:
    prefixed = {"layers.0.": "model.layers.0.", "fc.": "model.fc.", "norm.": "model.norm."}
    assert verdict(made(rename=prefixed), "sglang") is READS
    assert verdict(made(MLA, rename=prefixed), "sglang") is MISREADS


def test_a_stranger_is_dropped_silently() -> None:
    text = sentence(made(add=["extra.weight"]), "sglang", "engine-tensor-dropped")
    assert text == "SGLang drops extra.weight silently: it has no parameter of that name"


def test_the_mla_class_warns_of_a_stranger() -> None:
    assert "with a warning" in sentence(made(MLA, add=["extra.weight"]), "sglang", "engine-tensor-dropped")


def test_a_missing_tensor_is_served_uninitialised() -> None:
    assert verdict(made(without=["fc.weight"]), "sglang") is MISREADS


@pytest.mark.parametrize("part", ["qk_norm", "attention_bias", "mlp_bias"])
def test_parts_it_does_not_have_are_dropped(part: str) -> None:
    artefact = made(LLAMA.replacing(**{part: True}), config={"attention_bias": True, "mlp_bias": True})
    assert " silently: its Llama drafter has no " in sentence(artefact, "sglang", "engine-tensor-dropped")


def test_a_bias_of_fc_is_read_with_its_flag_which_makes_one_of_the_attention_s_output_too() -> None:
    spec = LLAMA.replacing(fusion_bias=True)
    text = sentence(made(spec, config={"bias": True}), "sglang", "engine-tensor-missing")
    assert "layers.0.self_attn.o_proj.bias" in text
    assert "fc.bias" in sentence(made(spec), "sglang", "engine-tensor-dropped")


def test_up_to_0_5_11_the_second_layer_is_dropped() -> None:
    artefact = made(LLAMA.replacing(num_layers=2), rename={"layers.0.": "midlayer."})
    assert "drops layer 1 silently" in sentence(artefact, "sglang@0.5.11", "engine-depth-wrong")


def test_layers_that_are_not_stored_stay_random_from_0_5_12_on() -> None:
    artefact = made(config={"num_hidden_layers": 32})
    assert "of which 31 are not stored" in sentence(artefact, "sglang@0.5.12", "engine-depth-wrong")


def test_a_later_layer_reads_hidden_norm() -> None:
    spec = LLAMA.replacing(num_layers=2)
    assert "reads layers.1.hidden_norm.weight" in sentence(made(spec), "sglang", "engine-layer-norm-unread")
    assert verdict(made(spec, add=["layers.1.hidden_norm.weight"]), "sglang") is READS


def test_the_mla_class_has_one_layer() -> None:
    assert verdict(made(MLA.replacing(num_layers=2)), "sglang") is MISREADS


def test_the_mla_class_needs_a_query_rank() -> None:
    artefact = made(MLA.replacing(q_lora_rank=None))
    assert "needs q_lora_rank" in sentence(artefact, "sglang", "engine-latent-attention")


# Switches.


def test_fc_norm_is_dropped_silently_up_to_0_5_11() -> None:
    artefact = made(EAGLE31, rename={"layers.0.": "midlayer."})
    assert "has no fc_norm" in sentence(artefact, "sglang@0.5.11", "engine-tensor-dropped")


@pytest.mark.parametrize(("version", "expected"), [("0.5.12", MISREADS), ("0.5.13", READS)])
def test_the_mla_class_knows_3_1_from_0_5_13_on(version: str, expected: Verdict) -> None:
    spec = MLA.replacing(fusion_norm=FusionNorm.PER_STATE, feedback=Feedback.NORMED)
    assert verdict(made(spec, config=nested(1, 29, 57)), f"sglang@{version}") is expected


def test_state_norms_under_their_old_names_are_read_with_their_old_flag() -> None:
    old = {f"fc_norm.{n}.": f"aux_norm_{name}." for n, name in enumerate(("low", "mid", "high"))}
    artefact = made(EAGLE31, rename=old, config={"fc_norm": None, "use_aux_norm": True})
    assert verdict(artefact, "sglang@0.5.12") is READS


def test_the_whole_norm_is_read_from_0_5_17_on() -> None:
    artefact = made(LLAMA.replacing(fusion_norm=FusionNorm.WHOLE))
    assert verdict(artefact, "sglang@0.5.17") is READS
    assert verdict(artefact, "sglang@0.5.16") is MISREADS


def test_the_normed_residual_is_not_implemented() -> None:
    text = sentence(made(LLAMA.replacing(residual=Residual.NORMED)), "sglang", "engine-switch-ignored")
    assert text == (
        "SGLang has no norm_before_residual and starts layer 0 from the state before hidden_norm; the drafter was "
        "trained with the state after hidden_norm"
    )


def test_parallel_drafting_is_not_implemented() -> None:
    artefact = made(LLAMA.replacing(parallel_drafting=True, mask_token_id=7))
    assert "ignores mask_hidden" in sentence(artefact, "sglang", "engine-parallel-drafting")


def test_a_drafter_of_the_final_state_serves() -> None:
    spec = LLAMA.replacing(fusion=Fusion.FINAL_STATE, aux_layers=())
    assert verdict(made(spec, config={"eagle_config": {"use_aux_hidden_state": False}}), "sglang") is READS


# Widths, vocabulary, head, embedding.


@pytest.mark.parametrize(("version", "expected"), [("0.5.11", REJECTS), ("0.5.12", READS)])
def test_other_numbers_of_states_than_three_load_from_0_5_12_on(version: str, expected: Verdict) -> None:
    spec = LLAMA.replacing(num_aux_states=4, aux_layers=(2, 9, 17, 30))
    assert verdict(made(spec, rename={"layers.0.": "midlayer."}), f"sglang@{version}") is expected


def test_the_mla_class_counts_the_ids_and_not_num_aux_hidden_states() -> None:
    spec = MLA.replacing(num_aux_states=4, aux_layers=(2, 9, 30, 58))
    assert verdict(made(spec, config={"num_aux_hidden_states": None}), "sglang") is READS


def test_one_state_as_wide_as_the_drafter_never_meets_fc() -> None:
    artefact = made(LLAMA.replacing(num_aux_states=1, aux_layers=(17,)))
    assert "so never to this one captured state" in sentence(artefact, "sglang", "engine-width-wrong")
    assert verdict(artefact, "vllm") is READS


def test_an_absent_draft_vocab_size_is_an_error() -> None:
    text = sentence(made(config={"draft_vocab_size": None}), "sglang", "engine-vocabulary-wrong")
    assert text == "SGLang needs draft_vocab_size, and the config has none"


def test_a_null_draft_vocab_size_borrows_the_target_s_head_from_0_5_4_on() -> None:
    spec = LLAMA.replacing(own_head=False, draft_vocab_size=320, target_ids=None)
    artefact = made(spec, rename={"layers.0.": "midlayer."})
    null = type(artefact)({**artefact.config, "draft_vocab_size": None}, artefact.tensors, spec)
    assert verdict(null, "sglang@0.5.4") is READS
    assert verdict(null, "sglang@0.5.3") is REJECTS


def test_a_head_that_is_absent_is_not_filled_without_null() -> None:
    spec = LLAMA.replacing(own_head=False, draft_vocab_size=320, target_ids=None)
    assert "loads without lm_head.weight" in sentence(made(spec), "sglang", "engine-tensor-missing")


def test_tied_embeddings_drop_the_stored_head() -> None:
    artefact = made(config={"tie_word_embeddings": True})
    assert "drops lm_head.weight silently" in sentence(artefact, "sglang", "engine-head-wrong")
    assert verdict(artefact, "vllm") is READS


def test_an_own_embedding_is_kept_when_the_widths_differ() -> None:
    same = LLAMA.replacing(own_embedding=True)
    assert verdict(made(same), "sglang") is DEGRADED
    assert verdict(made(same.replacing(target_hidden_size=128)), "sglang") is READS


def test_a_target_width_that_the_config_does_not_say_is_missed() -> None:
    artefact = made(LLAMA.replacing(target_hidden_size=128), config={"target_hidden_size": None})
    assert "builds fc for states of width 64" in sentence(artefact, "sglang", "engine-width-wrong")
