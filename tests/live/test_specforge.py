"""SpecForge's own model, given what `--to specforge` writes: every key fits, and its logits are the reference's."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from eaglekit.drafter import Feedback
from eaglekit.reference.drafting import draft_everywhere, logits
from eaglekit.reference.model import ReferenceDrafter
from tests.live.conftest import Folder
from tests.live.drafting import reference
from tests.live.material import KINDS, VOCABULARY, write
from tests.live.test_conversions import case
from tests.plan.converting import converted

pytestmark = pytest.mark.engine

WRITTEN = (
    "llama-eagle3", "llama-eagle3.1", "llama-fc_norm", "llama-norm_output", "llama-whole-vocabulary",
    "llama-frequency-map", "llama-own-embedding", "llama-wider-than-target", "llama-rope-theta", "llama-rope-linear",
    "llama-rope-llama3", "llama-rope-yarn", "llama-portable", "llama-original-spelling", "qwen3-target",
    "speculators-eagle3", "speculators-eagle3.1",
)  # fmt: skip
"""The kinds that SpecForge has a model for; eaglekit refuses to write the others in this layout."""
POSITIONS, STEPS = 14, 4
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
"""Two float32 programs sum some hundred products in other orders."""
EMBEDDING = "embed_tokens.weight"


@dataclass(frozen=True)
class Loaded:
    """A converted folder, and what SpecForge made of it."""

    drafter: ReferenceDrafter
    """The folder as eaglekit reads it."""
    model: Any
    """SpecForge's model, started from the folder as a training run starts."""
    missed: dict[str, set[str]]
    """What the loader of the folder reported."""
    left: tuple[str, ...]
    """What the start of a run found no weights for."""


@contextmanager
def quiet() -> Iterator[None]:
    """Lets SpecForge and transformers warn, which is no fault of the folder; nothing is compiled."""
    with warnings.catch_warnings(), torch.compiler.set_stance("force_eager"):
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def loaded(tmp_path: Path, target_folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Loaded]:
    """Converts a kind and has SpecForge open the folder with its own loader, and start a run from it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def load(name: str) -> Loaded:
        target, source = target_folder(KINDS[name].target), tmp_path / "source"
        write(KINDS[name].fixture, source)
        given, options = case(name, "specforge")
        folder = converted(source, tmp_path / "drafter", given=given, target=target, **options)
        with quiet():
            auto = importlib.import_module("specforge.modeling.auto")
            starting = importlib.import_module("specforge.training.model_loading")
            _, missed = auto.AutoDraftModel.from_pretrained(folder, output_loading_info=True)
            config = starting.load_draft_config_source(str(folder))
            model = auto.AutoDraftModel.from_config(config)
            if not reference(folder, target).spec.own_embedding:
                model.load_embedding(str(target))
            report = starting.warm_start_draft_model(
                model, str(folder), draft_config=config, strategy="eagle3", allow_missing_embedding=True
            )
        return Loaded(reference(folder, target), model, missed, report.missing_keys)

    return load


def theirs(model: Any, tokens: Tensor, states: Tensor) -> list[Tensor]:
    """The logits of SpecForge's draft model, taken from step to step as its training loop takes it."""
    found: list[Tensor] = []
    cache: list[list[Tensor]] = [[], []]
    with torch.no_grad(), quiet():
        hidden = model.project_hidden_states(states[None])
        seen = torch.ones(1, POSITIONS, dtype=torch.bool)
        mask = model.prepare_decoder_attention_mask(seen, hidden, 1, POSITIONS, 0)
        for step in range(STEPS):
            beside = torch.cat([tokens[step:], tokens.new_zeros(step)])
            hidden = model.backbone(
                input_embeds=model.embed_input_ids(beside[None]), hidden_states=hidden, cache_hidden=cache,
                attention_mask=mask, position_ids=torch.arange(POSITIONS)[None],
            )  # fmt: skip
            found.append(model.compute_logits(hidden)[0])
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_specforge_finds_every_key_and_no_other(loaded: Callable[[str], Loaded], name: str) -> None:
    found = loaded(name)
    # Its own checkpoints leave out an embedding that is the target's, too.
    shared = set() if found.drafter.spec.own_embedding else {EMBEDDING}
    assert found.missed["missing_keys"] == set(found.left) == shared
    assert found.missed["unexpected_keys"] == found.missed["mismatched_keys"] == set()


@pytest.mark.parametrize("name", WRITTEN)
def test_logits_of_specforge_s_own_model_are_the_reference_s(loaded: Callable[[str], Loaded], name: str) -> None:
    found = loaded(name)
    dice = torch.Generator().manual_seed(3)
    tokens = torch.randint(VOCABULARY, (POSITIONS,), generator=dice)
    spec = found.drafter.spec
    states = torch.randn(POSITIONS, spec.num_aux_states * spec.target_hidden_size, generator=dice)
    # It is given pairs where ours pairs each state with the next token.
    padded = torch.cat([tokens, tokens.new_zeros(STEPS)])
    forced = [padded[step : step + POSITIONS] for step in range(1, STEPS)]
    text, beside = torch.cat([tokens[:1], tokens]), torch.cat([states, states[:1]])
    steps = draft_everywhere(found.drafter, text, beside, steps=STEPS, forced=forced)
    ours, other = [logits(found.drafter, step.normed) for step in steps], theirs(found.model, tokens, states)
    assert len(ours) == len(other) == STEPS
    # SpecForge 0.2 is older than #879: whatever norm_output says, it feeds the un-normed state on.
    alike = 1 if spec.feedback is Feedback.NORMED else STEPS
    for mine, one in zip(ours[:alike], other[:alike], strict=True):
        assert_close(mine, one, **CLOSE)
    assert all(not torch.allclose(mine, one, atol=0.1) for mine, one in zip(ours[alike:], other[alike:], strict=True))
