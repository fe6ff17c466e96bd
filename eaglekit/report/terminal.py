"""A `Report` for people at a terminal. The only renderer that knows rich."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from eaglekit.report.model import Finding, Measurement, Report, Severity, Table, printable
from eaglekit.report.text_charts import text_chart

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
VERDICTS = {"reads": "green", "degraded": "yellow", "not known": "yellow", "misreads": "bold red", "rejects": "red"}


def show(
    report: Report, console: Console, *, tables: Sequence[str] | None = None, measurements: Sequence[str] | None = None
) -> None:
    """Print a report: facts, measurements and tables, those asked for (all when None), charts as text, findings."""
    if report.facts:
        console.print(facts_grid(report))
    shown = [m for m in report.measurements if measurements is None or m.name in measurements]
    if shown:
        console.print(Text("\nMeasured", style="bold"))
        console.print(measurements_grid(shown))
    for table in report.tables:
        if table.rows and (tables is None or table.name in tables):
            console.print(Text(f"\n{table.title}", style="bold"))
            console.print(grid(table))
    for chart in report.charts:
        console.print(Text(f"\n{printable(chart.title)}", style="bold"))
        console.print(Text(text_chart(chart, ascii_only=console.options.ascii_only)))
    show_findings(report.findings, console)


def show_findings(findings: Sequence[Finding], console: Console) -> None:
    """Print findings, the gravest first."""
    ordered = [f for severity in Severity for f in findings if f.severity is severity]
    for finding in ordered:
        console.print(render_finding(finding))


def render_finding(finding: Finding) -> RenderableType:
    """One finding: its code and message, then what was got, expected and what to do."""
    severity = finding.severity or Severity.NOTE
    head = Text.assemble(
        ("\n" + severity.value, STYLES[severity]), "  ", (finding.code, "bold"), "  ", printable(finding.message)
    )
    details = RichTable.grid(padding=(0, 2))
    details.add_column(style="dim", no_wrap=True)
    details.add_column(overflow="fold")
    for label, text in (("place", finding.place), ("got", finding.got), ("expected", finding.expected)):
        if text:
            details.add_row(label, Text(printable(text)))
    if finding.hint:
        details.add_row("hint", Text(printable(finding.hint), style="bold"))
    return Group(head, Padding(details, (0, 0, 0, 2)))


def facts_grid(report: Report) -> RenderableType:
    """Name, value and origin of every fact, a line each."""
    table = RichTable.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(style="dim", overflow="fold")
    for fact in report.facts:
        table.add_row(fact.name, Text(plain(fact.value)), Text(printable(fact.origin)))
    return table


def measurements_grid(measurements: Sequence[Measurement]) -> RenderableType:
    """Name, value with its 95 % interval, unit, and what it stands on, a line each."""
    shown = RichTable.grid(padding=(0, 2))
    shown.add_column(style="bold", overflow="fold")
    shown.add_column(justify="right", no_wrap=True)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    shown.add_column(style="dim", overflow="fold")
    for m in measurements:
        interval = f"[{m.low:.3f}, {m.high:.3f}]" if m.low is not None and m.high is not None else ""
        note = f"n = {m.count:,}; {m.note}" if m.count is not None else m.note
        shown.add_row(
            Text(printable(m.name)), _number(m.value), Text(interval), Text(printable(m.unit)), Text(printable(note))
        )
    return shown


def _number(value: float) -> str:
    """Three decimals, or none where a whole number is too large for them to tell anything."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def grid(table: Table) -> RenderableType:
    """A table with a header and no lines, which survives being copied into a message."""
    shown = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in table.columns:
        shown.add_column(column, overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(plain(cell), style=VERDICTS.get(str(cell), "")) for cell in row))
    return shown


def plain(value: Any) -> str:
    """A value as people write it: text as it is, null as a dash, the rest as JSON."""
    if isinstance(value, str):
        return printable(value)
    if value is None:
        return "-"
    return printable(json.dumps(value, ensure_ascii=False))
