"""The reference drafter against what vLLM 0.32 drafted: see `fixtures/record_vllm.py`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from eaglekit.checkpoint import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.drafter import Attention, Feedback, Fusion, FusionNorm, Part, Residual, Rope
from eaglekit.reference.drafting import draft_everywhere, logits
from eaglekit.reference.loading import load
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.session import Session

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RECORDINGS = FIXTURES / "recordings" / "vllm-0.32"
NAMES = [path.name.removesuffix(".json") for path in sorted(RECORDINGS.glob("*.json"))]
HOW_MANY = 49

# No recorded draft won by less than twice this: logits as near as this cannot choose another token.
LOGIT_TOLERANCE = 5e-5


@dataclass(frozen=True)
class Text:
    """One recorded text."""

    tokens: Tensor
    states: Tensor
    """What vLLM gave its drafter at every position but the last, before any fusing."""
    lengths: list[int]
    """Tokens known at the start of each round."""
    drafts: Tensor
    """A row a round."""
    logits: Tensor
    """vLLM's logit of each draft."""


@dataclass(frozen=True, eq=False)
class Recording:
    """What vLLM was given and what it drafted, beside the same drafter in the reference."""

    said: Mapping[str, Any]
    texts: list[Text]
    drafter: ReferenceDrafter

    @property
    def drafts(self) -> Tensor:
        """Every round's drafts, text after text."""
        return torch.cat([text.drafts for text in self.texts])


Open = Callable[[str], Recording]


@pytest.fixture(scope="module", autouse=True)
def unchecked_shapes() -> Iterator[None]:
    """Leaves the shapes to the other tests of this room: checking them here takes twice as long as drafting."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Opens the recording of a drafter, which is built anew from its recipe, read and loaded as any checkpoint is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FIXTURES))
        recipes = {row.fixture.name: row.fixture for row in importlib.import_module("recording.drafters").DRAFTERS}
        targets = importlib.import_module("recording.targets").TARGETS
        digest = importlib.import_module("recording.digest").digest
        write = importlib.import_module("recipes.write").write

        @cache
        def target(name: str) -> tuple[Tensor, str]:
            built = targets[name]()
            embedding = built.tensors["model.embed_tokens.weight"]
            return torch.frombuffer(bytearray(embedding.data), dtype=torch.float32).view(embedding.shape), digest(built)

        @cache
        def open_one(name: str) -> Recording:
            said = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
            embedding, target_digest = target(said["target"])
            same = (digest(recipes[name]), target_digest) == (said["drafter_digest"], said["target_digest"])
            assert same, f"{name} was recorded with other weights: python fixtures/record_vllm.py {name}"
            folder = tmp_path_factory.mktemp("recorded") / name
            write(recipes[name], folder)
            checkpoint = open_folder(folder)
            meant = read(checkpoint, Given(aux_layers=tuple(said["boundaries"]) or None)).drafter_or_refuse()
            drafter = load(meant, checkpoint, shared={Part.EMBEDDING: embedding})
            return Recording(said, texts_of(name, said["texts"]), drafter)

        yield open_one


def texts_of(name: str, count: int) -> list[Text]:
    """The numbers of a recording."""
    stored = load_file(RECORDINGS / f"{name}.safetensors")
    return [
        Text(
            stored[f"{number}.tokens"].long(),
            stored[f"{number}.states"],
            stored[f"{number}.lengths"].tolist(),
            stored[f"{number}.drafts"].long(),
            stored[f"{number}.logits"],
        )
        for number in range(count)
    ]


@cache
def everywhere(recording: Recording) -> tuple[Tensor, Tensor]:
    """Drafts and their logits at every recorded round, from one pass over each whole text."""
    drafter = recording.drafter
    drafts, scores = [], []
    for text in recording.texts:
        slots = torch.tensor(text.lengths) - 2
        # The last token's state is nobody's business yet: a NaN that is read would spoil every draft.
        states = torch.cat([text.states, torch.full_like(text.states[:1], torch.nan)])
        steps = list(draft_everywhere(drafter, text.tokens, states, steps=recording.said["steps"]))
        drafts.append(torch.stack([step.tokens[slots] for step in steps], dim=1))
        scores.append(torch.stack([logits(drafter, step.normed[slots]).amax(-1) for step in steps], dim=1))
    return torch.cat(drafts), torch.cat(scores)


def served(recording: Recording) -> Tensor:
    """Drafts at every recorded round, served as vLLM did: each round is fed what was accepted since the last."""
    drafts = []
    for text in recording.texts:
        session, known = Session(recording.drafter), 1
        for length in text.lengths:
            accepted, states = text.tokens[known:length], text.states[known - 1 : length - 1]
            drafts.append(session.draft(accepted, states, steps=recording.said["steps"]))
            known = length
    return torch.stack(drafts)


def test_no_recording_is_lost() -> None:
    assert len(NAMES) == HOW_MANY


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_holds_the_drafts_it_says(opened: Open, name: str) -> None:
    recording = opened(name)
    assert len(recording.texts) == recording.said["texts"] == 3
    assert recording.drafts.shape == (recording.said["rounds"], recording.said["steps"])
    assert recording.drafts.numel() == recording.said["drafts"] == 92


@pytest.mark.parametrize("name", NAMES)
def test_drafting_from_everywhere_gives_the_drafts_of_the_engine(opened: Open, name: str) -> None:
    recording = opened(name)
    drafts, _ = everywhere(recording)
    assert drafts.tolist() == recording.drafts.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_serving_round_by_round_gives_the_drafts_of_the_engine(opened: Open, name: str) -> None:
    recording = opened(name)
    assert served(recording).tolist() == recording.drafts.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_the_logits_of_drafts_are_the_engines(opened: Open, name: str) -> None:
    recording = opened(name)
    _, scores = everywhere(recording)
    difference = (scores - torch.cat([text.logits for text in recording.texts])).abs().max()
    assert difference < LOGIT_TOLERANCE
    assert recording.said["smallest_gap"] > 2 * LOGIT_TOLERANCE


@pytest.mark.parametrize("name", NAMES)
def test_rounds_of_every_length_were_recorded(opened: Open, name: str) -> None:
    recording = opened(name)
    steps = {
        after - before
        for text in recording.texts
        for before, after in zip(text.lengths, text.lengths[1:], strict=False)
    }
    assert steps == set(range(1, recording.said["steps"] + 2))


def test_recordings_cover_every_switch_with_both_attentions(opened: Open) -> None:
    seen = {
        (spec.attention, switch)
        for spec in (opened(name).drafter.spec for name in NAMES)
        for switch in (spec.fusion, spec.fusion_norm, spec.feedback, spec.residual)
    }
    both = (FusionNorm.NONE, FusionNorm.PER_STATE, *Feedback, *Residual, Fusion.AUX_STATES)
    # No engine gives an MLA drafter norm_before_fc or the final state.
    only_grouped = {(Attention.GQA, FusionNorm.WHOLE), (Attention.GQA, Fusion.FINAL_STATE)}
    assert seen == only_grouped | {(attention, switch) for attention in Attention for switch in both}


@pytest.mark.parametrize(
    ("name", "other"),
    [
        pytest.param("llama-norm_output", {"feedback": Feedback.RAW}, id="norm_output"),
        pytest.param("llama-eagle3", {"feedback": Feedback.NORMED}, id="no norm_output"),
        pytest.param("llama-fc_norm", {"fusion_norm": FusionNorm.NONE}, id="fc_norm"),
        pytest.param("llama-norm_before_fc", {"fusion_norm": FusionNorm.NONE}, id="norm_before_fc"),
        pytest.param("llama-norm_before_residual", {"residual": Residual.RAW}, id="norm_before_residual"),
        pytest.param("llama-two-layers", {"num_layers": 1}, id="second layer"),
        pytest.param("qwen3-normed-queries", {"qk_norm": False}, id="q and k norms"),
        pytest.param("llama-rope-linear", {"rope": Rope(10000.0, "default")}, id="linear rope"),
        pytest.param("llama-rope-llama3", {"rope": Rope(10000.0, "default")}, id="llama3 rope"),
        pytest.param("llama-rope-yarn", {"rope": Rope(10000.0, "default")}, id="yarn rope"),
        pytest.param("llama-rope-theta", {"rope": Rope(10000.0, "default")}, id="rope theta"),
        pytest.param("latent-norm_output", {"feedback": Feedback.RAW}, id="norm_output with MLA"),
        pytest.param("latent-fc_norm", {"fusion_norm": FusionNorm.NONE}, id="fc_norm with MLA"),
        pytest.param("latent-norm_before_residual", {"residual": Residual.RAW}, id="norm_before_residual with MLA"),
        pytest.param("latent-yarn-two-scales", {"rope": Rope(10000.0, "default")}, id="yarn with MLA"),
    ],
)  # fmt: skip
def test_a_drafter_taken_for_another_does_not_draft_as_the_engine_did(
    opened: Open, name: str, other: dict[str, Any]
) -> None:
    recording = opened(name)
    mistaken = replace(recording.drafter, spec=recording.drafter.spec.replacing(**other))
    drafts, _ = everywhere(replace(recording, drafter=mistaken))
    assert drafts.tolist() != recording.drafts.tolist()
