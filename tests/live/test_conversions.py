"""Every kind of drafter, in every layout that vLLM reads: it loads the folder by the recipe and drafts as meant.

The kinds are those of `fixtures/recording/drafters.py`. What a layout cannot hold is refused by eaglekit; the list
below says which, so that a refusal too many is noticed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.target_checks import fit, given_with
from eaglekit.engines.inspection import artefact_of
from eaglekit.engines.recipes import Recipe, recipes
from eaglekit.report import Refusal
from tests.live.conftest import Folder, Serve, speculative_config
from tests.live.drafting import drafts_of, engine_drafts, reference
from tests.live.material import KINDS, write
from tests.live.serving import STEPS, Job
from tests.plan.converting import converted, target_in

pytestmark = pytest.mark.engine

LAYOUTS = ("portable", "vllm", "speculators")
BOUNDARIES: dict[str, tuple[int, ...]] = {
    "llama-one-state-fc_norm": (5,),
    "llama-four-states": (0, 3, 5, 7),
    "llama-four-states-eagle3.1": (1, 3, 5, 7),
    "llama-original-spelling": (2, 4, 5),
}
"""What must be said of files whose layer ids can be read in two ways, or that have none."""
EMBEDDED = frozenset(
    name for name, kind in KINDS.items() if "embed_tokens.weight" in kind.fixture.tensors
)  # fmt: skip
"""Drafters with an embedding of their own: noise, which eaglekit takes for untrained unless it is told."""

CANNOT = {
    "portable": {
        "llama-norm_before_residual", "llama-norm_before_residual-eagle3.1", "llama-one-state", "llama-two-states",
        "llama-four-states",
        "llama-attention-bias", "llama-mlp-bias", "llama-parallel", "llama-parallel-eagle3.1", "qwen3-normed-queries",
        "qwen3-normed-queries-eagle3.1", "speculators-norm_before_fc-norm_before_residual", "speculators-qwen3",
        "speculators-parallel", "latent-norm_before_residual", "latent-two-states", "latent-two-layers",
    },
    "vllm": set(),
    "speculators": {
        "llama-wider-than-target", "llama-final-state", *(name for name in KINDS if name.startswith("latent")),
    },
}  # fmt: skip
"""Layout -> the kinds that eaglekit refuses to write in it: SGLang cannot serve them, or there is no spelling."""
FINAL_STATE = "llama-final-state"
"""The kind that vLLM's V2 runner refuses and V1, which serves on a CPU, takes."""


def case(name: str, layout: str) -> tuple[Given, dict[str, Any]]:
    """What eaglekit is told to convert a kind: what its file leaves open, and nothing else."""
    facts: dict[str, Any] = {}
    if layout == "speculators" and not name.startswith("speculators"):
        facts = {"target_name": "example/target", "speculative_tokens": STEPS}
    options = {"to": layout} | ({"embedding": "keep"} if name in EMBEDDED else {})
    return Given(aux_layers=BOUNDARIES.get(name), facts=facts), options


def recipe_of(folder: Path, target: Path) -> Recipe:
    """How vLLM is started with the drafter in `folder`."""
    checkpoint, beside = open_folder(folder), target_in(target)
    assert beside is not None
    given = given_with(Given(), beside)
    spec, _ = fit(read(checkpoint, given), beside)
    [recipe] = recipes(
        artefact_of(checkpoint, spec, given, beside), drafter=str(folder), target=str(target), draft_tokens=STEPS,
        engines=["vllm"],
    )  # fmt: skip
    return recipe


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", KINDS)
def test_vllm_drafts_from_the_converted_folder_what_the_reference_drafts(
    name: str, layout: str, tmp_path: Path, target_folder: Folder, engine: Serve
) -> None:
    kind = KINDS[name]
    target, source = target_folder(kind.target), tmp_path / "source"
    write(kind.fixture, source)
    given, options = case(name, layout)
    if name in CANNOT[layout]:
        with pytest.raises(Refusal):
            converted(source, tmp_path / "drafter", given=given, target=target, **options)
        return
    folder = converted(source, tmp_path / "drafter", given=given, target=target, **options)
    recipe = recipe_of(folder, target)
    if name == FINAL_STATE:
        assert "V1 runner, to which vLLM falls back on CPU or without Triton, serves it" in recipe.notes[0]
        told: dict[str, Any] = {"model": str(folder), "method": "eagle3", "num_speculative_tokens": STEPS}
    else:
        told = speculative_config(recipe.text)
    served = engine(Job(target, told, mla=kind.target == "deepseek"))
    assert served, served.error
    spec = reference(folder, target).spec
    assert served.boundaries == spec.aux_layers
    assert engine_drafts(served) == drafts_of(reference(folder, target), served)
