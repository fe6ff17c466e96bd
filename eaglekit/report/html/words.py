"""Numbers and names as people read them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.report.model import Chart, Measurement, Report, Series, Severity, printable

LABEL_LENGTH = 26
"""Longest category in a chart, in characters; the table below the chart has the rest."""


def number(value: float) -> str:
    """A measured number: four digits, at most three decimals where it is not tiny."""
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value}"
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.{3 - (abs(value) >= 10) - (abs(value) >= 100)}f}"
    return f"{value:.4g}"


def shown(value: Any) -> str:
    """Any JSON value in a cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)) and not any(isinstance(item, (list, tuple, Mapping)) for item in value):
        return ", ".join(map(shown, value)) or "–"
    if isinstance(value, (list, tuple, Mapping)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


LONG_WORD = 24
"""Characters beyond which a word may be wider than its column on paper."""


def long_words(texts: Iterable[str]) -> bool:
    """Whether any word of any text is longer than `LONG_WORD`."""
    return any(len(word) > LONG_WORD for text in texts for word in text.split())


def label(text: Any, most: int = LABEL_LENGTH) -> str:
    """A name as it fits into a chart: one line, no invisible characters, not too long."""
    line = printable(" ".join(f"{text}".split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def interval(measurement: Measurement) -> str:
    """The 95 % interval, or nothing."""
    if measurement.low is None or measurement.high is None:
        return ""
    return f"{number(measurement.low)} to {number(measurement.high)}"


LARGEST = 1e100
"""Largest value that is drawn: beyond it, sums of two values are infinite sooner or later."""


def drawable(value: float) -> bool:
    """Whether a number has a place on an axis."""
    return math.isfinite(value) and abs(value) <= LARGEST


def points(series: Series) -> list[tuple[float | str, float, tuple[float, float] | None]]:
    """Each point with the ends of its interval, when it has a finite one."""
    return [
        (x, y, (low, high) if low is not None and high is not None and drawable(low) and drawable(high) else None)
        for x, y, low, high in series.points()
    ]


def has_intervals(chart: Chart) -> bool:
    """Whether any point of the chart has an interval."""
    return any(ends is not None for series in chart.series for _, _, ends in points(series))


def described(chart: Chart, most: int = 60) -> str:
    """The chart in words, for those who cannot see it: axes, then every series with its points."""
    parts = [f"{chart.y_label} by {chart.x_label}."]
    for series in chart.series:
        rows = [
            f"{x}: {number(y)}" + (f" ({number(ends[0])} to {number(ends[1])})" if ends else "")
            for x, y, ends in points(series)
        ]
        more = f" and {len(rows) - most} more" if len(rows) > most else ""
        parts.append(f"{series.name}: {', '.join(rows[:most]) or 'no points'}{more}.")
    return printable(" ".join(parts))


def verdict(report: Report) -> tuple[str, str]:
    """The tone (`error`, `warning`, `good`) and the sentence that opens the page; it never hides what did not run."""
    errors, warnings = len(report.errors), len(report.of(Severity.WARNING))
    open_ends = [stage.name for stage in stages(report) if stage.tone == "open"]
    rest = f"; not run: {', '.join(open_ends)}" if open_ends else ""
    if errors:
        more = f", {_count(warnings, 'warning')}" if warnings else ""
        return "error", f"Not passed: {_count(errors, 'error')}{more}{rest}"
    if warnings:
        return "warning", f"Passed, with {_count(warnings, 'warning')}{rest}"
    return "good", f"Passed{rest}"


STAGES = "stages"
"""The table with one row a stage: its name, its outcome, a sentence about it."""
TONES = {"passed": "good", "failed": "error"}
"""Outcome of a stage -> tone; every other outcome leaves it open."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage as the page shows it."""

    name: str
    outcome: str
    about: str
    tone: str
    """`good`, `error` or `open`."""


def stages(report: Report) -> list[Stage]:
    """The stages of a report that has any."""
    # By name: a saved report has the columns in the order of the alphabet.
    cells = [
        {column: shown(cell) for column, cell in zip(table.columns, row, strict=True)}
        for table in report.tables
        if table.name == STAGES
        for row in table.rows
    ]
    return [
        Stage(row.get("stage", ""), outcome, row.get("about", ""), TONES.get(outcome, "open"))
        for row in cells
        for outcome in [row.get("outcome", "")]
    ]


def spread(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """A nested JSON value as rows: where, what. A digest stands on a line of its own."""
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from spread(part, (*path, str(key)))
    elif isinstance(value, (list, tuple)) and any(isinstance(part, (list, tuple, Mapping)) for part in value):
        for index, part in enumerate(value, 1):
            yield from spread(part, (*path, str(index)))
    else:
        yield " › ".join(path), shown(value) if value != {} else "–"


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
