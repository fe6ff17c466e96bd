"""K21: a quantised target with an MTP layer, as far as it concerns a drafter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.builders import (
    BLOCKS,
    IDS,
    INDEX,
    SINGLE,
    Folder,
    Stored,
    d0,
    headless,
    mtp_layer,
    nvfp4_target,
    quantized,
    serialized,
    t0,
)
from tests.cases.running import BOUNDARY, convert, only, refused, target
from tests.cli.running import eaglekit
from tests.hub import Client, Hub

BOTH = ("--head", "copy", "--embedding", "copy")
TABLES = {
    "embed_tokens.weight": t0().tensors["model.embed_tokens.weight"],
    "lm_head.weight": t0().tensors["lm_head.weight"],
}


def inlined(*, own_tables: bool = True) -> Folder:
    """K21a and g: the MTP layer is number 8, beside the 8 blocks."""
    return nvfp4_target().with_tensors(mtp_layer(f"model.layers.{BLOCKS}.", own_tables=own_tables))


def beside(path: Path) -> Path:
    """K21b: the MTP layer in a file of its own that the index does not name."""
    model = nvfp4_target()
    model.shards = dict.fromkeys(model.tensors, SINGLE)
    model.write(path)
    (path / "mtp.safetensors").write_bytes(serialized(mtp_layer("mtp."), {}))
    assert "mtp" not in (path / INDEX).read_text()
    return path


TARGETS = {
    "a": lambda path: inlined().write(path),
    "b": beside,
    "c": lambda path: nvfp4_target().write(path),
    "g": lambda path: inlined(own_tables=False).write(path),
}


@pytest.mark.parametrize("case", list(TARGETS))
def test_k21a_b_c_and_g_the_depth_is_that_of_the_blocks(tmp_path, case):
    model = TARGETS[case](tmp_path / "target")
    config = convert(tmp_path, d0(), *BOUNDARY, "--target", model).config
    assert config["eaglekit"]["target"] == {"model_type": "glm4_moe", "num_hidden_layers": 8}
    assert (config[IDS], config["eagle_config"][IDS]) == ([2, 4, 5], [1, 3, 4])


@pytest.mark.parametrize("case", list(TARGETS))
def test_k21a_b_c_and_g_a_layer_above_the_blocks_is_no_captured_state(tmp_path, case):
    model = TARGETS[case](tmp_path / "target")
    errors = refused(tmp_path, d0().config_with(**{IDS: [4, 6, 9]}), *BOUNDARY, "--target", model)
    assert "legal 0..8" in only(errors, "aux-layers-range")["message"]


@pytest.mark.parametrize("case", list(TARGETS))
def test_k21a_b_c_and_g_embedding_and_head_are_the_model_s_and_not_the_mtp_layer_s(tmp_path, case):
    model = TARGETS[case](tmp_path / "target")
    written = convert(tmp_path, headless(d0()), *BOUNDARY, "--target", model, *BOTH).tensors
    assert {name: written[name] for name in TABLES} == TABLES


def test_k21f_a_hub_id_gives_what_the_folder_gives(tmp_path):
    model, source = inlined().write(tmp_path / "target"), headless(d0()).write(tmp_path / "source")
    with Hub(tmp_path / "hub") as hub:
        hub.publish("org/target", model)
        words = ("convert", source, tmp_path / "there", *BOUNDARY, "--target", "org/target", *BOTH)
        done = eaglekit(*words, environment=Client(hub, tmp_path / "home").environment)
    assert done.code == 0, done.err
    here = convert(tmp_path, source, *BOUNDARY, "--target", model, *BOTH, name="here")
    assert (tmp_path / "there" / SINGLE).read_bytes() == (here.folder / SINGLE).read_bytes()


PACKED = {
    "packed": lambda: nvfp4_target().without("lm_head.weight").with_tensors(quantized("lm_head", 320, 64)),
    "eight bits": lambda: nvfp4_target().with_tensors(
        {"lm_head.weight": Stored("F8_E4M3", (320, 64), bytes([0x38]) * 320 * 64)}
    ),
}


@pytest.mark.parametrize("kind", list(PACKED))
def test_k21_a_quantised_head_is_no_matter_to_a_draft_with_its_own(tmp_path, kind):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, PACKED[kind]()))
    assert "lm_head.weight" in written.findings("note")["target-table-quantized"]["message"]
    assert written.tensors["lm_head.weight"] == d0().tensors["lm_head.weight"]


@pytest.mark.parametrize("kind", list(PACKED))
def test_k21_a_quantised_head_can_be_shared(tmp_path, kind):
    written = convert(tmp_path, headless(d0()), *BOUNDARY, "--target", target(tmp_path, PACKED[kind]()))
    assert "lm_head.weight" not in written.tensors


@pytest.mark.parametrize("kind", list(PACKED))
def test_k21_a_quantised_head_is_never_copied(tmp_path, kind):
    model = target(tmp_path, PACKED[kind]())
    errors = refused(tmp_path, headless(d0()), *BOUNDARY, "--target", model, "--head", "copy")
    assert "quantised and cannot be copied" in only(errors, "target-head-question")["message"]


def test_k21_a_quantised_embedding_is_never_copied(tmp_path):
    model = nvfp4_target()
    model.tensors["model.embed_tokens.weight"] = Stored("F8_E4M3", (320, 64), bytes([0x38]) * 320 * 64)
    errors = refused(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, model), "--embedding", "copy")
    assert "no embedding that can be copied" in only(errors, "target-head-question")["message"]
