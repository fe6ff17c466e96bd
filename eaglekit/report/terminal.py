"""A `Report` for people at a terminal. The only renderer that knows rich."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from eaglekit.report.model import Fact, Finding, Measurement, Report, Severity, Table, printable
from eaglekit.report.text_charts import text_chart

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
ORIGIN_WIDTH = 30
"""Cells that the origin of a fact takes beside its value at least; with fewer left it stands below."""
WORD = re.compile(r"(?:\w+ )?\[[^\[\]]{,24}\]|\S+")
"""What is not broken: a word, or a short list such as the shape of a tensor, with the dtype before it."""
INTERVAL = re.compile(r"(?<=[\d%]) (?=\[-?[\d.]+(?: %)?, -?\d+\.\d+(?: %)?\])")
"""Between a figure and its interval: where a table that is too wide breaks the cell, so that neither is broken."""
VERDICTS = {"reads": "green", "degraded": "yellow", "not known": "yellow", "misreads": "bold red", "rejects": "red"}


def show(
    report: Report, console: Console, *, tables: Sequence[str] | None = None, measurements: Sequence[str] | None = None
) -> None:
    """Print a report: facts, measurements and tables, those asked for (all when None), charts as text, findings."""
    if report.facts:
        for line in facts_lines(report.facts, console.width):
            console.print(line)
    shown = [m for m in report.measurements if measurements is None or m.name in measurements]
    if shown:
        console.print(Text("\nMeasured", style="bold"))
        for line in measurements_lines(shown, console.width):
            console.print(line)
    for table in report.tables:
        if table.rows and (tables is None or table.name in tables):
            console.print(Text(f"\n{table.title}", style="bold"))
            console.print(grid(table, console.width))
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


def facts_lines(facts: Sequence[Fact], width: int) -> Iterator[RenderableType]:
    """Name, value and origin of every fact: the origin beside the value, or below it where that would break values."""
    rows = [(printable(fact.name), plain(fact.value), printable(fact.origin)) for fact in facts]
    names, values, origins = (max(map(cell_len, cells)) for cells in zip(*rows, strict=True))
    names = min(names, width // 3)
    room = width - names - 4
    aligned = room - values >= min(origins, ORIGIN_WIDTH)
    for name, value, origin in rows:
        beside = aligned or cell_len(value) + cell_len(origin) <= room
        line = RichTable.grid(padding=(0, 2))
        line.add_column(style="bold", overflow="fold", width=names)
        line.add_column(overflow="fold", width=values if aligned else None)
        if beside:
            line.add_column(style="dim", overflow="fold")
        line.add_row(Text(name), Text(value), *([Text(origin)] if beside else ()))
        yield line
        if origin and not beside:
            yield Padding(Text(origin, style="dim"), (0, 0, 0, names + 2))


def _longest_words(rows: Sequence[Sequence[str]]) -> list[int]:
    """For each column the cells that its longest word takes: so wide it must be to cut no digest and no shape."""
    return [max(map(cell_len, WORD.findall(" ".join(cells))), default=0) for cells in zip(*rows, strict=True)]


def _widest(rows: Sequence[Sequence[str]]) -> int:
    """Cells that a table takes when nothing in it is broken."""
    return sum(max(map(cell_len, cells)) + 2 for cells in zip(*rows, strict=True))


def measurements_lines(measurements: Sequence[Measurement], width: int) -> Iterator[RenderableType]:
    """Name, value with its 95 % interval and unit, in columns; what it stands on behind them, or below, as fits."""
    rows = [
        (printable(m.name), _number(m.value), _interval(m), printable(m.unit), printable(_stands_on(m)))
        for m in measurements
    ]
    names, values, intervals, units, notes = ([cell_len(row[place]) for row in rows] for place in range(5))
    taken = max(values) + max(intervals) + max(units) + 6
    name_width = max(8, min(max(names), width - taken))
    beside = name_width + taken + 2 + max(notes) <= width
    for name, value, interval, unit, note in rows:
        line = RichTable.grid(padding=(0, 2))
        line.add_column(style="bold", overflow="fold", width=name_width)
        line.add_column(justify="right", no_wrap=True, width=max(values))
        line.add_column(no_wrap=True, width=max(intervals))
        line.add_column(overflow="fold", width=max(units) if beside else None)
        if beside:
            line.add_column(style="dim", overflow="fold")
        line.add_row(Text(name), value, Text(interval), Text(unit), *([Text(note)] if beside else ()))
        yield line
        if note and not beside:
            yield Padding(Text(note, style="dim"), (0, 0, 0, 4))


def _interval(measured: Measurement) -> str:
    if measured.low is None or measured.high is None:
        return ""
    return f"[{measured.low:.3f}, {measured.high:.3f}]"


def _stands_on(measured: Measurement) -> str:
    return measured.note if measured.count is None else f"n = {measured.count:,} {measured.note}"


def _number(value: float) -> str:
    """Three decimals, or none where a whole number is too large for them to tell anything."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def grid(table: Table, width: int) -> RenderableType:
    """A table with a header and no lines, which survives being copied into a message: no word of it is broken.

    Where not all columns fit beside each other, the last ones stand below, a line for each row.
    """
    rows = [[plain(cell) for cell in row] for row in table.rows]
    if _widest([table.columns, *rows]) > width:
        rows = [[INTERVAL.sub("\n", cell) for cell in row] for row in rows]
    widths = _widths([table.columns, *rows], width)
    if len(widths) == len(table.columns):
        return _beside(widths, [_header(table.columns), *map(_cells, rows)])
    lines: list[RenderableType] = []
    for cells in (_header(table.columns), *map(_cells, rows)):
        lines.append(_beside(widths, [cells[: len(widths)]]))
        lines.append(Padding(Text("  ").join(cells[len(widths) :]), (0, 0, 0, 4)))
    return Group(*lines)


def _header(columns: Sequence[str]) -> list[Text]:
    return [Text(printable(column), style="dim") for column in columns]


def _cells(row: Sequence[str]) -> list[Text]:
    return [Text(cell, style=VERDICTS.get(cell, "")) for cell in row]


def _beside(widths: Sequence[int], rows: Sequence[Sequence[Text]]) -> RichTable:
    shown = RichTable.grid(padding=(0, 2, 0, 0))
    for width in widths:
        shown.add_column(overflow="fold", width=width)
    for row in rows:
        shown.add_row(*row)
    return shown


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths of the columns, as many of the first as can stand beside each other without breaking a word."""
    least = _longest_words(rows)
    while len(least) > 1 and sum(least) + 2 * (len(least) - 1) > width:
        least.pop()
    whole = [max(map(cell_len, "\n".join(cells).split("\n"))) for cells in zip(*rows, strict=True)]
    widths = [min(cells, width) for cells in least]
    spare = width - 2 * (len(widths) - 1) - sum(widths)
    # Those that want little get it first; the sentences share what is left.
    order = sorted(range(len(widths)), key=lambda place: whole[place] - widths[place])
    for turn, place in enumerate(order):
        more = max(0, min(whole[place] - widths[place], spare // (len(order) - turn)))
        widths[place] += more
        spare -= more
    return widths


def plain(value: Any) -> str:
    """A value as people write it: text as it is, null as a dash, the rest as JSON."""
    if isinstance(value, str):
        return printable(value)
    if value is None:
        return "-"
    return printable(json.dumps(value, ensure_ascii=False))
