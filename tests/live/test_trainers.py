"""Drafters that SpecForge and AngelSlim made: converted, served by vLLM, and drafted as their trainers compute them.

That the reference drafter computes what the trainers do is held by tests/reference/test_specforge_angelslim_logits.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from eaglekit.dialects.given import Given
from eaglekit.drafter import Feedback
from tests.live.conftest import Serve, speculative_config
from tests.live.drafting import drafts_of, engine_drafts, reference
from tests.live.material import CHECKPOINTS, whole_target, write
from tests.live.serving import STEPS, Job
from tests.live.test_conversions import recipe_of
from tests.plan.converting import converted

pytestmark = pytest.mark.engine


@dataclass(frozen=True)
class Made:
    """A fixture that a trainer made, and what its training run would tell of it."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=lambda: {"to": "portable"})
    """How it is converted."""
    of_vision: bool = False
    """Whether its target sees. A Llama of its sizes serves it here: to a drafter, text is text."""


MADE = {
    "producer-specforge-0.2-hf": Made(),
    "producer-specforge-0.2-sglang-eagle3.1": Made({"feedback": Feedback.RAW}),
    # SGLang has no parallel drafting, so the layout for both engines cannot hold it. Its embedding is noise.
    "producer-specforge-0.2-peagle": Made({"mask_token_id": 7}, {"to": "vllm", "embedding": "keep"}),
    "producer-angelslim-0.5-llama": Made({"rope_theta": 10000.0}),
    "producer-angelslim-0.5-vl": Made(of_vision=True),
}
PROMPTS = tuple(
    tuple(3 + (number * 131 + position * 89 + position * position * 7) % 307 for position in range(length))
    for number, length in enumerate((1, 9, 40))
)


@pytest.mark.parametrize("name", MADE)
def test_vllm_drafts_from_a_trainer_s_file_what_the_reference_drafts(name: str, tmp_path: Path, engine: Serve) -> None:
    made, target = MADE[name], tmp_path / "target"
    write(whole_target(), target)
    given = Given(aux_layers=(2, 4, 5), facts=made.facts)
    beside = None if made.of_vision else target
    folder = converted(CHECKPOINTS / name, tmp_path / "drafter", given=given, target=beside, **made.options)
    told: dict[str, Any] = {"model": str(folder), "method": "eagle3", "num_speculative_tokens": STEPS}
    if not made.of_vision:
        told = speculative_config(recipe_of(folder, target).text)
    served = engine(Job(target, told, PROMPTS))
    assert served, served.error
    drafter = reference(folder, target)
    assert served.boundaries == drafter.spec.aux_layers == (2, 4, 5)
    assert engine_drafts(served) == drafts_of(drafter, served)
