"""The rows of SGLang's table that its own drafter class and weight loader can confirm, on a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from eaglekit.checkpoint import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.drafter import Feedback, Part
from eaglekit.reference.loading import load
from eaglekit.reference.session import Session
from tests.other_engines.running import Seen, name_of, run, seen
from tests.other_engines.variants import TARGET, VARIANTS, floats, varied

pytestmark = pytest.mark.sglang

STEPS = 3
SERVED = {name for name, variant in VARIANTS.items() if variant.target == "target"} - {"ids alone"}
TEXTS = torch.stack([torch.randperm(256, generator=torch.Generator().manual_seed(seed))[:24] for seed in range(8)])
STATES = [torch.randn(24, 768, generator=torch.Generator().manual_seed(seed)) for seed in range(8)]
TARGETS = {name: torch.from_numpy(array.copy()) for name, array in floats(TARGET).items()}
EMBEDDING, HEAD = TARGETS["model.embed_tokens.weight"], TARGETS["lm_head.weight"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """What SGLang made of every variant."""
    folder = tmp_path_factory.mktemp("sglang")
    places = {name: folder / name_of(name) for name in sorted(SERVED)}
    states = {f"states.{number}": rows for number, rows in enumerate(STATES)}
    save_file({"tokens": TEXTS, "embedding": EMBEDDING, **states}, folder / "states.safetensors")
    drafters = [
        {
            "from": str(varied(place, VARIANTS[name].change)),
            "to": str(place.with_suffix(".json")),
            "log": str(place.with_suffix(".log")),
        }
        for name, place in places.items()
    ]
    job = {"states": str(folder / "states.safetensors"), "classes": str(folder / "classes.json"), "drafters": drafters}
    run("EAGLEKIT_SGLANG_PYTHON", "sglang_worker.py", job, folder)
    return {name: seen(place) for name, place in places.items()}


def reference(folder: Path) -> list[list[int]]:
    """The drafts of the drafter in `folder`, read as eaglekit reads any."""
    checkpoint = open_folder(folder)
    # A file with norm_output alone does not say whether it was trained so; ours was not trained at all.
    facts = {"feedback": Feedback.NORMED} if checkpoint.config["norm_output"] else {}
    said = Given(facts=facts, dialect="sglang" if checkpoint.config["num_hidden_layers"] > 1 else None)
    drafter = read(checkpoint, said).drafter_or_refuse()
    weights = load(drafter, checkpoint, shared={Part.EMBEDDING: EMBEDDING, Part.HEAD: HEAD})
    width = drafter.spec.num_aux_states * drafter.spec.target_hidden_size
    return [
        Session(weights).draft(text, states[:, :width], steps=STEPS).tolist()
        for text, states in zip(TEXTS, STATES, strict=True)
    ]


@pytest.fixture(scope="module")
def trained(engine: dict[str, Seen]) -> list[list[int]]:
    """What SGLang drafts with the trained drafter."""
    drafts: list[list[int]] = engine["trained"].found["drafts"]
    return drafts


APPLIED = [
    "trained", "names of later trainers", "state norms", "whole norm", "norm_output", "four states",
    "two layers", "a wider target", "another theta", "linear rope", "whole vocabulary",
]  # fmt: skip


@pytest.mark.parametrize("variant", APPLIED)
def test_what_it_applies_it_drafts_with_like_the_reference(
    variant: str, engine: dict[str, Seen], tmp_path: Path
) -> None:
    folder = varied(tmp_path / "drafter", VARIANTS[variant].change)
    assert engine[variant].found["drafts"] == reference(folder)


@pytest.mark.parametrize("variant", ["a bias of fc", *(name for name in APPLIED[2:] if name != "whole vocabulary")])
def test_what_it_applies_matters(variant: str, engine: dict[str, Seen], trained: list[list[int]]) -> None:
    assert engine[variant].found["drafts"] != trained


SAME = [
    "names of later trainers", "an outer prefix but for the head", "an unknown tensor", "norm_before_residual",
    "query norms", "query biases", "MLP biases", "an embedding of its own",
]  # fmt: skip


@pytest.mark.parametrize("variant", SAME)
def test_what_it_does_not_know_it_drops_without_a_word(
    variant: str, engine: dict[str, Seen], trained: list[list[int]]
) -> None:
    found = engine[variant]
    assert found.found["drafts"] == trained
    assert "q_norm" not in found.log
    assert "stranger" not in found.log
    assert "bias" not in found.log


def test_the_old_names_of_state_norms_stay_unread_without_their_flag(
    engine: dict[str, Seen], trained: list[list[int]]
) -> None:
    assert engine["old state norms"].found["drafts"] == trained


REFUSED = {
    "gelu": "Only silu is supported",
    "no draft_vocab_size": "draft_vocab_size",
}


@pytest.mark.parametrize("variant", REFUSED)
def test_what_it_refuses(variant: str, engine: dict[str, Seen]) -> None:
    assert REFUSED[variant] in engine[variant].error


UNTOUCHED = {
    "trained": ["model.embed_tokens.weight"],
    "a missing tensor": ["model.embed_tokens.weight", "model.norm.weight"],
    "no head": ["model.embed_tokens.weight", "lm_head.weight"],
    "no head, and null": ["model.embed_tokens.weight", "lm_head.weight"],
    "a tied head": ["model.embed_tokens.weight"],
    "a bias of fc": ["model.embed_tokens.weight", "model.layers.0.self_attn.o_proj.bias"],
    "attention biases": ["model.embed_tokens.weight", "model.layers.0.self_attn.o_proj.bias"],
    "an outer prefix": ["model.embed_tokens.weight", "lm_head.weight"],
}


@pytest.mark.parametrize("variant", UNTOUCHED)
def test_what_stays_as_initialised(variant: str, engine: dict[str, Seen]) -> None:
    assert engine[variant].found["untouched"] == UNTOUCHED[variant]


def test_a_head_is_taken_from_the_target_when_draft_vocab_size_is_null(engine: dict[str, Seen]) -> None:
    assert engine["no head, and null"].found["from_target"]
    assert not engine["no head"].found["from_target"]
