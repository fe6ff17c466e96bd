"""Trained drafters through the whole `eaglekit validate`: against vLLM's counts, the training script's, and theory.

Two others have measured the same files: vLLM 0.32, round by round (`vllm-0.32.json`), and the training script, which
shares no code with eaglekit (`figures.json`). fixtures/README.md says how both were made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import eaglekit

TRAINED = Path(__file__).resolve().parents[2] / "fixtures" / "trained"
RECORDED = json.loads((TRAINED / "vllm-0.32.json").read_text())["drafters"]
FIGURES = json.loads((TRAINED / "figures.json").read_text())
DRAFT_TOKENS = 3
FAMILIES = ("llama", "deepseek")
QUANTISED = ("llama-nvfp4-modelopt", "llama-nvfp4-llmcompressor", "deepseek-nvfp4-modelopt")
VERSIONS = {"eagle3.1": "", "eagle3": "baseline: "}

each_drafter = pytest.mark.parametrize(("family", "version"), [(f, v) for f in FAMILIES for v in VERSIONS])
each_family = pytest.mark.parametrize("family", FAMILIES)


@cache
def report(target: str) -> dict[str, Any]:
    """One run for both drafters of a target: the EAGLE 3.1 one, with the EAGLE-3 one as its baseline."""
    family = target.partition("-")[0]
    done = eaglekit(
        "validate", TRAINED / f"{family}-eagle3.1", "--baseline", TRAINED / f"{family}-eagle3",
        "--target", TRAINED / target, "--prompts", TRAINED / f"prompts-{target}.jsonl",
        "--draft-tokens", DRAFT_TOKENS, "--json", environment={"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.code == 0, done.err
    return done.document


def measured(target: str, version: str, name: str) -> dict[str, Any]:
    """A measurement of one of the two."""
    wanted = VERSIONS[version] + name
    (found,) = [one for one in report(target)["measurements"] if one["name"] == wanted]
    return dict(found)


def depths(target: str, version: str, name: str, *, chart: str) -> list[float]:
    """A line of a chart over draft depth 1 to 8."""
    series = {one["name"]: one["y"] for one in report(target)["charts"][chart]["series"]}
    return list(series[VERSIONS[version] + name])


@dataclass(frozen=True)
class Counted:
    """Drafts, and accepted ones per position."""

    rounds: int
    accepted: tuple[int, ...]


def counted_by_vllm(family: str, version: str) -> Counted:
    """vLLM's rounds, without those whose drafts reach past the end of the text: what comes there no text can tell."""
    rounds = RECORDED[f"{family}-{version}"]["requests"]
    kept: list[int] = []
    for line in (TRAINED / f"prompts-{family}.jsonl").read_text().splitlines():
        text = json.loads(line)
        emitted = [made for made, _ in rounds[text["id"]]]
        # The prefill makes one token; every round then starts behind what the ones before have made.
        known = list(accumulate(emitted, initial=1))[:-1]
        assert 1 + sum(emitted) == len(text["response_token_ids"])
        kept += [
            accepted
            for start, (_, accepted) in zip(known, rounds[text["id"]], strict=True)
            if start + DRAFT_TOKENS <= len(text["response_token_ids"])
        ]
    return Counted(len(kept), tuple(sum(one > position for one in kept) for position in range(DRAFT_TOKENS)))


@each_drafter
def test_the_rounds_of_a_real_vllm_are_counted_one_by_one(family: str, version: str) -> None:
    expected = counted_by_vllm(family, version)
    rates = [measured(family, version, f"acceptance rate at draft {step + 1}") for step in range(DRAFT_TOKENS)]
    assert {rate["count"] for rate in rates} == {expected.rounds}
    assert [rate["value"] * expected.rounds for rate in rates] == pytest.approx(expected.accepted, abs=1e-6)


@each_drafter
def test_the_acceptance_length_is_the_one_of_a_real_vllm(family: str, version: str) -> None:
    expected = counted_by_vllm(family, version)
    length = measured(family, version, "acceptance length")["value"]
    assert length == pytest.approx(1 + sum(expected.accepted) / expected.rounds, abs=1e-9)


@each_drafter
def test_another_program_found_the_same_on_its_own(family: str, version: str) -> None:
    expected = FIGURES[f"{family}-{version}"]["held_out"]
    length = measured(family, version, "acceptance length")
    assert (length["count"], round(length["value"], 4)) == (expected["rounds"], expected["acceptance_length"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("target", QUANTISED)
def test_beside_an_nvfp4_target_another_program_found_the_same(target: str, version: str) -> None:
    expected = FIGURES[target][f"{target.partition('-')[0]}-{version}"]
    length = measured(target, version, "acceptance length")
    assert (length["count"], round(length["value"], 4)) == (expected["rounds"], expected["acceptance_length"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("target", [*FAMILIES, *QUANTISED])
def test_every_trained_drafter_saves_the_target_half_its_steps(target: str, version: str) -> None:
    assert measured(target, version, "acceptance length")["value"] >= 2.0


@pytest.mark.parametrize("target", [*FAMILIES, *QUANTISED])
def test_the_texts_are_what_the_target_says_itself(target: str) -> None:
    (own,) = [one for one in report(target)["measurements"] if one["name"] == "responses that are the target's own"]
    assert own["value"] == 1.0


@each_family
def test_the_state_of_the_eagle_3_drafter_grows_with_every_draft(family: str) -> None:
    sizes = depths(family, "eagle3", "residual out", chart="state-by-depth")
    assert sizes == sorted(sizes)
    assert sizes[-1] > 1.5 * sizes[0]


@each_family
def test_the_state_of_the_eagle_3_1_drafter_does_not_grow(family: str) -> None:
    sizes = depths(family, "eagle3.1", "residual out", chart="state-by-depth")
    assert max(sizes) < 1.25 * sizes[0]


@each_drafter
def test_states_grow_as_another_program_measured_them(family: str, version: str) -> None:
    norms = FIGURES[f"{family}-{version}"]["drift"]["raw_norm"]
    found = depths(family, version, "residual out", chart="state-by-depth")
    # The script takes the norm of a vector, the report the root mean square of its 128 channels, vector by vector.
    assert [size * 128**0.5 for size in found] == pytest.approx(norms, rel=1e-4)


@each_drafter
def test_attention_moves_from_the_text_to_the_drafters_own_drafts(family: str, version: str) -> None:
    drafts = depths(family, version, "own drafts", chart="attention-by-depth")
    assert drafts[0] == 0.0
    assert drafts[-1] > drafts[1] > 0.0
