"""A report as Markdown, for notebooks without jinja2 and for messages. Every value is text and stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eaglekit.report.html.words import interval, number, shown, verdict
from eaglekit.report.model import Finding, Report, Severity, printable

ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&:@])")
"""What Markdown, its common extensions, HTML or mathematics in notebooks could take for something else than text."""


def markdown(report: Report) -> str:
    """Verdict, findings, measurements and facts of a report; its tables stay in the report."""
    parts = [f"**eaglekit {_text(report.command)}** {_text(report.subject)}: {_text(verdict(report)[1])}"]
    found = [finding for severity in Severity for finding in report.of(severity)]
    parts += ["\n".join(f"- {_finding(finding)}" for finding in found)] if found else []
    if report.measurements:
        rows = [(m.name, number(m.value), m.unit, interval(m)) for m in report.measurements]
        parts.append("\n".join(_table(("measured", "value", "unit", "95 % interval"), rows)))
    if report.facts:
        facts = [(fact.name, shown(fact.value), fact.origin) for fact in report.facts]
        parts.append("\n".join(_table(("fact", "value", "how it is known"), facts)))
    return "\n\n".join(parts) + "\n"


def _finding(finding: Finding) -> str:
    severity = finding.severity or Severity.NOTE
    told = f"**{severity.value}** {_text(finding.code)}: {_text(finding.message)}"
    details = [("at", finding.place), ("got", finding.got), ("expected", finding.expected), ("next", finding.hint)]
    return "; ".join([told, *(f"*{name}* {_text(value)}" for name, value in details if value)])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join(['---'] * len(columns))} |"
    for row in rows:
        yield f"| {' | '.join(map(_text, row))} |"


def _text(value: str) -> str:
    """The text on one line, with nothing in it that means something."""
    return ACTIVE.sub(r"\\\1", printable(" ".join(value.split())))
