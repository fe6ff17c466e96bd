"""OpenVINO GenAI with drafters that optimum-intel exported: every row of its table, and its rounds beside vLLM's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import eaglekit
from tests.other_engines.running import Seen, name_of, run, seen
from tests.other_engines.variants import TARGET, TRAINED, VARIANTS, deeper_target, varied

pytestmark = pytest.mark.openvino

DRAFTS = 3
TEXTS = [json.loads(line) for line in (TRAINED / "prompts-llama.jsonl").read_text(encoding="utf-8").splitlines()]
VLLM = json.loads((TRAINED / "vllm-0.32.json").read_text(encoding="utf-8"))["drafters"]["llama-eagle3"]["requests"]
ROUNDS = [[made for made, _ in VLLM[text["id"]]] for text in TEXTS]
"""Tokens that each round of vLLM made with the trained drafter."""


@dataclass(frozen=True)
class Counted:
    """Rounds that end within a text, and the accepted drafts per position."""

    rounds: int
    accepted: tuple[int, ...]
    unsure: int = 0
    """Rounds that end a text with as many tokens as there are drafts: nothing says whether the last of them was one."""

    def allows(self, other: Counted) -> bool:
        """Whether what is unsure can come to the same."""
        *sure, last = self.accepted
        more = other.accepted[-1] - last
        return self.rounds == other.rounds and tuple(sure) == other.accepted[:-1] and 0 <= more <= self.unsure


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Seen]:
    """What the exporter and the pipeline made of every variant."""
    folder = tmp_path_factory.mktemp("openvino")
    (folder / "out").mkdir()
    targets = {"target": TARGET, "deeper": deeper_target(folder / "deeper")}
    job = {
        "targets": [{"from": str(source), "to": str(folder / "out" / name)} for name, source in targets.items()],
        "prompts": [text["prompt_token_ids"] for text in TEXTS],
        "drafters": [
            {
                "from": str(varied(folder / name_of(name), variant.change)),
                "to": str(folder / "out" / name_of(name)),
                "layers": variant.layers,
                "target": str(folder / "out" / variant.target),
            }
            for name, variant in VARIANTS.items()
        ],
    }
    run("EAGLEKIT_OPENVINO_PYTHON", "openvino_worker.py", job, folder)
    return {name: seen(folder / "out" / name_of(name)) for name in VARIANTS}


def rounds(found: Seen) -> list[list[int]]:
    """Tokens that each round made; the first pass of the target has no drafts yet."""
    assert found.found is not None, found.log[-2000:]
    return [answer["passes"][1:] for answer in found.found]


def counted(found: Seen) -> Counted:
    """The complete rounds of all answers."""
    kept: list[int] = []
    unsure = 0
    for made, answer in zip(rounds(found), found.found, strict=True):
        left = [len(answer["tokens"]) - start for start in accumulate(made, initial=1)]
        kept += [one - 1 for rest, one in zip(left, made, strict=False) if rest >= DRAFTS]
        unsure += made[-1] == left[len(made) - 1] == DRAFTS
    return Counted(len(kept), tuple(sum(one > position for one in kept) for position in range(DRAFTS)), unsure)


def predicted(drafter: Path, *said: str) -> Counted:
    """What the reference says of a drafter, from one pass over the texts."""
    done = eaglekit(
        "validate", drafter, "--target", TARGET, "--prompts", TRAINED / "prompts-llama.jsonl",
        "--draft-tokens", DRAFTS, "--json", *said, environment={"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    measured: dict[str, Any] = {one["name"]: one for one in done.document["measurements"]}
    rates = [measured[f"acceptance rate at draft {step + 1}"] for step in range(DRAFTS)]
    count = rates[0]["count"]
    return Counted(count, tuple(round(rate["value"] * count) for rate in rates))


def answered(found: Seen) -> Sequence[Sequence[int]]:
    """The tokens of every answer."""
    return [answer["tokens"] for answer in found.found]


SERVED = [name for name in VARIANTS if name not in {
    "an unknown class name", "MLP biases", "no draft_vocab_size", "no head, and null", "four states", "two layers",
    "a wider target", "ids alone",
}]  # fmt: skip


@pytest.mark.parametrize("variant", SERVED)
def test_whatever_it_drafts_the_answers_are_the_target_s(variant: str, engine: Mapping[str, Seen]) -> None:
    assert answered(engine[variant]) == [text["response_token_ids"] for text in TEXTS]


def test_the_trained_drafter_makes_the_same_rounds_as_in_vllm(engine: Mapping[str, Seen]) -> None:
    assert rounds(engine["trained"]) == ROUNDS


@pytest.mark.parametrize(
    "variant",
    ["the other class name", "an outer prefix", "an outer prefix but for the head", "an embedding of its own",
     "a tied head"],
)  # fmt: skip
def test_what_does_not_matter_to_it(variant: str, engine: Mapping[str, Seen]) -> None:
    assert rounds(engine[variant]) == ROUNDS


DROPPED = {
    "an unknown tensor": "stranger.weight",
    "state norms": "fc_norm.",
    "old state norms": "aux_norm_mid.weight",
    "whole norm": "input_norm.weight",
    "query norms": "midlayer.self_attn.q_norm.weight",
    "query biases": "midlayer.self_attn.q_proj.bias",
    "attention biases": "midlayer.self_attn.q_proj.bias",
    "a bias of fc": "fc.bias",
}


@pytest.mark.parametrize("variant", DROPPED)
def test_what_it_drops_with_a_warning(variant: str, engine: Mapping[str, Seen]) -> None:
    assert rounds(engine[variant]) == ROUNDS
    assert any(DROPPED[variant] in line and "UNEXPECTED" in line for line in engine[variant].log.splitlines())


@pytest.mark.parametrize("variant", ["norm_output", "norm_before_residual"])
def test_flags_it_does_not_know(variant: str, engine: Mapping[str, Seen]) -> None:
    assert rounds(engine[variant]) == ROUNDS


UNINITIALISED = {
    "names of later trainers": "model.midlayer.self_attn.q_proj.weight",
    "a missing tensor": "model.norm.weight",
    "no head": "model.lm_head.weight",
    "whole vocabulary": "model.d2t",
}


@pytest.mark.parametrize("variant", UNINITIALISED)
def test_what_it_serves_as_initialised_with_a_warning(variant: str, engine: Mapping[str, Seen]) -> None:
    assert rounds(engine[variant]) != ROUNDS
    assert any(UNINITIALISED[variant] in line and "MISSING" in line for line in engine[variant].log.splitlines())


REFUSED = {
    "an unknown class name": "ignore_mismatched_sizes",
    "four states": "ignore_mismatched_sizes",
    "no draft_vocab_size": "draft_vocab_size",
    "MLP biases": "last_hidden_state was not found",
    "two layers": "undeclared parameters",
    "a wider target": "cannot be multiplied",
    "ids alone": "num_decoder_layers must be at least 10",
}


@pytest.mark.parametrize("variant", REFUSED)
def test_what_it_refuses(variant: str, engine: Mapping[str, Seen]) -> None:
    assert engine[variant].found is None
    assert REFUSED[variant] in engine[variant].log


@pytest.mark.parametrize("variant", ["another theta", "linear rope", "whole vocabulary, and a map", "the last block"])
def test_what_it_applies_it_counts_like_the_reference(variant: str, engine: Mapping[str, Seen], tmp_path: Path) -> None:
    expected = predicted(varied(tmp_path / "drafter", VARIANTS[variant].change))
    assert counted(engine[variant]).allows(expected), (counted(engine[variant]), expected)


@pytest.mark.parametrize("variant", ["another theta", "linear rope", "the last block"])
def test_what_it_applies_matters(variant: str, engine: Mapping[str, Seen]) -> None:
    assert rounds(engine[variant]) != ROUNDS


def test_its_layers_are_outputs_of_blocks(engine: Mapping[str, Seen]) -> None:
    assert rounds(engine["what it was trained on"]) == ROUNDS


def test_its_default_is_one_block_later_than_everybody_else_s(engine: Mapping[str, Seen]) -> None:
    assert rounds(engine["the default"]) == rounds(engine["the default's layers"])
    assert sum(map(len, rounds(engine["the default"]))) > sum(map(len, ROUNDS))
