"""Knows how to say what was found: facts, findings, measurements, and their renderings.

Must never know what a checkpoint or a drafter is.
"""

from eaglekit.report.model import Code, Fact, Finding, Measurement, Refusal, Report, Severity, Table

__all__ = ["Code", "Fact", "Finding", "Measurement", "Refusal", "Report", "Severity", "Table"]
