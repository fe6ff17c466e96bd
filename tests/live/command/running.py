"""`eaglekit validate --engine vllm` on the trained fixtures, and what the tests look at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.running import Finished, eaglekit
from tests.live.command.conftest import TRAINED

RECORDED = json.loads((TRAINED / "vllm-0.32.json").read_text(encoding="utf-8"))["drafters"]
"""What another script counted in the same vLLM, round by round."""
COUNTERS = ("drafts", "draft tokens", "accepted tokens", "accepted at draft 1", "accepted at draft 2",
            "accepted at draft 3", "acceptance length")  # fmt: skip


def validate(
    drafter: str | Path, family: str, *options: object, environment: Mapping[str, str], texts: int | None = None
) -> Finished:
    """One run of the program with a drafter of fixtures/trained, or another folder."""
    limit = ["--limit", texts] if texts is not None else []
    return eaglekit(
        "validate", TRAINED / drafter, "--target", TRAINED / family, "--prompts",
        TRAINED / f"prompts-{family}.jsonl", "--engine", "vllm", "--json", *limit, *options, environment=environment,
    )  # fmt: skip


def finding(done: Finished, code: str) -> dict[str, Any]:
    """The one finding of a code."""
    (found,) = [one for one in done.document["findings"] if one["code"] == code]
    return dict(found)


def served(done: Finished, side: str) -> list[str]:
    """A column of the table of counters."""
    rows = {row["counter"]: row[side] for row in done.document["tables"]["served"]}
    return [rows[name] for name in COUNTERS]


def recorded(drafter: str) -> list[str]:
    """The same column, from the recording."""
    said = RECORDED[drafter]
    counts = [said["num_drafts"], said["num_draft_tokens"], said["num_accepted_tokens"]]
    counts += said["num_accepted_tokens_per_pos"]
    return [*map(str, counts), f"{said['acceptance_length']:.4f}"]
