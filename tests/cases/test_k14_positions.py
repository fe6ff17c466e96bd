"""K14: positions."""

from __future__ import annotations

import pytest

from tests.cases.builders import Folder, d0, t0
from tests.cases.running import BOUNDARY, Written, convert, only, refused, target


def converted(tmp_path, draft: Folder) -> Written:
    return convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))


def interleaved_target(tmp_path):
    """A target that rotates neighbouring channels."""
    return target(tmp_path, t0().config_with(model_type="deepseek_v3", rope_interleave=True))


def test_k14a_another_base_than_the_target_s_is_only_warned_about(tmp_path):
    written = converted(tmp_path, d0().config_with(rope_theta=10000))
    message = written.findings("warning")["rope-differs"]["message"]
    assert "10000" in message
    assert "500000" in message
    assert written.config["rope_theta"] == written.config["rope_parameters"]["rope_theta"] == 10000


@pytest.mark.parametrize("kind", ["mrope", "default"])
def test_k14b_sections_of_a_vision_target_are_removed_with_a_word(tmp_path, kind):
    written = converted(tmp_path, d0().config_with(rope_scaling={"type": kind, "mrope_section": [4, 6, 6]}))
    assert "mrope-dropped" in written.findings("warning")
    assert "mrope" not in str(written.config)
    assert written.config["rope_scaling"] is None


def test_k14c_the_position_table_grows_and_the_trained_length_stays_beside_it(tmp_path):
    written = converted(tmp_path, d0().config_with(max_position_embeddings=2048))
    assert written.config["max_position_embeddings"] == 8192
    assert written.config["eaglekit"]["trained_context_length"] == 2048


def test_k14c_the_target_is_told_to_be_4_times_longer(tmp_path):
    written = converted(tmp_path, d0().config_with(max_position_embeddings=2048))
    message = written.findings("warning")["context-shorter"]["message"]
    assert "2048" in message
    assert "8192, 4 times as many" in message


def test_k14c_the_trained_length_survives_a_second_conversion(tmp_path):
    first = converted(tmp_path, d0().config_with(max_position_embeddings=2048))
    second = convert(tmp_path, first.folder, "--to", "vllm", name="again")
    assert second.config["eaglekit"]["trained_context_length"] == 2048


def test_k14d_the_layout_of_the_training_is_declared_and_not_the_target_s(tmp_path):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", interleaved_target(tmp_path))
    assert written.config["eaglekit"]["rotation"] == "halves"
    assert "rope_interleave" not in written.config


@pytest.mark.parametrize(
    ("key", "value"), [("rope_interleave", True), ("rope_interleaved", True), ("is_neox_style", False)]
)
def test_k14d_a_declaration_that_contradicts_the_attention_stops_with_the_two_choices(tmp_path, key, value):
    draft = d0().config_with(**{key: value})
    finding = only(
        refused(tmp_path, draft, *BOUNDARY, "--target", interleaved_target(tmp_path)), "rotation-contradicts"
    )
    assert key in finding["message"]
    assert (finding["got"], finding["expected"]) == ("interleaved", "halves")
    assert f"--drop {key}" in finding["hint"]


def test_k14d_a_declaration_copied_from_the_target_is_left_behind_when_the_user_says_so(tmp_path):
    draft = d0().config_with(rope_interleave=True)
    options = (*BOUNDARY, "--target", interleaved_target(tmp_path), "--drop", "rope_interleave")
    written = convert(tmp_path, draft, *options)
    assert written.left()["rope_interleave"] == "dropped by the user with --drop"
    assert written.config["eaglekit"]["rotation"] == "halves"


@pytest.mark.parametrize(("key", "value"), [("rope_interleave", False), ("is_neox_style", True)])
def test_k14d_a_declaration_that_fits_is_no_matter(tmp_path, key, value):
    assert converted(tmp_path, d0().config_with(**{key: value})).config["eaglekit"]["rotation"] == "halves"
