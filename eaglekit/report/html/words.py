"""Numbers and names as people read them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from eaglekit.report.model import Chart, Measurement, Report, Series, Severity, printable

LABEL_LENGTH = 30
"""Longest label in a chart, in characters; the table below the chart has the rest."""


def number(value: float) -> str:
    """A measured number: three decimals where that says something, four digits elsewhere."""
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value}"
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3f}"
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


def label(text: Any) -> str:
    """A name as it fits into a chart: one line, no invisible characters, not too long."""
    line = printable(" ".join(f"{text}".split()))
    return line if len(line) <= LABEL_LENGTH else f"{line[: LABEL_LENGTH - 1]}…"


def interval(measurement: Measurement) -> str:
    """The 95 % interval, or nothing."""
    if measurement.low is None or measurement.high is None:
        return ""
    return f"{number(measurement.low)} to {number(measurement.high)}"


def points(series: Series) -> list[tuple[float | str, float, tuple[float, float] | None]]:
    """Each point with the ends of its interval, when it has a finite one."""
    ends = list(zip(series.low, series.high, strict=False))
    rows: list[tuple[float | str, float, tuple[float, float] | None]] = []
    for index, (x, y) in enumerate(zip(series.x, series.y, strict=False)):
        pair = ends[index] if index < len(ends) else None
        rows.append((x, y, pair if pair is not None and all(map(math.isfinite, pair)) else None))
    return rows


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
    """The tone (`error`, `warning`, `good`) and the sentence that opens the page."""
    errors, warnings = len(report.errors), len(report.of(Severity.WARNING))
    if errors:
        return "error", f"Not passed: {_count(errors, 'error')}" + (f", {_count(warnings, 'warning')}" * bool(warnings))
    if warnings:
        return "warning", f"Passed, with {_count(warnings, 'warning')}"
    return "good", "Passed: nothing speaks against it"


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
