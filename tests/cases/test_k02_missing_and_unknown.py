"""K2: one tensor missing, one unknown."""

from __future__ import annotations

import pytest

from tests.cases.builders import d0, norm
from tests.cases.running import BOUNDARY, convert, only, refused, target


def test_k2a_a_missing_tensor_is_named_and_nothing_is_written(tmp_path):
    draft = d0().without("midlayer.mlp.up_proj.weight")
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "tensor-missing")
    assert "midlayer.mlp.up_proj.weight" in finding["message"]
    assert "[128, 64]" in finding["expected"]


@pytest.mark.parametrize("name", sorted(set(d0().tensors) - {"d2t", "t2d", "lm_head.weight"}))
def test_k2a_no_tensor_of_the_network_may_be_missing(tmp_path, name):
    errors = refused(tmp_path, d0().without(name), *BOUNDARY, "--target", target(tmp_path))
    assert f"tensor {name} " in only(errors, "tensor-missing")["message"]


def test_k2a_a_head_that_the_map_promises_may_not_be_missing(tmp_path):
    errors = refused(tmp_path, d0().without("lm_head.weight"), *BOUNDARY, "--target", target(tmp_path))
    assert "no head is stored" in only(errors, "head-missing")["message"]


@pytest.mark.parametrize("name", ["d2t", "t2d"])
def test_k2a_a_map_or_mask_that_follows_from_the_other_is_made_from_it(tmp_path, name):
    written = convert(tmp_path, d0().without(name), *BOUNDARY, "--target", target(tmp_path))
    assert written.tensors[name] == d0().tensors[name]


def test_k2b_an_unknown_tensor_is_named_and_nothing_is_written(tmp_path):
    draft = d0().with_tensors({"midlayer.self_attn.q_norm.weight": norm("q_norm", 32)})
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "tensor-unknown")
    assert "midlayer.self_attn.q_norm.weight" in finding["message"]
    assert "[32]" in finding["got"]
