"""K5: where the ids live, and whether they can exist."""

from __future__ import annotations

import pytest

from tests.cases.builders import IDS, Folder, d0, t0
from tests.cases.running import BOUNDARY, convert, only, refused, target


def ids(top: list[int] | None, nested: list[int] | None = None) -> Folder:
    """D0 with the ids at the top level, in eagle_config, at both or at neither."""
    draft = d0().config_with(**{IDS: top if top is not None else ...})
    return draft.config_with(eagle_config={IDS: nested}) if nested is not None else draft


def test_k5a_nested_ids_alone_are_accepted_and_written_in_both_places(tmp_path):
    config = convert(tmp_path, ids(None, [2, 4, 5]), *BOUNDARY, "--target", target(tmp_path)).config
    assert config[IDS] == [2, 4, 5]
    assert config["eagle_config"][IDS] == [1, 3, 4]


def test_k5b_two_lists_that_disagree_are_told_with_both_lists(tmp_path):
    errors = refused(tmp_path, ids([2, 4, 5], [2, 4, 6]), *BOUNDARY, "--target", target(tmp_path))
    message = only(errors, "aux-layers-conflict")["message"]
    assert "[2, 4, 5]" in message
    assert "[2, 4, 6]" in message


def test_k5c_absent_ids_print_the_default_of_servers_and_are_not_adopted(tmp_path):
    finding = only(refused(tmp_path, ids(None), "--target", target(tmp_path)), "aux-layers-absent")
    assert "[2, 4, 5]" in finding["message"]
    assert "--aux-layers default" in finding["hint"]


def test_k5c_absent_ids_become_the_default_when_the_user_says_so(tmp_path):
    written = convert(tmp_path, ids(None), "--aux-layers", "default", "--target", target(tmp_path))
    assert written.fact("aux_layers") == [2, 4, 5]


def test_k5d_the_state_before_the_final_norm_is_accepted(tmp_path):
    written = convert(tmp_path, ids([4, 6, 8]), *BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    assert written.config[IDS] == [4, 6, 8]


def test_k5d_sglang_spells_the_state_before_the_final_norm_for_a_gpt_oss_target(tmp_path):
    model = target(tmp_path, t0().config_with(model_type="gpt_oss", architectures=["GptOssForCausalLM"]))
    config = convert(tmp_path, ids([4, 6, 8]), *BOUNDARY, "--target", model).config
    assert config[IDS] == config["eagle_config"][IDS] == [4, 6, 8]


def test_k5d_a_layout_whose_reader_never_captures_it_says_so(tmp_path):
    finding = only(refused(tmp_path, ids([4, 6, 8]), *BOUNDARY, "--target", target(tmp_path)), "aux-inexpressible")
    assert "SGLang never captures boundary 8" in finding["message"]
    assert "--to vllm" in finding["hint"]


def test_k5e_a_layer_that_does_not_exist_is_told_with_the_legal_range(tmp_path):
    errors = refused(tmp_path, ids([4, 6, 9]), *BOUNDARY, "--target", target(tmp_path))
    message = only(errors, "aux-layers-range")["message"]
    assert "aux layer 9" in message
    assert "legal 0..8" in message


def test_k5f_a_layer_listed_twice_is_refused(tmp_path):
    errors = refused(tmp_path, ids([2, 2, 5]), *BOUNDARY, "--target", target(tmp_path))
    assert "aux layer 2 is listed more than once in [2, 2, 5]" in only(errors, "aux-layers-repeat")["message"]


@pytest.mark.parametrize("said", [(), ("--aux-layers", "default")], ids=["nothing said", "the default asked for"])
def test_k5g_the_default_of_a_shallow_target_collapses_so_ids_must_be_given(tmp_path, said):
    model = target(tmp_path, t0().config_with(num_hidden_layers=5))
    finding = only(refused(tmp_path, ids(None), *said, "--target", model), "aux-default-collapses")
    assert "5 blocks" in finding["message"]
    assert "[2, 2, 2]" in finding["message"]
    assert "--aux-layers" in finding["hint"]
