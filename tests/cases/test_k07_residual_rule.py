"""K7: the residual rule left unsaid."""

from __future__ import annotations

import pytest

from tests.cases.builders import d0
from tests.cases.running import BOUNDARY, convert, only, refused, target

TO_SPECULATORS = ("--to", "speculators", "--set", "target_name=org/t0", "--set", "speculative_tokens=3")


@pytest.mark.parametrize("layout", ["portable", "vllm", "sglang"])
def test_k7_i_the_layouts_of_engines_carry_an_explicit_false(tmp_path, layout):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path), "--to", layout)
    assert written.config["norm_before_residual"] is False


def test_k7_ii_the_speculators_layout_carries_an_explicit_false(tmp_path):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path), *TO_SPECULATORS)
    assert written.config["norm_before_residual"] is False


@pytest.mark.parametrize("options", [("--to", "vllm"), TO_SPECULATORS], ids=["vllm", "speculators"])
def test_k7_the_same_key_true_stays_true_where_it_is_honoured(tmp_path, options):
    draft = d0().config_with(norm_before_residual=True)
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), *options)
    assert written.config["norm_before_residual"] is True


@pytest.mark.parametrize("layout", ["portable", "sglang"])
def test_k7_the_same_key_true_is_refused_by_layouts_for_a_runtime_without_the_switch(tmp_path, layout):
    draft = d0().config_with(norm_before_residual=True)
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", layout)
    finding = only(errors, "dialect-cannot-hold")
    assert "SGLang has no norm_before_residual" in finding["message"]
    assert "--to vllm" in finding["hint"]


def test_k7_the_same_key_true_is_refused_for_a_runtime_that_would_ignore_it(tmp_path):
    draft = d0().config_with(norm_before_residual=True)
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", "vllm", "--for", "sglang")
    finding = next(entry for entry in errors.values() if "norm_before_residual" in entry["message"])
    assert finding["code"] == "engine-switch-ignored"
    assert finding["place"] == "sglang"
