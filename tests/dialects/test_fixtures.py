"""Every shipped fixture against what its producer means: dialect, kind, layers, facts people get wrong, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.dialect import kind_of
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import Read, read
from eaglekit.drafter import Feedback, FusionNorm, Residual, Rope
from eaglekit.drafter.vocabulary import mask_from_target_ids
from eaglekit.report import Refusal, Severity

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"


@dataclass(frozen=True)
class Fixture:
    """What a fixture is, and what is found in it when nobody says anything about it."""

    dialect: str
    kind: str
    layers: tuple[int, ...]
    """Boundary indices; empty where the file does not say them, and then a finding asks."""
    findings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


NORM31 = {"fusion_norm": FusionNorm.PER_STATE, "feedback": Feedback.NORMED}
PLAIN = {"fusion_norm": FusionNorm.NONE, "feedback": Feedback.RAW, "residual": Residual.RAW}

SEEN: Mapping[str, Fixture] = {
    "angelslim-qwen3": Fixture(
        "angelslim", "gqa", (), ("aux-layers-absent", "fault-rope-theta-ignored"),
        {**PLAIN, "target_family": "qwen3", "own_embedding": False},
    ),
    "angelslim-qwen3-vl": Fixture(
        "angelslim", "gqa", (), ("aux-layers-absent", "mrope-dropped", "tie-corrected"),
        {**PLAIN, "own_head": True, "draft_vocab_size": 40},
    ),
    "minimax-m3-like": Fixture(
        "torchspec-vllm", "gqa", (), ("aux-layers-absent",), {**NORM31, "own_embedding": True, "target_ids": None}
    ),
    "modelopt-hf-llama": Fixture(
        "modelopt", "gqa", (2, 4, 5), ("fault-modelopt-norms-twice", "fault-unsorted-map"),
        {**PLAIN, "own_embedding": False, "vocab_size": 320},
    ),
    "modelopt-megatron-deep": Fixture("modelopt-megatron", "gqa", (2, 4, 5), (), {"num_layers": 2, "target_ids": None}),
    "modelopt-vllm-script": Fixture(
        "speculators", "gqa", (),
        ("aux-layers-absent", "fault-modelopt-script-ids", "fault-modelopt-script-residual", "fault-unsorted-map"),
        {"residual": Residual.RAW},
    ),
    "nemo-llama": Fixture(
        "nemo", "gqa", (), ("aux-layers-absent", "fault-unsorted-map", "size-corrected"),
        {"num_layers": 1, "target_layers": 8, "target_family": "llama"},
    ),
    "nemo-peagle": Fixture(
        "nemo", "parallel", (), ("aux-layers-absent", "fault-unsorted-map"),
        {"num_layers": 2, "parallel_drafting": True},
    ),
    "nvidia-gpt-oss-v3": Fixture(
        "modelopt", "gqa", (), ("aux-convention-unknown", "fault-modelopt-norms-twice"),
        {"fusion_norm": FusionNorm.WHOLE, "target_ids": None},
    ),
    "producer-modelopt-0.47-hf": Fixture(
        "modelopt", "gqa", (2, 4, 5), ("fault-modelopt-norms-twice", "fault-unsorted-map"), PLAIN
    ),
    "producer-nemo-0.7-deepseek": Fixture(
        "nemo", "mla", (), ("aux-layers-absent", "size-corrected"),
        {**PLAIN, "target_family": "deepseek_v3", "target_layers": 8, "target_ids": None},
    ),
    "producer-nemo-0.7-deepseek-eagle3.1": Fixture(
        "nemo", "mla", (), ("aux-layers-absent", "size-corrected"), {**NORM31, "num_layers": 1}
    ),
    "producer-nemo-0.7-deepseek-yarn": Fixture(
        "nemo", "mla", (), ("aux-layers-absent", "fault-nemo-mla-scale", "size-corrected"), PLAIN
    ),
    "producer-nemo-0.7-gpt-oss": Fixture(
        "nemo", "gqa", (), ("aux-layers-absent", "size-corrected"),
        {"attention_bias": True, "mlp_bias": False, "target_family": "gpt_oss"},
    ),
    "producer-nemo-0.7-llama": Fixture(
        "nemo", "gqa", (), ("aux-layers-absent", "fault-unsorted-map", "size-corrected"),
        {**PLAIN, "num_layers": 1, "target_layers": 8, "own_embedding": True},
    ),
    "producer-nemo-0.7-llama-vllm": Fixture(
        "vllm", "gqa", (), ("aux-layers-absent", "fault-unsorted-map", "size-corrected"), {**PLAIN, "num_layers": 1}
    ),
    "producer-nemo-0.7-peagle": Fixture(
        "nemo", "parallel", (), ("aux-layers-absent", "fault-unsorted-map"),
        {"num_layers": 2, "parallel_drafting": True, "mask_token_id": 1},
    ),
    "producer-nemo-0.7-qwen3-eagle3.1": Fixture(
        "nemo", "gqa", (), ("aux-layers-absent", "fault-unsorted-map", "size-corrected"),
        {**NORM31, "qk_norm": False, "target_family": "qwen3"},
    ),
    "producer-angelslim-0.5-llama": Fixture(
        "angelslim", "gqa", (), ("aux-layers-absent", "fault-rope-theta-ignored"),
        {**PLAIN, "target_family": "llama", "own_embedding": True},
    ),
    "producer-angelslim-0.5-vl": Fixture(
        "angelslim", "gqa", (), ("aux-layers-absent", "mrope-dropped", "tie-corrected"),
        {**PLAIN, "own_head": True, "rope": Rope(5000000.0, "default")},
    ),
    "producer-specforge-0.2-hf": Fixture(
        "specforge", "gqa", (2, 4, 5), (), {**PLAIN, "rope": Rope(500000.0, "default")}
    ),
    "producer-specforge-0.2-peagle": Fixture(
        "specforge-peagle", "parallel", (), ("aux-layers-absent", "mask-token"),
        {"num_layers": 2, "own_embedding": True, "residual": Residual.RAW},
    ),
    "producer-specforge-0.2-sglang-eagle3.1": Fixture(
        "specforge", "gqa", (), ("aux-layers-absent", "fault-specforge-norm-output"),
        {"fusion_norm": FusionNorm.PER_STATE, "own_embedding": False},
    ),
    "producer-speculators-0.9-converted": Fixture("speculators", "gqa", (), ("aux-layers-absent",), PLAIN),
    "producer-speculators-0.9-converted-lost-norms": Fixture(
        "speculators", "gqa", (), ("aux-layers-absent", "flag-against-tensors"),
    ),
    "producer-speculators-0.9-saved": Fixture(
        "speculators", "gqa", (2, 4, 5), (), {**PLAIN, "own_embedding": True, "speculative_tokens": 3}
    ),
    "producer-speculators-0.9-saved-eagle3.1": Fixture("speculators", "gqa", (2, 4, 5), (), NORM31),
    "producer-torchspec-2026-04-kimi-mla": Fixture(
        "torchspec", "mla kimi", (2, 4, 5), ("context-unstated", "fault-torchspec-rope-theta"), PLAIN
    ),
    "producer-torchspec-2026-04-kimi-mla-vllm": Fixture(
        "torchspec-vllm", "mla kimi", (2, 4, 5), ("context-unstated", "fault-torchspec-rope-theta"), PLAIN
    ),
    "producer-torchspec-2026-04-llama": Fixture("torchspec", "gqa", (2, 4, 5), (), {**PLAIN, "target_ids": None}),
    "producer-torchspec-2026-04-llama-vllm": Fixture("torchspec-vllm", "gqa", (2, 4, 5), (), PLAIN),
    "producer-torchspec-2026-08-kimi-mla-eagle3.1": Fixture(
        "torchspec-vllm", "mla kimi", (2, 4, 5), ("context-unstated", "fault-torchspec-rope-theta"), NORM31
    ),
    "producer-torchspec-2026-08-kimi-mla-eagle3.1-vllm": Fixture(
        "torchspec-vllm", "mla kimi", (2, 4, 5), ("context-unstated", "fault-torchspec-rope-theta"), NORM31
    ),
    "producer-torchspec-2026-08-llama-eagle3.1": Fixture("torchspec-vllm", "gqa", (2, 4, 5), (), NORM31),
    "producer-torchspec-2026-08-qwen3-mla-eagle3.1": Fixture(
        "torchspec-vllm", "mla", (2, 4, 5), ("fault-torchspec-rope-theta",), NORM31
    ),
    "safeailab-llama": Fixture("safeailab", "gqa", (), ("aux-layers-absent",), {**PLAIN, "head_dim": 16}),
    "safeailab-llama-bin": Fixture("safeailab", "gqa", (), ("aux-layers-absent",), {**PLAIN, "head_dim": 16}),
    "specdrift-gpt-oss": Fixture(
        "specforge", "gqa", (), ("aux-layers-absent", "fault-old-specforge-rope-theta"), NORM31
    ),
    "specforge-full-vocabulary": Fixture(
        "specforge", "gqa", (), ("aux-layers-absent", "fault-old-specforge-rope-theta"),
        {"target_ids": None, "draft_vocab_size": 160},
    ),
    "specforge-gpt-oss": Fixture("specforge", "gqa", (2, 18, 34), (), PLAIN),
    "specforge-peagle": Fixture(
        "specforge-peagle", "parallel", (), ("aux-layers-absent", "mask-token"), {"num_layers": 4, "target_ids": None}
    ),
    "specforge-qwen3-eagle3.1": Fixture(
        "specforge", "gqa", (),
        ("aux-layers-absent", "fault-old-specforge-rope-theta", "fault-specforge-norm-output"),
        {"fusion_norm": FusionNorm.PER_STATE},
    ),
    "speculators-0.1-llama4": Fixture(
        "speculators", "gqa", (), ("aux-convention-unknown",), {"residual": Residual.RAW, "target_family": "llama4"}
    ),
    "speculators-0.9-llama": Fixture("speculators", "gqa", (2, 4, 5), (), {**PLAIN, "own_embedding": True}),
    "speculators-gpt-oss-redhat": Fixture(
        "speculators", "gqa", (2, 12, 21), (), {"fusion_norm": FusionNorm.WHOLE, "residual": Residual.NORMED}
    ),
    "speculators-peagle": Fixture(
        "speculators", "parallel", (2, 4, 5), (), {"num_layers": 2, "own_embedding": True, "parallel_drafting": True}
    ),
    "torchspec-kimi-k25-mla": Fixture(
        "torchspec", "mla kimi", (2, 30, 58), ("context-unstated", "fault-torchspec-rope-theta"),
        {**PLAIN, "max_position_embeddings": None, "target_ids": None},
    ),
    "torchspec-kimi-k26-eagle3.1-mla-vllm": Fixture(
        "torchspec-vllm", "mla kimi", (2, 30, 58), ("context-unstated", "fault-torchspec-rope-theta"), NORM31
    ),
    "vllm-native-qwen3": Fixture("vllm", "qk", (2, 18, 33), (), {"qk_norm": True, "num_aux_states": 3}),
}  # fmt: skip
"""Folder -> what it is. Layers follow from each producer's own rule, applied to the ids in its config."""

REFUSED: Mapping[str, str] = {
    "refuse-dflash": "is-dflash",
    "refuse-eagle1": "is-eagle-1",
    "refuse-gguf": "gguf-quantised",
    "refuse-lora": "is-lora",
    "refuse-medusa": "is-medusa",
    "refuse-mtp": "is-mtp",
    "refuse-small-model": "is-target",
    "refuse-target": "is-target",
    "refuse-torchspec-low-rank": "is-low-rank",
    "refuse-torchspec-moe": "is-moe-drafter",
}
"""Folder that holds no EAGLE-3 drafter -> the code that says what it is instead."""


def reading(folder: str, **said: Any) -> Read:
    """The reading of a fixture with what the user says about it."""
    return read(open_folder(FIXTURES / folder), Given(**said))


def test_every_fixture_is_judged():
    folders = {path.name for path in FIXTURES.iterdir() if not path.name.startswith("target-")}
    assert folders == SEEN.keys() | REFUSED.keys()


@pytest.mark.parametrize("folder", SEEN)
def test_a_fixture_is_recognised_as_its_producer_s(folder):
    assert reading(folder).dialect.name == SEEN[folder].dialect


@pytest.mark.parametrize("folder", SEEN)
def test_a_recognition_tells_what_it_stands_on(folder):
    assert len(reading(folder).recognition.evidence) > 0


@pytest.mark.parametrize("folder", SEEN)
def test_a_fixture_is_a_drafter_of_its_kind(folder):
    assert kind_of(reading(folder).drafter.spec) == SEEN[folder].kind


@pytest.mark.parametrize("folder", SEEN)
def test_the_layers_of_a_fixture_are_boundaries_or_asked_for(folder):
    assert reading(folder).drafter.spec.aux_layers == SEEN[folder].layers


@pytest.mark.parametrize("folder", SEEN)
def test_the_findings_of_a_fixture(folder):
    assert sorted(finding.code for finding in reading(folder).findings) == list(SEEN[folder].findings)


@pytest.mark.parametrize(
    ("folder", "fact", "value"),
    [
        pytest.param(folder, fact, value, id=f"{folder}-{fact}")
        for folder, seen in SEEN.items()
        for fact, value in seen.facts.items()
    ],
)
def test_a_fact_of_a_fixture(folder, fact, value):
    assert getattr(reading(folder).drafter.spec, fact) == value


@pytest.mark.parametrize("folder", SEEN)
def test_every_fact_of_a_fixture_has_an_origin(folder):
    assert [name for name, _, origin in reading(folder).drafter.facts() if not origin] == []


@pytest.mark.parametrize(("folder", "code"), REFUSED.items())
def test_what_is_no_drafter_is_refused_by_its_name(folder, code):
    with pytest.raises(Refusal) as caught:
        reading(folder)
    assert [finding.code for finding in caught.value.findings] == [code]


@pytest.mark.parametrize(
    ("folder", "said", "layers"),
    [
        ("angelslim-qwen3", {"aux_layers": "default", "facts": {"target_layers": 36}}, (2, 18, 33)),
        ("minimax-m3-like", {"aux_layers": (2, 30, 57)}, (2, 30, 57)),
        ("nemo-llama", {"aux_layers": "default"}, (2, 4, 5)),
        ("nvidia-gpt-oss-v3", {"target_facts": {"target_layers": 36}}, (24, 30, 36)),
        ("nvidia-gpt-oss-v3", {"aux_convention": "boundary"}, (24, 30, 36)),
        ("nvidia-gpt-oss-v3", {"aux_convention": "output-of"}, (25, 31, 37)),
        ("safeailab-llama", {"aux_layers": "default", "facts": {"target_layers": 8}}, (2, 4, 5)),
        ("speculators-0.1-llama4", {"aux_convention": "output-of"}, (2, 24, 45)),
        ("speculators-0.1-llama4", {"aux_convention": "boundary"}, (1, 23, 44)),
    ],
)
def test_the_layers_after_an_answer(folder, said, layers):
    assert reading(folder, **said).drafter.spec.aux_layers == layers


def test_the_target_s_depth_alone_does_not_decide_ids_that_were_copied_without_conversion():
    # [1, 23, 44] is the output-of default of 48 blocks, in a format whose ids are boundaries.
    outcome = reading("speculators-0.1-llama4", target_facts={"target_layers": 48})
    assert "aux-convention-unknown" in {finding.code for finding in outcome.findings}


def test_one_drafter_exported_for_two_readers_reads_the_same_layers():
    # The two files differ in nothing but their ids, and in no sign of the reader they were meant for.
    name = "producer-torchspec-2026-08-kimi-mla-eagle3.1"
    stored = [open_folder(FIXTURES / folder).config["eagle_config"] for folder in (name, f"{name}-vllm")]
    assert [config["eagle_aux_hidden_state_layer_ids"] for config in stored] == [[1, 3, 4], [2, 4, 5]]
    assert {reading(folder).drafter.spec.aux_layers for folder in (name, f"{name}-vllm")} == {(2, 4, 5)}


def test_ids_of_kimi_that_are_no_default_list_are_asked_about():
    ids = {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 6]}}
    opened = open_folder(FIXTURES / "producer-torchspec-2026-08-kimi-mla-eagle3.1")
    outcome = read(replace(opened, config={**opened.config, **ids}))
    assert "aux-convention-unknown" in {finding.code for finding in outcome.findings}


def test_mscale_that_automodel_does_not_apply_is_switched_off():
    scaling = reading("producer-nemo-0.7-deepseek-yarn").drafter.spec.rope.parameters
    assert (scaling["mscale"], scaling["mscale_all_dim"]) == (0.0, 0.0)


@pytest.mark.parametrize("said", [10000.0, 50000.0])
def test_the_user_s_word_on_the_base_that_torchspec_ignored_settles_it(said):
    outcome = reading("producer-torchspec-2026-04-kimi-mla", facts={"rope_theta": said})
    assert outcome.drafter.spec.rope.theta == said
    assert "fault-torchspec-rope-theta" not in {finding.code for finding in outcome.findings}


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("specforge-peagle", {"aux_layers": (2, 18, 33), "facts": {"mask_token_id": 7}}),
        ("specforge-qwen3-eagle3.1", {"aux_layers": (2, 18, 33), "facts": {"feedback": Feedback.NORMED}}),
        ("specforge-qwen3-eagle3.1", {"aux_layers": (2, 18, 33), "facts": {"feedback": Feedback.RAW}}),
        ("modelopt-vllm-script", {"aux_layers": (2, 18, 33)}),
        ("nemo-peagle", {"aux_layers": (2, 18, 33)}),
        ("specdrift-gpt-oss", {"aux_layers": (2, 18, 33)}),
    ],
)
def test_a_question_that_is_answered_is_asked_no_more(folder, said):
    assert reading(folder, **said).drafter_or_refuse().spec.aux_layers == (2, 18, 33)


def test_the_user_s_word_on_the_feedback_counts():
    for said in Feedback:
        outcome = reading("specforge-qwen3-eagle3.1", aux_layers=(2, 18, 33), facts={"feedback": said})
        assert outcome.drafter.spec.feedback is said


@pytest.mark.parametrize("said", [{}, {"aux_layers": (2, 4, 5)}, {"target_facts": {"target_layers": 8}}])
def test_a_drafter_whose_norms_were_lost_is_refused_whatever_is_said(said):
    with pytest.raises(Refusal) as caught:
        reading("producer-speculators-0.9-converted-lost-norms", **said).drafter_or_refuse()
    assert "flag-against-tensors" in {finding.code for finding in caught.value.report.of(Severity.ERROR)}


def test_a_pickled_drafter_is_the_one_that_was_pickled():
    plain, pickled = (reading(folder, aux_layers=(2, 4, 5)) for folder in ("safeailab-llama", "safeailab-llama-bin"))
    assert pickled.drafter.spec == plain.drafter.spec
    assert {role: pickled.checkpoint.read(tensor.name) for role, tensor in pickled.drafter.tensors.items()} == {
        role: plain.checkpoint.read(tensor.name) for role, tensor in plain.drafter.tensors.items()
    }


@pytest.mark.parametrize("folder", ["modelopt-hf-llama", "nemo-llama", "modelopt-vllm-script", "nemo-peagle"])
def test_a_vocabulary_in_frequency_order_is_kept_in_it(folder):
    ids = reading(folder).drafter.spec.target_ids
    assert list(ids) != sorted(ids)


@pytest.mark.parametrize("folder", ["speculators-0.9-llama", "specforge-gpt-oss", "safeailab-llama", "nemo-llama"])
def test_the_map_of_a_fixture_marks_the_tokens_of_its_mask(folder):
    outcome = reading(folder)
    spec = outcome.drafter.spec
    stored = outcome.checkpoint.read("t2d")
    assert mask_from_target_ids(spec.target_ids, spec.vocab_size) == stored
