"""Readings as a whole: spans, merging, findings, and the portable layout."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eaglekit.engines import ENGINES, Artefact, Verdict, as_findings, readings
from eaglekit.report import Refusal, Severity
from tests.engines.drafters import EAGLE31, LLAMA, MLA, TOP, made, read, speculators, verdict

SPOILT = st.sampled_from([
    made(), made(EAGLE31), made(MLA), speculators(), speculators(EAGLE31), made(config={TOP: None}),
    made(EAGLE31, config={"fc_norm": None}), made(rename={"layers.0.": "midlayer."}), made(without=["fc.weight"]),
    made(config={"eagle_config": None}), made(LLAMA.replacing(aux_layers=())),
    made(LLAMA.replacing(target_family=None)), made(LLAMA.replacing(target_layers=None)),
    made(LLAMA.replacing(num_layers=2)), made(add=["stranger.weight"]),
])  # fmt: skip


@given(SPOILT, st.sampled_from(list(ENGINES)))
def test_the_spans_of_an_engine_cover_every_version_once(artefact: Artefact, name: str) -> None:
    found = readings(artefact, [name])
    for version in ENGINES[name].versions:
        assert sum(version in reading.span for reading in found) == 1
    assert (found[0].span.since, found[-1].span.until) == (None, None)
    assert all(before.span.until == after.span.since for before, after in pairwise(found))


@given(SPOILT, st.sampled_from(list(ENGINES)))
def test_readings_that_touch_differ(artefact: Artefact, name: str) -> None:
    found = readings(artefact, [name])
    assert all((a.effects, a.unknown) != (b.effects, b.unknown) for a, b in pairwise(found))


@given(SPOILT)
def test_every_effect_starts_with_the_engine_and_has_a_source(artefact: Artefact) -> None:
    for reading in readings(artefact):
        title = ENGINES[reading.engine].title
        assert all(effect.text.startswith(f"{title} ") and effect.source for effect in reading.effects)


@given(SPOILT)
def test_a_verdict_is_the_worst_of_its_effects(artefact: Artefact) -> None:
    order = list(Verdict)
    for reading in readings(artefact):
        assert reading.verdict == max((e.verdict for e in reading.effects), key=order.index, default=Verdict.READS)


@pytest.mark.parametrize("request_text", ["vllm@0.22.0", "vllm@0.24", "vllm@0.29", "vllm", "sglang@0.5.12", "sglang"])
def test_the_portable_layout_of_eagle_3_1_is_read_by_vllm_and_sglang_alike(request_text: str) -> None:
    reading = read(made(EAGLE31), request_text)
    assert (reading.verdict, reading.effects, reading.unknown) == (Verdict.READS, (), ())


@pytest.mark.parametrize("request_text", ["vllm@0.23", "vllm", "sglang@0.5.13", "sglang"])
def test_the_portable_layout_of_an_mla_drafter_is_read_by_vllm_and_sglang_alike(request_text: str) -> None:
    artefact = made(MLA.replacing(fusion_norm=EAGLE31.fusion_norm, feedback=EAGLE31.feedback))
    assert read(artefact, request_text).effects == ()


def test_a_trained_embedding_is_a_remark_about_sglang_and_nothing_worse() -> None:
    artefact = made(EAGLE31.replacing(own_embedding=True))
    assert verdict(artefact, "sglang") is Verdict.DEGRADED
    assert verdict(artefact, "vllm") is Verdict.READS


def test_the_reading_for_a_version_is_the_span_it_lies_in() -> None:
    artefact = made(config={TOP: None})
    assert str(read(artefact, "vllm@0.24").span) == "0.22-0.28"
    assert str(read(artefact, "vllm@0.29").span) == ">=0.29"


def test_only_the_engines_asked_for_are_read() -> None:
    assert {reading.engine for reading in readings(made(), ["vllm", "atom"])} == {"vllm", "atom"}


def test_readings_of_an_unknown_engine_are_refused() -> None:
    with pytest.raises(Refusal, match="engine-unknown"):
        readings(made(), ["vlllm"])


def test_an_effect_of_touching_spans_is_one_finding_for_the_whole_run() -> None:
    # norm_output is unknown up to 0.21; the class gains norm_before_fc at 0.18 without changing that.
    found = as_findings(readings(made(EAGLE31, add=["x"]), ["vllm"]), severity=Severity.ERROR)
    messages = [finding.message for finding in found if finding.code == "engine-switch-ignored"]
    assert [message.split(" has ")[0] for message in messages] == ["vLLM <0.22"]


def test_a_finding_carries_the_severity_asked_for_and_a_degraded_one_is_a_note() -> None:
    artefact = made(LLAMA.replacing(own_embedding=True), config={"tie_word_embeddings": True})
    found = as_findings([read(artefact, "sglang")], severity=Severity.ERROR)
    assert {finding.code: finding.severity for finding in found} == {
        "engine-embedding-replaced": Severity.NOTE,
        "engine-head-wrong": Severity.ERROR,
    }


def test_what_holds_for_every_version_is_said_without_a_version() -> None:
    (finding, *_) = as_findings([read(made(), "safeailab")], severity=Severity.NOTE)
    assert finding.message == "SafeAILab/EAGLE drops 10 tensors named layers.{n}.* silently: it looks for midlayer.*"
