"""K8: norms before `fc` and after the layer."""

from __future__ import annotations

import pytest

from tests.cases.builders import HIDDEN, Folder, d0, norm, state_norms
from tests.cases.running import BOUNDARY, convert, only, refused, target

WHOLE = {"input_norm.weight": norm("norm of all states", 3 * HIDDEN)}


def gpt_oss_like() -> Folder:
    """K8a: one norm over all states."""
    return d0().config_with(norm_before_fc=True).with_tensors(WHOLE)


def eagle_31(norms: int = 3) -> Folder:
    """K8d: one norm for each state, and the normed state fed back."""
    return d0().config_with(fc_norm=True, norm_output=True).with_tensors(state_norms(norms))


FLAGS = {
    "a": (gpt_oss_like, {"norm_before_fc": True, "fc_norm": False, "norm_output": False}),
    "d": (eagle_31, {"norm_before_fc": False, "fc_norm": True, "norm_output": True}),
}


@pytest.mark.parametrize("case", list(FLAGS))
def test_k8a_and_d_flags_are_written_at_top_level_and_nested(tmp_path, case):
    make, flags = FLAGS[case]
    config = convert(tmp_path, make(), *BOUNDARY, "--target", target(tmp_path)).config
    assert {name: config[name] for name in flags} == flags
    assert {name: config["eagle_config"][name] for name in flags} == flags


def test_k8a_the_norm_of_all_states_is_preserved(tmp_path):
    written = convert(tmp_path, gpt_oss_like(), *BOUNDARY, "--target", target(tmp_path)).tensors
    assert written["input_norm.weight"] == WHOLE["input_norm.weight"]
    assert len(written) == 16


def test_k8d_the_norms_of_the_states_are_preserved(tmp_path):
    written = convert(tmp_path, eagle_31(), *BOUNDARY, "--target", target(tmp_path)).tensors
    assert {name: written[name] for name in state_norms()} == state_norms()
    assert len(written) == 18


@pytest.mark.parametrize(
    ("flag", "name"), [("norm_before_fc", "input_norm.weight"), ("fc_norm", "fc_norm.0.weight")], ids=["a", "d"]
)
def test_k8b_a_flag_without_its_tensor_names_the_missing_tensor(tmp_path, flag, name):
    errors = refused(tmp_path, d0().config_with(**{flag: True}), *BOUNDARY, "--target", target(tmp_path))
    message = only(errors, "flag-against-tensors")["message"]
    assert flag in message
    assert name in message


def test_k8c_a_tensor_without_its_flag_sets_the_flag_with_a_word(tmp_path):
    written = convert(tmp_path, d0().with_tensors(WHOLE), *BOUNDARY, "--target", target(tmp_path))
    assert "norm_before_fc" in written.findings("warning")["flag-from-tensors"]["message"]
    assert written.config["norm_before_fc"] is True
    assert written.tensors["input_norm.weight"] == WHOLE["input_norm.weight"]


def test_k8c_a_tensor_against_its_flag_is_refused(tmp_path):
    draft = d0().config_with(norm_before_fc=False).with_tensors(WHOLE)
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "flag-against-tensors")
    assert "norm_before_fc is false, but input_norm.weight is stored" in finding["message"]


def test_k8e_both_norms_exclude_each_other(tmp_path):
    both = eagle_31().config_with(norm_before_fc=True).with_tensors(WHOLE)
    errors = refused(tmp_path, both, *BOUNDARY, "--target", target(tmp_path))
    assert "fc_norm and norm_before_fc are both there" in errors["norms-exclusive"]["message"]


def test_k8f_a_norm_that_is_missing_among_the_states_is_named(tmp_path):
    errors = refused(tmp_path, eagle_31(norms=2), *BOUNDARY, "--target", target(tmp_path))
    assert "fc_norm.2.weight" in only(errors, "tensor-missing")["message"]


@pytest.mark.parametrize("engine", ["vllm@0.21", "sglang@0.5.11"])
def test_k8d_a_version_that_does_not_know_fc_norm_is_refused(tmp_path, engine):
    errors = refused(tmp_path, eagle_31(), *BOUNDARY, "--target", target(tmp_path), "--for", engine)
    told = " ".join(entry["message"] for entry in errors.values())
    assert "fc_norm" in told
    assert "norm_output" in told
    assert {entry["place"] for entry in errors.values()} == {engine.partition("@")[0]}


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_k8d_the_newest_version_reads_it(tmp_path, engine):
    written = convert(tmp_path, eagle_31(), *BOUNDARY, "--target", target(tmp_path), "--for", engine)
    assert written.exit_code == 0
