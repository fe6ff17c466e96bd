"""Drafters that really learnt, converted and served: vLLM accepts what one teacher-forced pass over the texts predicts.

The pass is `eaglekit validate` on the converted folder: its own target, its own drafter, no engine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import eaglekit
from tests.live.conftest import Serve, speculative_config
from tests.live.material import TRAINED
from tests.live.serving import Job, Served
from tests.live.test_conversions import recipe_of
from tests.plan.converting import converted

pytestmark = pytest.mark.engine

DRAFT_TOKENS, LIMIT, EOS = 3, 64, 2
RECORDED = json.loads((TRAINED / "vllm-0.32.json").read_text(encoding="utf-8"))["drafters"]


@dataclass(frozen=True)
class Counted:
    """Rounds whose drafts all lie within a text, and per draft position those that accepted it."""

    rounds: int
    accepted: tuple[int, ...]


def texts_of(family: str) -> list[dict[str, Any]]:
    """The held-out requests of a target and its answers."""
    lines = (TRAINED / f"prompts-{family}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def counted(served: Served) -> Counted:
    """What the engine's rounds came to."""
    lengths: list[int] = []
    for text in served.texts:
        for number, (known, drafts) in enumerate(zip(text.lengths, text.drafts, strict=True)):
            following = text.said[known : known + DRAFT_TOKENS]
            if len(following) < DRAFT_TOKENS:
                continue
            equal = [ours == said for ours, said in zip(drafts, following, strict=True)]
            lengths.append([*equal, False].index(False))
            if number + 1 < len(text.lengths):
                assert text.lengths[number + 1] - known - 1 == lengths[-1]
    return Counted(len(lengths), tuple(sum(one > position for one in lengths) for position in range(DRAFT_TOKENS)))


def predicted(drafter: Path, family: str) -> Counted:
    """What `eaglekit validate` says a server will count."""
    done = eaglekit(
        "validate", drafter, "--target", TRAINED / family, "--prompts", TRAINED / f"prompts-{family}.jsonl",
        "--draft-tokens", DRAFT_TOKENS, "--json", environment={"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.code == 0, done.err
    found = {one["name"]: one for one in done.document["measurements"]}
    rates = [found[f"acceptance rate at draft {step + 1}"] for step in range(DRAFT_TOKENS)]
    [rounds] = {int(rate["count"]) for rate in rates}
    return Counted(rounds, tuple(round(rate["value"] * rounds) for rate in rates))


@pytest.mark.parametrize("name", RECORDED)
def test_vllm_accepts_what_one_pass_over_the_texts_predicts(name: str, tmp_path: Path, engine: Serve) -> None:
    family = name.partition("-")[0]
    target, texts = TRAINED / family, texts_of(family)
    drafter = converted(TRAINED / name, tmp_path / "drafter", target=target, to="portable")
    told = speculative_config(recipe_of(drafter, target).text) | {"num_speculative_tokens": DRAFT_TOKENS}
    prompts = tuple(tuple(text["prompt_token_ids"]) for text in texts)
    served = engine(Job(target, told, prompts, agree=False, mla=family == "deepseek", new_tokens=LIMIT, stop_token=EOS))
    assert served, served.error
    answers = [text.said[len(prompt) :] for text, prompt in zip(served.texts, prompts, strict=True)]
    assert answers == [text["response_token_ids"] for text in texts]
    assert counted(served) == predicted(drafter, family)
    counters = {key.removeprefix("vllm:spec_decode_"): value for key, value in served.counters.items()}
    assert counters["num_drafts"] == [RECORDED[name]["num_drafts"]]
    assert counters["num_accepted_tokens_per_pos"] == RECORDED[name]["num_accepted_tokens_per_pos"]
