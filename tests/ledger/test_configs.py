"""Keys that were copied from another model."""

from __future__ import annotations

import pytest

from tests.cases.builders import d0, mtp_layer, nvfp4_target
from tests.cases.running import BOUNDARY, convert, refused, target
from tests.cases.test_k15_parallel_drafts import p_eagle

COPIED = {
    "layer_types": ["full_attention"] * 40,
    "max_window_layers": 28,
    "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"},
    "pretraining_tp": None,
}


@pytest.mark.parametrize("key", COPIED)
def test_a_key_that_describes_the_target_s_depth_or_code_is_left_behind(tmp_path, key):
    draft = d0().config_with(**{key: COPIED[key]})
    assert key not in convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)).config


def test_a_target_that_lists_its_prediction_layer_among_its_blocks_keeps_its_depth(tmp_path):
    model = nvfp4_target().config_with(layer_types=["full_attention"] * 9)
    model.with_tensors(mtp_layer("model.layers.8."))
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, model))
    assert written.config["eaglekit"]["target"]["num_hidden_layers"] == 8


def test_a_mask_id_under_a_name_that_nobody_reads_is_named_and_asked_for(tmp_path):
    draft = p_eagle(mask_token_id=..., unused_token_id=319)
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", "vllm")
    assert set(errors) == {"config-key-unknown", "mask-token"}
    assert "unused_token_id" in errors["config-key-unknown"]["message"]
