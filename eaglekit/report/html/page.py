"""`render`: the report as one HTML page. jinja2 escapes everything; only our own SVG goes in as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import eaglekit
from eaglekit.report.html.drawing import draw
from eaglekit.report.html.needs import need
from eaglekit.report.html.palette import DARK, LIGHT
from eaglekit.report.html.words import STAGES, interval, number, points, shown, spread, stages, verdict
from eaglekit.report.model import Chart, Report, Severity, Table, printable

TEMPLATES = Path(__file__).parent / "templates"
HEADLINES = 4
"""Measurements shown large; commands put the ones that count first."""
FILTERS: dict[str, Callable[..., str]] = {"number": number, "shown": shown, "interval": interval}
ROWS_OPEN = 24
"""Longer tables are folded."""


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


def render(report: Report) -> str:
    """The report as a page of its own: no script, nothing loaded, light and dark, readable on a phone and on paper.

    Raises `Refusal` without jinja2 or matplotlib. The same report gives the same bytes.
    """
    need("jinja2", "matplotlib")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Control characters and invisible ones become visible escapes before anything is escaped for HTML.
        finalize=lambda value: value if isinstance(value, Markup) else printable(str(value)),
    )
    for name, function in FILTERS.items():
        environment.filters[name] = function
    tone, sentence = verdict(report)
    return environment.get_template("page.html").render(
        report=report,
        tone=tone,
        sentence=sentence,
        version=eaglekit.__version__,
        headlines=report.measurements[:HEADLINES],
        groups=[(severity, found) for severity in Severity if (found := report.of(severity))],
        charts=[_drawn(chart, Markup(draw(chart, scheme="page", titled=False))) for chart in report.charts],  # noqa: S704
        stages=stages(report),
        tables=[_grid(table) for table in report.tables if table.name != STAGES],
        result=[(name, list(spread(value))) for name, value in report.result.items()],
        rows_open=ROWS_OPEN,
        light=LIGHT.named(),
        dark=DARK.named(),
    )


def _drawn(chart: Chart, svg: Any) -> Drawn:
    return Drawn(chart, svg, tuple(_rows(chart)))


def _rows(chart: Chart) -> Iterator[tuple[str, str, str, str]]:
    for series in chart.series:
        for x, y, ends in points(series):
            yield series.name, shown(x), number(y), f"{number(ends[0])} to {number(ends[1])}" if ends else ""


def _grid(table: Table) -> Grid:
    columns = range(len(table.columns))
    numbers = [[isinstance(row[i], (int, float)) for row in table.rows if i < len(row)] for i in columns]
    return Grid(table, tuple(bool(cells) and all(cells) for cells in numbers))
