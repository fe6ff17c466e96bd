"""Rope in the schema of transformers 4, in that of transformers 5, in one of them only, or in neither."""

from __future__ import annotations

import pytest

from tests.cases.builders import d0, t0
from tests.cases.running import BOUNDARY, Written, convert, only, refused, target

SCALINGS = {
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 4.0},
    "llama3": {
        "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
    },
    "yarn": {"factor": 32.0, "original_max_position_embeddings": 4096},
}  # fmt: skip
LAYERED = {
    "full_attention": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
"""One rope for each kind of layer."""


def converted(tmp_path, **config) -> Written:
    return convert(tmp_path, d0().config_with(**config), *BOUNDARY, "--target", target(tmp_path))


def in_schema(number: int, kind: str) -> dict[str, object]:
    """A scaled rope with base 150000 as transformers 4 or 5 writes it."""
    scaled = {"rope_type": kind, **SCALINGS[kind]}
    if number == 4:
        return {"rope_theta": 150000.0, "rope_scaling": scaled}
    return {"rope_theta": ..., "rope_parameters": {**scaled, "rope_theta": 150000.0}}


@pytest.mark.parametrize("kind", SCALINGS)
@pytest.mark.parametrize("schema", [4, 5])
def test_a_scaled_rope_in_one_schema_is_written_in_both(tmp_path, schema, kind):
    config = converted(tmp_path, **in_schema(schema, kind)).config
    scaled = {"rope_type": kind, **SCALINGS[kind]}
    assert config["rope_theta"] == config["rope_parameters"]["rope_theta"] == 150000.0
    assert config["rope_parameters"].items() >= scaled.items()
    assert config["rope_scaling"].items() >= scaled.items()


def test_a_base_in_rope_parameters_alone_is_read(tmp_path):
    config = converted(tmp_path, rope_theta=..., rope_parameters={"rope_type": "default", "rope_theta": 7e5}).config
    assert (config["rope_theta"], config["rope_parameters"]["rope_theta"]) == (7e5, 7e5)


def test_two_bases_that_disagree_are_refused(tmp_path):
    draft = d0().config_with(rope_theta=1e4, rope_parameters={"rope_type": "default", "rope_theta": 7e5})
    only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "config-conflict")


def test_a_base_that_nothing_states_is_told_beside_the_target_s(tmp_path):
    message = converted(tmp_path, rope_theta=...).findings("warning")["rope-differs"]["message"]
    assert "10000, the target's 500000" in message


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_a_kind_of_rope_that_nobody_knows_is_refused(tmp_path, key):
    draft = d0().config_with(**{key: {"rope_type": "spiral", "factor": 2.0, "rope_theta": 500000.0}})
    errors = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    assert key in only(errors, "config-wrong-value")["message"]


def test_a_rope_for_each_kind_of_layer_has_no_older_form_and_is_refused(tmp_path):
    draft = d0().config_with(rope_theta=..., rope_parameters=LAYERED)
    only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "config-wrong-value")


def test_a_target_with_a_rope_for_each_kind_of_layer_is_read(tmp_path):
    model = target(tmp_path, t0().config_with(rope_theta=..., rope_parameters=LAYERED))
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", model)
    assert written.config["rope_theta"] == 500000
