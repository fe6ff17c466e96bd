"""A drafter beside another one: what the files say of each other, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.json_document import CONFIG_LIMIT, read_object
from eaglekit.dialects.reading import Read
from eaglekit.dialects.target import Target
from eaglekit.plan.diff import diff
from eaglekit.plan.provenance import PROVENANCE
from eaglekit.report import Fact, Finding, Refusal, Table

SAME = frozenset({"same", "permuted"})


@dataclass(frozen=True)
class Beside:
    """What a baseline's files say beside the drafter's."""

    claimed: bool
    """Whether the two are the same function by their bytes and their meaning, so that logits must be equal."""
    facts: tuple[Fact, ...]
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]


def compare(drafter: Read, baseline: Read, target: Target | None) -> Beside:
    """Role by role and meaning by meaning; another function is no error, unless a file claims to be the same."""
    report = diff(baseline, drafter, target)
    roles = [table for table in report.tables if table.name == "diff-tensors"]
    verdicts = {row[3] for table in roles for row in table.rows}
    same = not report.findings and verdicts <= SAME
    claims = _claims_preserved(drafter.checkpoint, baseline.checkpoint)
    differences = [row for table in roles for row in table.rows if row[3] not in SAME]
    tables = (
        Table(
            "baseline-roles", "What differs from the baseline, role by role",
            ("role", "tensor", "verdict", "detail"), tuple(map(_beside, differences)),
        ),
        *(
            replace(table, name="baseline-meaning", title="What means something else than in the baseline",
                    columns=("fact", "baseline", "drafter"), rows=tuple(r[:3] for r in table.rows if r[3] == "yes"))
            for table in report.tables if table.name == "diff-meaning"
        ),
    )  # fmt: skip
    count = sum(len(table.rows) for table in tables)
    function = "the same, byte for byte" if same else _function(report.ok, verdicts)
    return Beside(
        claimed=same,
        facts=(Fact("function beside the baseline", function, "derived: roles and meaning of both files"),),
        findings=tuple(_findings(report.findings, baseline, count, ok=report.ok, claims=claims)),
        tables=tuple(table for table in tables if table.rows),
    )


WHOSE = {"only in the first": "only in the baseline", "only in the second": "only in the drafter"}
"""Verdicts of a comparison of two files, for whoever typed a drafter and its baseline."""


def _beside(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of the comparison with one name where both files have the same, or only one has any."""
    role, first, second, verdict, detail = row
    names = dict.fromkeys(name for name in (first, second) if name is not None)
    return role, " -> ".join(names), WHOSE.get(verdict, verdict), detail


def _in_words(message: str) -> str:
    """A finding of the comparison, of drafter and baseline."""
    for general, whose in WHOSE.items():
        message = message.replace(general, whose)
    return message


def _function(ok: bool, verdicts: set[str]) -> str:
    if not ok:
        return "another one"
    return "the same up to rounding" if "cast" in verdicts else "the same, if shared tables are the target's"


def _findings(found: tuple[Finding, ...], baseline: Read, count: int, *, ok: bool, claims: bool) -> Iterator[Finding]:
    if ok:
        return
    label = baseline.checkpoint.source.label
    reasons = "; ".join(_in_words(finding.message) for finding in found[:3]) + ("; ..." if len(found) > 3 else "")
    if claims:
        yield Finding(
            "claim-broken",
            f"{PROVENANCE} says that the function of {label} was preserved, and it was not: {reasons}",
            place=PROVENANCE,
            got=f"{count} difference{'s' * (count != 1)}",
            expected="the same roles and the same meaning",
            hint="one of the two was changed after the conversion: convert it again",
        )
    else:
        yield Finding(
            "baseline-other",
            f"the drafter computes something else than {label}: {reasons}",
            place=label,
            got=f"{count} difference{'s' * (count != 1)}",
            hint="both are measured side by side; eaglekit diff shows every difference",
        )


def _claims_preserved(drafter: Checkpoint, baseline: Checkpoint) -> bool:
    """Whether the drafter's own provenance says it is the baseline's function under other names."""
    size_bytes = drafter.extra_files.get(PROVENANCE)
    if size_bytes is None or size_bytes > CONFIG_LIMIT:
        return False
    try:
        document = read_object(drafter.source.read(PROVENANCE, 0, size_bytes), PROVENANCE)
    except Refusal:
        return False
    source = document.get("source")
    digest = source.get("digest") if isinstance(source, dict) else None
    return document.get("function") == "preserved" and digest == baseline.content_digest()
