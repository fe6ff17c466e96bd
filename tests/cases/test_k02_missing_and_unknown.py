"""K2: one tensor missing, one unknown."""

from __future__ import annotations

import pytest

from tests.cases.builders import d0, norm
from tests.cases.running import BOUNDARY, only, refused, target


def test_k2a_a_missing_tensor_is_named_and_nothing_is_written(tmp_path):
    draft = d0().without("midlayer.mlp.up_proj.weight")
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "tensor-missing")
    assert "midlayer.mlp.up_proj.weight" in finding["message"]
    assert "[128, 64]" in finding["expected"]


@pytest.mark.parametrize("name", sorted(set(d0().tensors) - {"d2t", "t2d", "lm_head.weight"}))
def test_k2a_no_tensor_of_the_layer_may_be_missing(tmp_path, name):
    errors = refused(tmp_path, d0().without(name), "--aux-layers", "2,4,5", "--target", target(tmp_path))
    assert errors


def test_k2b_an_unknown_tensor_is_named_and_nothing_is_written(tmp_path):
    draft = d0().with_tensors({"midlayer.self_attn.q_norm.weight": norm("q_norm", 32)})
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "tensor-unknown")
    assert "midlayer.self_attn.q_norm.weight" in finding["message"]
    assert "[32]" in finding["got"]
