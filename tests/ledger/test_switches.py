"""Switches with two homes, and switches that ask for another network."""

from __future__ import annotations

from tests.cases.builders import HIDDEN, Folder, d0, norm
from tests.cases.running import BOUNDARY, convert, only, refused, target


def nested(**top: object) -> Folder:
    """The norm of all states, its switch in eagle_config."""
    whole = {"input_norm.weight": norm("norm of all states", 3 * HIDDEN)}
    return d0().config_with(eagle_config={"norm_before_fc": True}, **top).with_tensors(whole)


def test_a_switch_in_eagle_config_alone_is_written_in_both_places(tmp_path):
    config = convert(tmp_path, nested(), *BOUNDARY, "--target", target(tmp_path)).config
    assert config["norm_before_fc"] is config["eagle_config"]["norm_before_fc"] is True


def test_a_switch_that_is_said_twice_and_differently_is_refused(tmp_path):
    errors = refused(tmp_path, nested(norm_before_fc=False), *BOUNDARY, "--target", target(tmp_path))
    assert "eagle_config.norm_before_fc = True" in errors["config-conflict"]["message"]


def test_a_window_over_the_drafter_s_own_layer_is_refused(tmp_path):
    draft = d0().config_with(layer_types=["sliding_attention"], sliding_window=1024)
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    assert "window" in only(errors, "config-unsupported")["message"]
