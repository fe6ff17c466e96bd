"""Acceptance by category, as the report's chart and table have it together."""

from __future__ import annotations

from collections.abc import Mapping

from eaglekit.report import Measurement, Report

CATEGORIES = "acceptance-by-category"
"""The name of both, in a report of `eaglekit validate`."""


def by_category(report: Report) -> Mapping[str, Measurement]:
    """Category -> the drafter's acceptance length on its texts, with interval and rounds; empty without categories."""
    chart = next((chart for chart in report.charts if chart.name == CATEGORIES), None)
    series = next((each for each in chart.series if each.name == "drafter"), None) if chart is not None else None
    if chart is None or series is None:
        return {}
    rows = {row.get("category"): row for table in report.tables if table.name == CATEGORIES for row in table.as_json()}
    return {
        str(name): Measurement(
            "acceptance length", value, chart.y_label, "", low, high, rows.get(name, {}).get("rounds")
        )
        for name, value, low, high in series.points()
    }
