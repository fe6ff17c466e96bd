"""provenance.json: which tool made the folder, from what, by which plan. No path, no host, no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import eaglekit
from eaglekit.plan.model import Place, Plan

PROVENANCE = "provenance.json"
CHANGES = {
    "dtype-cast": "rounded to another dtype",
    "overruled": "as the user's options say, against what the file states",
    "embedding-replaced": "the target's embedding instead of the drafter's own",
}
"""Finding code -> what it says about the function."""
SCHEMA = "eaglekit/provenance/1"


def provenance(plan: Plan, overflows: Mapping[str, int]) -> dict[str, Any]:
    """The provenance of the folder that `plan` makes."""
    codes = {finding.code for finding in plan.report.findings}
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "eaglekit", "version": eaglekit.__version__},
        "source": _published(plan.source),
        "target": _published(plan.target) if plan.target is not None else None,
        "plan": plan.digest(),
        "from": plan.from_dialect,
        "to": plan.to_dialect,
        "function": "; ".join(sorted(CHANGES[code] for code in codes & CHANGES.keys())) or "preserved",
        "left": [{"kind": item.kind, "name": item.name, "why": item.why} for item in plan.left],
        # Codes only: the messages may name folders of the machine that converted.
        "findings": sorted(codes),
    }
    if overflows:
        document["overflows"] = dict(sorted(overflows.items()))
    return document


def _published(place: Place) -> dict[str, Any]:
    """Identity and digest. Weights are covered by the manifest: their bytes are the ones that were copied."""
    return {**place.identity, "digest": place.content, "digest_covers": "config, headers and sizes"}
