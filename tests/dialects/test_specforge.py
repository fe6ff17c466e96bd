"""What `--to specforge` must say so that SpecForge 0.2 computes the drafter that was meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eaglekit.dialects.tables import DIALECTS
from eaglekit.dialects.writing import impossible, write
from eaglekit.drafter import Feedback, FusionNorm, Rope, Spec
from tests.dialects.strategies import PLAIN, fitted

SPECFORGE = DIALECTS["specforge"]
ORDINARY = replace(fitted(PLAIN, SPECFORGE), fusion_norm=FusionNorm.NONE, feedback=Feedback.RAW)
LENGTH = {"original_max_position_embeddings": 32}


def turned(kind: str, **numbers: object) -> Spec:
    """The ordinary drafter with another rope."""
    return replace(ORDINARY, rope=Rope(10000.0, kind, numbers | LENGTH))


@pytest.mark.parametrize("norm", [FusionNorm.NONE, FusionNorm.PER_STATE])
def test_a_raw_feedback_is_not_stated_since_a_false_takes_the_norm_before_the_head_away(norm: FusionNorm) -> None:
    assert "norm_output" not in write(replace(ORDINARY, fusion_norm=norm), SPECFORGE).config


def test_a_normed_feedback_is_stated() -> None:
    assert write(replace(ORDINARY, feedback=Feedback.NORMED), SPECFORGE).config["norm_output"] is True


@pytest.mark.parametrize(
    ("numbers", "written"),
    [
        ({}, {"beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 0.0}),
        ({"mscale": 0.7}, {"beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 0.0}),
        (
            {"beta_fast": 24.0, "mscale": 0.7, "mscale_all_dim": 1.0},
            {"beta_fast": 24.0, "beta_slow": 1.0, "mscale": 0.7, "mscale_all_dim": 1.0},
        ),
    ],
    ids=["none stated", "one mscale alone", "both mscales"],
)
def test_every_number_of_yarn_is_stated(numbers: dict[str, float], written: dict[str, float]) -> None:
    scaling = write(turned("yarn", factor=4.0, **numbers), SPECFORGE).config["rope_scaling"]
    assert scaling == {"rope_type": "yarn", "type": "yarn", "factor": 4.0, **written, **LENGTH}


@pytest.mark.parametrize(
    "spec",
    [
        turned("dynamic", factor=4.0),
        turned("longrope", long_factor=(1.5,), short_factor=(1.0,)),
        turned("yarn", factor=4.0, truncate=False),
        turned("yarn", factor=4.0, attention_factor=1.25),
    ],
    ids=["dynamic", "longrope", "yarn untruncated", "yarn with a factor of its own"],
)
def test_a_rope_that_specforge_turns_otherwise_is_refused(spec: Spec) -> None:
    [finding] = impossible(spec, SPECFORGE)
    assert finding.code == "dialect-cannot-hold"
    assert "rope" in finding.message
