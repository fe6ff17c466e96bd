"""What a user's own code looks like to a type checker; it is checked, and never run."""

from __future__ import annotations

from pathlib import Path

import eaglekit
from eaglekit import Finding, Plan, Refusal, Report
from eaglekit import plan as planned
from eaglekit.plan.model import TensorStep


def release(folder: Path) -> float | None:
    """An acceptance length, or nothing when something refused."""
    try:
        plan: Plan = eaglekit.plan(folder, target="ORG/TARGET", aux_layers=[2, 18, 33], settings={"rope_theta": 1e6})
        written: Report = plan.apply("out")
        report = eaglekit.validate("out", target=Path("target"), prompts="answers.jsonl", draft_tokens=5)
        eaglekit.save(report, "report.html")
        pushed = eaglekit.push("out", "me/drafter", report=report, license="apache-2.0", publish=written.ok)
    except Refusal as refusal:
        findings: tuple[Finding, ...] = refusal.findings
        print([finding.code for finding in findings])  # noqa: T201
        return None
    lengths: list[float] = [m.value for m in report.measurements if m.name == "acceptance length"]
    return lengths[0] if pushed.ok else None


def steps(folder: str) -> list[TensorStep]:
    """Rooms of the same names stay importable."""
    return [step for steps in planned(folder).decided.plan.files.values() for step in steps]


eaglekit.plan("x", embedding="nonsense")  # type: ignore[arg-type]
eaglekit.validate("x", draft_tokens="3")  # type: ignore[arg-type]
eaglekit.convert("x")  # type: ignore[call-arg]
