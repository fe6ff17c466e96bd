"""K22: a multimodal target."""

from __future__ import annotations

import json

import pytest

from tests.cases.builders import Folder, d0, headless, multimodal_target, random, t0
from tests.cases.running import BOUNDARY, convert, only, refused, target

EMBEDDING, HEAD = (t0().tensors[name] for name in ("model.embed_tokens.weight", "lm_head.weight"))
STORED = "model.language_model.embed_tokens.weight"


def called(name: str) -> Folder:
    """The target with its embedding under another name."""
    model = multimodal_target()
    return model.with_tensors({name: model.tensors.pop(STORED)})


def test_k22_the_order_of_the_parts_is_as_the_case_has_it(tmp_path):
    config = json.loads((target(tmp_path, multimodal_target()) / "config.json").read_text())
    parts = [key for key in config if key.endswith("_config")]
    assert parts == ["audio_config", "vision_config", "text_config"]


def test_k22_sizes_and_depth_are_those_of_the_text_part(tmp_path):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, multimodal_target()))
    facts = {name: written.fact(name) for name in ("vocab_size", "target_hidden_size", "target_layers")}
    assert facts == {"vocab_size": 320, "target_hidden_size": 64, "target_layers": 8}


def test_k22_sizes_of_the_text_part_are_what_a_drafter_is_held_against(tmp_path):
    model = multimodal_target()
    model.config["text_config"] |= {"vocab_size": 352}
    model.tensors = {name: random(name, 352, 64) for name in model.tensors}
    message = only(refused(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, model)), "target-size")["message"]
    assert "320" in message
    assert "352" in message


def test_k22_the_text_level_decides_the_tie_and_the_disagreement_is_reported(tmp_path):
    model = target(tmp_path, multimodal_target())
    written = convert(tmp_path, headless(d0()), *BOUNDARY, "--target", model, "--head", "copy")
    message = written.findings("warning")["target-tie"]["message"]
    assert "true at top level, false in text_config" in message
    assert written.tensors["lm_head.weight"] == HEAD


@pytest.mark.parametrize("name", [STORED, "backbone.embeddings.weight", "language_model.model.embed_tokens.weight"])
def test_k22_the_embedding_is_found_by_alias(tmp_path, name):
    model = target(tmp_path, called(name))
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", model, "--embedding", "copy")
    assert written.tensors["embed_tokens.weight"] == EMBEDDING


def test_k22_the_embedding_is_confirmed_by_its_shape(tmp_path):
    model = called("backbone.embeddings.weight").with_tensors({STORED: random("positions", 512, 64)})
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, model), "--embedding", "copy")
    assert written.tensors["embed_tokens.weight"] == EMBEDDING


@pytest.mark.parametrize(
    ("model", "near"),
    [
        (lambda: called("wide.embedding.table"), "wide.embedding.table"),
        (lambda: multimodal_target().with_tensors({STORED: random("e", 352, 64)}), f"{STORED} [352, 64]"),
    ],
    ids=["unknown name", "another shape"],
)
def test_k22_without_a_tensor_of_that_shape_the_nearest_names_are_listed(tmp_path, model, near):
    errors = refused(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, model()))
    finding = only(errors, "target-tensor-missing")
    assert "[320, 64]" in finding["message"]
    assert near in finding["got"]
