"""`render`: the report as one HTML page. jinja2 escapes everything; only our own SVG goes in as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import eaglekit
from eaglekit.report.html.drawing import draw
from eaglekit.report.html.environment import environment
from eaglekit.report.html.needs import need
from eaglekit.report.html.palette import DARK, LIGHT
from eaglekit.report.html.words import STAGES, long_words, number, points, shown, spread, stages, verdict
from eaglekit.report.model import Chart, Report, Severity, Table

HEADLINES = 4
"""Measurements shown large; commands put the ones that count first."""
ROWS_OPEN = 24
"""Longer tables are folded."""
PROSE = 32
"""Characters beyond which a cell is a sentence."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart on the page: its picture and its numbers."""

    chart: Chart
    svg: Any
    rows: tuple[tuple[str, str, str, str], ...]
    """Series, x, y, interval."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table on the page."""

    table: Table
    numeric: tuple[bool, ...]
    """For each column whether every cell is a number: those are set to the right."""
    long: bool
    """Whether a word is so long that it must be broken on paper."""
    prose: bool
    """Whether a cell holds a sentence: on a phone its rows stand below each other, where others scroll sideways."""


def render(report: Report) -> str:
    """The report as a page of its own: no script, nothing loaded, light and dark, readable on a phone and on paper.

    Raises `Refusal` without jinja2 or matplotlib. The same report gives the same bytes.
    """
    need("jinja2", "matplotlib")
    from markupsafe import Markup

    tone, sentence = verdict(report)
    return (
        environment()
        .get_template("page.html")
        .render(
            report=report,
            tone=tone,
            sentence=sentence,
            version=eaglekit.__version__,
            headlines=report.measurements[:HEADLINES],
            groups=[(severity, found) for severity in Severity if (found := report.of(severity))],
            charts=[drawn(chart, Markup(draw(chart, scheme="page", titled=False))) for chart in report.charts],  # noqa: S704
            stages=stages(report),
            tables=[grid(table) for table in report.tables if table.name != STAGES and table.rows],
            result=[(name, list(spread(value))) for name, value in report.result.items()],
            rows_open=ROWS_OPEN,
            long_measured=long_words(text for m in report.measurements for text in (m.name, m.unit, m.note)),
            long_facts=long_words(text for f in report.facts for text in (f.name, shown(f.value), f.origin)),
            light=LIGHT.named(),
            dark=DARK.named(),
        )
    )


def drawn(chart: Chart, svg: Any) -> Drawn:
    """The chart with its picture and its numbers."""
    return Drawn(chart, svg, tuple(_rows(chart)))


def _rows(chart: Chart) -> Iterator[tuple[str, str, str, str]]:
    for series in chart.series:
        for x, y, ends in points(series):
            yield series.name, shown(x), number(y), f"{number(ends[0])} to {number(ends[1])}" if ends else ""


def grid(table: Table) -> Grid:
    """The table, and which of its columns are numbers."""
    columns = range(len(table.columns))
    numbers = [[isinstance(row[i], (int, float)) for row in table.rows if i < len(row)] for i in columns]
    prose = any(len(shown(cell)) > PROSE for row in table.rows for cell in row)
    texts = [*table.columns, *(shown(cell) for row in table.rows for cell in row)]
    return Grid(table, tuple(bool(cells) and all(cells) for cells in numbers), long_words(texts), prose)
