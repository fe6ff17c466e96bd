"""K4: two conventions for one key."""

from __future__ import annotations

import numpy
import pytest

from tests.cases.builders import BLOCKS, HIDDEN, IDS, Folder, d0
from tests.cases.running import BOUNDARY, Written, convert, only, refused, target

OUTPUT_OF = ("--aux-convention", "output-of")


def states() -> list[numpy.ndarray]:
    """A target whose state after k blocks is filled with k."""
    return [numpy.full(HIDDEN, k, "f4") for k in range(BLOCKS + 1)]


def fused_by_vllm(config) -> list[int]:
    """What `fc` receives in vLLM: id k of the top level names the input of block k."""
    return _fused([states()[k] for k in sorted(config[IDS])])


def fused_by_sglang(config) -> list[int]:
    """What `fc` receives in SGLang, for a Llama target: nested id j names the output of block j."""
    return _fused([states()[j + 1] for j in config["eagle_config"][IDS]])


def _fused(captured) -> list[int]:
    columns = numpy.concatenate(captured).reshape(-1, HIDDEN)
    assert all(len(set(column)) == 1 for column in columns)
    return [int(column[0]) for column in columns]


def ids(values: list[int]) -> Folder:
    return d0().config_with(**{IDS: values})


DECLARED = {"boundary": ([2, 4, 5], BOUNDARY), "output-of": ([1, 3, 4], OUTPUT_OF)}


def converted(tmp_path, spelling: str, layout: str) -> Written:
    values, declared = DECLARED[spelling]
    return convert(tmp_path, ids(values), *declared, "--target", target(tmp_path), "--to", layout)


@pytest.mark.parametrize("spelling", list(DECLARED))
def test_k4a_and_b_both_spellings_mean_boundaries_2_4_5(tmp_path, spelling):
    written = converted(tmp_path, spelling, "portable")
    assert written.fact("aux_layers") == [2, 4, 5]
    assert written.config["eaglekit"]["aux_layers"] == [2, 4, 5]


@pytest.mark.parametrize("spelling", list(DECLARED))
def test_k4a_and_b_an_output_of_reader_gets_1_3_4(tmp_path, spelling):
    config = converted(tmp_path, spelling, "sglang").config
    assert config["eagle_config"][IDS] == [1, 3, 4]
    assert IDS not in config


@pytest.mark.parametrize("spelling", list(DECLARED))
def test_k4a_and_b_a_boundary_reader_gets_2_4_5(tmp_path, spelling):
    config = converted(tmp_path, spelling, "vllm").config
    assert config[IDS] == [2, 4, 5]
    assert IDS not in config["eagle_config"]


@pytest.mark.parametrize("spelling", list(DECLARED))
def test_k4a_and_b_fc_receives_states_2_4_5_in_that_order_from_one_folder_in_both_engines(tmp_path, spelling):
    config = converted(tmp_path, spelling, "portable").config
    assert fused_by_vllm(config) == [2, 4, 5]
    assert fused_by_sglang(config) == [2, 4, 5]


@pytest.mark.parametrize("known", ["with the target", "without the target"])
def test_k4c_ids_without_a_declaration_are_asked_about(tmp_path, known):
    options = ("--target", target(tmp_path)) if known == "with the target" else ("--target-family", "llama")
    finding = only(refused(tmp_path, ids([1, 3, 4]), *options), "aux-convention-unknown")
    assert "[1, 3, 4]" in finding["message"]
    assert "boundary [1, 3, 4] or output-of, which is boundary [2, 4, 5]" in finding["expected"]
    assert "--aux-convention boundary or output-of" in finding["hint"]
    assert ("--target" in finding["hint"]) == (known == "without the target")


@pytest.mark.parametrize("answer", [OUTPUT_OF, ("--aux-layers", "2,4,5")], ids=["convention", "layers"])
def test_k4c_an_explicit_flag_answers(tmp_path, answer):
    written = convert(tmp_path, ids([1, 3, 4]), *answer, "--target", target(tmp_path))
    assert written.fact("aux_layers") == [2, 4, 5]
