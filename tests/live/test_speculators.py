"""speculators' own model, given what `--to speculators` writes: every key fits, and its logits are the reference's."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from eaglekit.reference.drafting import draft_everywhere, logits
from tests.live.conftest import Folder
from tests.live.drafting import reference
from tests.live.material import KINDS, VOCABULARY, write
from tests.live.test_conversions import CANNOT, case
from tests.plan.converting import converted

pytestmark = pytest.mark.engine

WRITTEN = [name for name in KINDS if name not in CANNOT["speculators"]]
PARALLEL = {name for name in WRITTEN if KINDS[name].parallel}
POSITIONS, STEPS = 14, 4
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
"""Two float32 programs sum some hundred products in other orders."""
NOTHING = {"missing_keys": set(), "unexpected_keys": set(), "mismatched_keys": set()}


@contextmanager
def quiet() -> Iterator[None]:
    """Lets speculators and transformers warn, which is no fault of the folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def loaded(tmp_path: Path, target_folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Converts a kind, opens the folder with speculators' own loader; gives both folders, the model, what it missed."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def load(name: str) -> tuple[Path, Path, Any, dict[str, Any]]:
        kind = KINDS[name]
        target, source = target_folder(kind.target), tmp_path / "source"
        write(kind.fixture, source)
        given, options = case(name, "speculators")
        folder = converted(source, tmp_path / "drafter", given=given, target=target, **options)
        # The loader wants the target too, under the name the folder states.
        named = json.loads((folder / "config.json").read_text(encoding="utf-8"))["speculators_config"]["verifier"]
        monkeypatch.chdir(tmp_path)
        Path(named["name_or_path"]).parent.mkdir()
        Path(named["name_or_path"]).symlink_to(target)
        with quiet():
            loading = importlib.import_module("transformers.modeling_utils").PreTrainedModel
            finish, found = loading._finalize_model_loading, []

            def finishing(*given: Any, **named: Any) -> Any:
                found.append(finish(*given, **named))
                return found[-1]

            monkeypatch.setattr(loading, "_finalize_model_loading", staticmethod(finishing))
            speculators = importlib.import_module("speculators")
            config = speculators.SpeculatorModelConfig.from_pretrained(folder)
            # No file holds it, and the usual one wants more than a CPU.
            config.transformer_layer_config._attn_implementation = "eager"
            model = speculators.SpeculatorModel.from_pretrained(folder, config=config, dtype=torch.float32)
        [info] = found
        return folder, target, model, {key: set(value) for key, value in info.to_dict().items() if key in NOTHING}

    return load


@pytest.mark.parametrize("name", WRITTEN)
def test_speculators_finds_every_key_and_no_other(loaded: Any, name: str) -> None:
    *_, model, missed = loaded(name)
    assert type(model).__name__ == ("PEagleDraftModel" if name in PARALLEL else "Eagle3DraftModel")
    assert missed == NOTHING


@pytest.mark.parametrize("name", [name for name in WRITTEN if name not in PARALLEL])
def test_logits_of_speculators_own_model_are_the_reference_s(loaded: Any, name: str) -> None:
    folder, target, model, _ = loaded(name)
    drafter = reference(folder, target)
    dice = torch.Generator().manual_seed(3)
    tokens = torch.randint(VOCABULARY, (POSITIONS,), generator=dice)
    width = drafter.spec.num_aux_states * drafter.spec.target_hidden_size
    states = torch.randn(POSITIONS, width, generator=dice)
    theirs: list[torch.Tensor] = []
    model.lm_head.register_forward_hook(lambda module, inputs, output: theirs.append(output.detach()[0]))
    with torch.no_grad(), quiet():
        model(
            hidden_states=states[None], input_ids=tokens[None], ttt_steps=STEPS,
            document_ids=torch.zeros(1, POSITIONS, dtype=torch.long),
        )  # fmt: skip
    # It feeds on the text, pads with token 0, and is given pairs where ours pairs each state with the next token.
    padded = torch.cat([tokens, tokens.new_zeros(STEPS)])
    forced = [padded[step : step + POSITIONS] for step in range(1, STEPS)]
    text, beside = torch.cat([tokens[:1], tokens]), torch.cat([states, states[:1]])
    ours = [
        logits(drafter, step.normed) for step in draft_everywhere(drafter, text, beside, steps=STEPS, forced=forced)
    ]
    assert len(ours) == len(theirs) == STEPS
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine, other, **CLOSE)
