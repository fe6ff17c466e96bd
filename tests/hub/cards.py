"""What cards of the tests are made of: the published report, its drafter's config, and words of a publisher."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from eaglekit.engines.model import Verdict, Version
from eaglekit.engines.recipes import Recipe
from eaglekit.hub.card import BaseModel, CardMatter, Licence, write_card
from eaglekit.report import Finding, Refusal, Report
from tests.hub.published import REPORT

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TARGET = BaseModel("acme/llama-nvfp4", COMMIT, f"sha256:{'d' * 64}", stated=True)
VLLM = Recipe("vllm", "vLLM", Version.parse("0.22.0"), Verdict.READS, "bash", "vllm serve acme/llama-nvfp4", ())
CONFIG = {
    "eagle_aux_hidden_state_layer_ids": [2, 4, 5],
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]},
}


def report() -> Report:
    """The passing report of fixtures/published."""
    return Report.from_json(json.loads(REPORT.read_bytes()))


def matter(**changes: Any) -> CardMatter:
    """Everything for a card, with some of it changed."""
    usual = CardMatter(
        report(),
        hashlib.sha256(REPORT.read_bytes()).hexdigest(),
        TARGET,
        Licence("apache-2.0"),
        "acme/llama-eagle3.1",
        {"from": "vllm", "to": "portable", "function": "preserved", "tool": {"name": "eaglekit", "version": "0.1.0"}},
        CONFIG,
        (VLLM,),
        has_figure=True,
    )
    return replace(usual, **changes)


def with_facts(**facts: Any) -> CardMatter:
    """The usual matter, with other values for facts of its report; None takes one out."""
    said = report()
    kept = [
        replace(fact, value=facts.get(fact.name, fact.value))
        for fact in said.facts
        if facts.get(fact.name, fact) is not None
    ]
    return matter(report=replace(said, facts=tuple(kept)))


def card(**changes: Any) -> str:
    """A new card."""
    return write_card(matter(**changes), None)


def refused(base: str, **changes: Any) -> tuple[Finding, ...]:
    """What stands against merging into `base`."""
    try:
        write_card(matter(**changes), base)
    except Refusal as refusal:
        return refusal.findings
    return ()
