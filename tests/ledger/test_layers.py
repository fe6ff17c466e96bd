"""Layer ids: counts taken for ids, one id too many, no list, ids counted from the end."""

from __future__ import annotations

import pytest

from tests.cases.builders import IDS, Folder, d0, t0
from tests.cases.running import BOUNDARY, convert, only, refused, target


def ids(values: list[int] | None) -> Folder:
    return d0().config_with(**{IDS: values})


def test_the_number_of_blocks_is_no_id_of_an_output(tmp_path):
    errors = refused(tmp_path, ids([1, 3, 8]), "--aux-convention", "output-of", "--target", target(tmp_path))
    message = only(errors, "aux-layers-range")["message"]
    assert "legal 0..8" in message


def test_a_fourth_id_beside_an_fc_for_three_states_is_refused(tmp_path):
    message = only(refused(tmp_path, ids([2, 4, 5, 7]), *BOUNDARY, "--target", target(tmp_path)), "aux-layers-count")
    assert "[2, 4, 5, 7] do not fit fc, which reads 3 states" in message["message"]


def test_ids_that_are_null_are_asked_for(tmp_path):
    only(refused(tmp_path, ids(None), "--target", target(tmp_path)), "aux-layers-absent")


def test_ids_that_were_said_are_written(tmp_path):
    written = convert(tmp_path, ids(None), "--aux-layers", "2,4,5", "--target", target(tmp_path), "--to", "vllm")
    assert written.config[IDS] == [2, 4, 5]


def test_ids_counted_from_the_end_are_refused(tmp_path):
    errors = refused(tmp_path, ids([2, 0, -2]), *BOUNDARY, "--target", target(tmp_path))
    assert "aux layer -2 does not exist" in errors["aux-layers-range"]["message"]


def test_ids_past_a_target_that_was_cut_are_named(tmp_path):
    model = target(tmp_path, t0().config_with(num_hidden_layers=1))
    message = only(refused(tmp_path, ids([2, 4, 5]), *BOUNDARY, "--target", model), "aux-layers-range")["message"]
    assert "legal 0..1" in message


@pytest.mark.parametrize("layout", ["portable", "vllm", "sglang"])
def test_number_of_states_ids_and_target_width_are_written_alike(tmp_path, layout):
    draft = ids(None).config_with(eagle_config={IDS: [2, 4, 5]}, num_aux_hidden_states=3, target_hidden_size=64)
    config = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", layout).config
    listed = config.get(IDS) or config["eagle_config"][IDS]
    assert (config["num_aux_hidden_states"], len(listed), config["target_hidden_size"]) == (3, 3, 64)
