"""What the stages find, gathered on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eaglekit.report import Fact, Finding, Measurement, Severity, Table
from eaglekit.report.model import Chart
from eaglekit.validate.stages import Stages


@dataclass
class Found:
    """Everything but what `inspect` says already."""

    stages: Stages = field(default_factory=Stages)
    facts: list[Fact] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    origin: Mapping[str, Any] = field(default_factory=dict)
    """What was measured on, for the binding."""
    acceptance_length: float | None = None
    """Of the judged drafter, served and greedy."""

    @property
    def errors(self) -> list[Finding]:
        """The findings that end a stage."""
        return [finding for finding in self.findings if finding.severity is Severity.ERROR]
