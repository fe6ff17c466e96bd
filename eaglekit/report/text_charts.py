"""Charts as lines of text: bars for categories, a row of blocks for a line. What the page draws, at a glance."""

from __future__ import annotations

import math
from collections.abc import Iterator

from eaglekit.report.model import Chart, Series, printable

BLOCKS, ASCII_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*#@"
BAR, ASCII_BAR = "█", "#"
BAR_WIDTH = 32
NAME_WIDTH = 32


def text_chart(chart: Chart, *, ascii_only: bool = False) -> str:
    """The chart as text, from zero to its largest value; `ascii_only` for terminals without block characters."""
    values = [y for series in chart.series for y in series.y if math.isfinite(y)]
    top = max(values, default=0.0)
    draw = _bars if chart.kind == "bar" else _line
    return "\n".join(line for series in chart.series for line in draw(series, chart, top, ascii_only=ascii_only))


def _line(series: Series, chart: Chart, top: float, *, ascii_only: bool) -> Iterator[str]:
    """One series on one line: its shape, its first and its last value."""
    if not series.y:
        return
    marks = ASCII_BLOCKS if ascii_only else BLOCKS
    shape = "".join(marks[_level(y, top, len(marks) - 1)] for y in series.y)
    ends = f"{_number(series.y[0])} at {series.x[0]}"
    if len(series.y) > 1:
        ends += f", {_number(series.y[-1])} at {series.x[-1]}"
    yield f"  {_name(series.name, chart)}  {shape}  {ends}"


def _bars(series: Series, chart: Chart, top: float, *, ascii_only: bool) -> Iterator[str]:
    """A line for each category: its bar, its value and its interval."""
    for x, y, low, high in series.points():
        bar = (ASCII_BAR if ascii_only else BAR) * max(1, _level(y, top, BAR_WIDTH))
        sure = f" [{_number(low)}, {_number(high)}]" if low is not None and high is not None else ""
        label = f"{x}" if len(chart.series) == 1 else f"{x}, {series.name}"
        yield f"  {_name(label, chart)}  {bar:{BAR_WIDTH}}  {_number(y)}{sure}"


def _name(text: str, chart: Chart) -> str:
    longest = max((len(label) for label in _labels(chart)), default=0)
    width = min(NAME_WIDTH, longest)
    shown = printable(text).replace("\n", " ")
    return f"{shown if len(shown) <= width else shown[: width - 3] + '...':{width}}"


def _labels(chart: Chart) -> Iterator[str]:
    for series in chart.series:
        if chart.kind != "bar":
            yield printable(series.name)
        for x in series.x if chart.kind == "bar" else ():
            yield printable(f"{x}" if len(chart.series) == 1 else f"{x}, {series.name}")


def _level(value: float, top: float, levels: int) -> int:
    return round(levels * min(1.0, max(0.0, value / top))) if top > 0 and math.isfinite(value) else 0


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"
