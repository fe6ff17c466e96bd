"""provenance.json: which tool made the folder, from what, by which plan. No path, no host, no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import eaglekit
from eaglekit.plan.model import Place, Plan

PROVENANCE = "provenance.json"
SCHEMA = "eaglekit/provenance/1"


def provenance(plan: Plan, overflows: Mapping[str, int]) -> dict[str, Any]:
    """The provenance of the folder that `plan` makes."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "eaglekit", "version": eaglekit.__version__},
        "source": _published(plan.source),
        "target": _published(plan.target) if plan.target is not None else None,
        "plan": plan.digest(),
        "from": plan.from_dialect,
        "to": plan.to_dialect,
        "function": "preserved" if not _changes_numbers(plan) else "cast to another dtype",
        "left": [{"kind": item.kind, "name": item.name, "why": item.why} for item in plan.left],
        # Codes only: the messages may name folders of the machine that converted.
        "findings": sorted({finding.code for finding in plan.report.findings}),
    }
    if overflows:
        document["overflows"] = dict(sorted(overflows.items()))
    return document


def _published(place: Place) -> dict[str, Any]:
    """Identity and digest. Weights are covered by the manifest: their bytes are the ones that were copied."""
    return {**place.identity, "digest": place.content, "digest_covers": "config, headers and sizes"}


def _changes_numbers(plan: Plan) -> bool:
    return any(word.startswith("cast") for steps in plan.files.values() for step in steps for word in step.steps)
