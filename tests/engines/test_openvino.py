"""What OpenVINO GenAI makes of files, by its rows: one fact a test."""

from __future__ import annotations

import pytest

from eaglekit.engines import ENGINES, Verdict
from eaglekit.engines.checks.sizes import VOCABULARY
from tests.engines.drafters import EAGLE31, LLAMA, MLA, made, read, sentence, verdict

NAMES = {"layers.0.": "midlayer."}
LATER = LLAMA.replacing(aux_layers=(3, 17, 30))
"""What its default captures of a target of 32 blocks."""


def test_a_plain_drafter_at_its_own_default_is_read() -> None:
    assert verdict(made(LATER, rename=NAMES), "openvino") is Verdict.READS


def test_everybody_else_s_default_needs_its_argument() -> None:
    artefact = made(LLAMA.replacing(aux_layers=(2, 16, 29)), rename=NAMES)
    assert "hidden_layers_list={1, 15, 28}" in sentence(artefact, "openvino", "engine-layers-argument")
    assert verdict(artefact, "openvino") is Verdict.DEGRADED


def test_it_looks_for_midlayer_only() -> None:
    text = sentence(made(LATER), "openvino", "engine-names-unread")
    assert "with a warning" in text
    assert "midlayer.*" in text


def test_it_knows_nothing_of_3_1() -> None:
    found = read(made(EAGLE31.replacing(aux_layers=LATER.aux_layers), rename=NAMES), "openvino")
    assert {effect.code for effect in found.effects} == {"engine-tensor-dropped", "engine-switch-ignored"}


def test_it_cannot_serve_mlp_biases() -> None:
    spec = LATER.replacing(mlp_bias=True)
    text = sentence(made(spec, config={"mlp_bias": True}, rename=NAMES), "openvino", "engine-tensor-rejected")
    assert "cannot serve a drafter with" in text


def test_it_has_one_layer_and_no_second() -> None:
    assert "one layer only" in sentence(made(LATER.replacing(num_layers=2)), "openvino", "engine-depth-wrong")


@pytest.mark.parametrize("spec", [LATER, LATER.replacing(draft_vocab_size=320, target_ids=None)])
def test_without_a_map_it_reads_what_lies_in_memory(spec: object) -> None:
    artefact = made(spec, rename=NAMES, without=["d2t"])  # type: ignore[arg-type]
    assert "whatever ids its memory holds" in sentence(artefact, "openvino", "engine-map-wrong")


def test_it_needs_draft_vocab_size() -> None:
    artefact = made(LATER, config={"draft_vocab_size": None}, rename=NAMES)
    assert "needs draft_vocab_size" in sentence(artefact, "openvino", VOCABULARY)


def test_it_has_no_class_for_mla_drafters() -> None:
    assert read(made(MLA), "openvino").effects[0].code == "engine-class-unregistered"


def test_what_is_run_here_of_sglang_is_its_llama_class() -> None:
    rows = [row for row in ENGINES["sglang"].rows if ENGINES["sglang"].confirmation(row).value == "run here"]
    assert {row.drafter for row in rows} == {"*", "llama"}
