"""A report as plain text, for `print`: no colours, no width, no package needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglekit.report.html.words import interval, number, shown, verdict
from eaglekit.report.model import Finding, Report, Severity, printable


def plain(report: Report) -> str:
    """Verdict, facts, measurements and findings; its tables stay in the report."""
    blocks = [[_head(report)]]
    blocks.append(list(_columns([(fact.name, shown(fact.value)) for fact in report.facts])))
    rows = [(m.name, number(m.value), m.unit, _ends(interval(m))) for m in report.measurements]
    blocks.append(list(_columns(rows)))
    blocks += [list(_finding(finding)) for severity in Severity for finding in report.of(severity)]
    return printable("\n\n".join("\n".join(block) for block in blocks if block))


def headline(report: Report) -> str:
    """The report on one line."""
    return printable(_head(report)).replace("\n", "\\n")


def _head(report: Report) -> str:
    return f"eaglekit {report.command} {report.subject}: {verdict(report)[1]}"


def _ends(ends: str) -> str:
    return f"({ends})" if ends else ""


def _finding(finding: Finding) -> Iterator[str]:
    severity = finding.severity or Severity.NOTE
    yield f"{severity.value}  {finding.code}  {finding.message}"
    details = [("place", finding.place), ("got", finding.got), ("expected", finding.expected), ("hint", finding.hint)]
    yield from (f"  {name:<8}  {value}" for name, value in details if value)


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
