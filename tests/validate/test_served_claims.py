"""What a real engine did is no claim that a verification can repeat, and none that it may call false."""

from __future__ import annotations

import pytest

from eaglekit.validate.claims import Here, Verdict, compare

EMPTY = {"measurements": [], "tables": {}, "charts": {}, "facts": {}, "result": {"stages": {}}}
MEASURED = {"name": "vllm: acceptance length", "value": 3.0, "unit": "tokens per target step", "note": "rounds"}


@pytest.mark.parametrize(
    "claimed",
    [
        pytest.param({"measurements": [MEASURED]}, id="a figure"),
        pytest.param({"result": {"stages": {"served": "passed"}}}, id="the stage"),
        pytest.param(
            {"facts": {"served by": {"value": "vLLM 0.32.0", "origin": "read: the engine"}}}, id="its version"
        ),
    ],
)
def test_a_claim_about_a_real_engine_is_not_repeated(claimed: dict[str, object]) -> None:
    (outcome,) = compare({**EMPTY, **claimed}, EMPTY, Here(same_tool=True))
    assert outcome.verdict is Verdict.NOT_REPEATED
    assert "--engine vllm" in outcome.why


def test_another_figure_that_nothing_answers_to_still_fails() -> None:
    claimed = {**EMPTY, "measurements": [{**MEASURED, "name": "acceptance length"}]}
    (outcome,) = compare(claimed, EMPTY, Here(same_tool=True))
    assert outcome.verdict is Verdict.FAILS
