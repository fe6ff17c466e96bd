"""Targets whose text model lies inside, under one of many names, and targets of another width."""

from __future__ import annotations

import pytest

from tests.cases.builders import HIDDEN, VOCABULARY, Folder, d0, multimodal_target, random, t0
from tests.cases.running import BOUNDARY, convert, spoken, target

STORED = "model.language_model.embed_tokens.weight"


def inside(path: str) -> Folder:
    """The target with its text config elsewhere."""
    model = multimodal_target()
    text = model.config.pop("text_config")
    outer, _, inner = path.partition(".")
    model.config[outer] = {inner: text} if inner else text
    return model


@pytest.mark.parametrize("path", ["text_config", "llm_config", "language_config", "thinker_config.text_config"])
def test_the_text_config_is_found_under_each_of_its_names(tmp_path, path):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, inside(path)))
    assert written.fact("target_layers") == 8


@pytest.mark.parametrize(
    "name", ["model.language_model.model.embed_tokens.weight", "model.language_model.embed_tokens.weight"]
)
def test_the_embedding_is_found_under_each_of_its_names(tmp_path, name):
    model = multimodal_target()
    model.with_tensors({name: model.tensors.pop(STORED)})
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, model), "--embedding", "copy")
    assert written.tensors["embed_tokens.weight"] == t0().tensors["model.embed_tokens.weight"]


def test_a_mistral_3_target_is_read_by_its_text_part(tmp_path):
    model = multimodal_target().config_with(model_type="mistral3", architectures=["Mistral3ForConditionalGeneration"])
    assert convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, model)).fact("vocab_size") == VOCABULARY


def test_a_drafter_of_another_width_is_written_with_its_own_embedding_and_the_target_s_width(tmp_path):
    wide = t0().config_with(hidden_size=128)
    wide.with_tensors({name: random(name, VOCABULARY, 128) for name in ("model.embed_tokens.weight", "lm_head.weight")})
    own = {"fc.weight": random("fc", HIDDEN, 3 * 128), "embed_tokens.weight": random("own", VOCABULARY, HIDDEN)}
    draft = d0().config_with(target_hidden_size=128).with_tensors(own)
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path, wide))
    assert written.config["target_hidden_size"] == 128
    assert written.tensors["embed_tokens.weight"] == own["embed_tokens.weight"]


def test_the_command_for_sglang_says_what_a_quantised_target_needs(tmp_path):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path))
    code, text = spoken("recipe", written.folder, "--target", target(tmp_path), "--engine", "sglang")
    assert code == 0
    assert "--speculative-draft-model-quantization unquant" in text
