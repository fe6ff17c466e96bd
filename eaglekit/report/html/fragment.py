"""`fragment`: the report as a part of somebody else's page, such as a notebook."""

from __future__ import annotations

from importlib.util import find_spec

from eaglekit.report.html.environment import environment
from eaglekit.report.html.page import drawn, grid
from eaglekit.report.html.palette import EITHER
from eaglekit.report.html.words import STAGES, stages, verdict
from eaglekit.report.model import Report, Severity

ROWS_SHOWN = 200
"""Of a table: a notebook keeps every output, and a checkpoint may have thousands of tensors."""


def fragment(report: Report) -> str:
    """The report for a notebook: its own style for its own elements, no script, nothing loaded, any background.

    Charts are there where matplotlib is. Needs jinja2.
    """
    from markupsafe import Markup

    tone, sentence = verdict(report)
    charts = []
    if report.charts and find_spec("matplotlib") is not None:
        from eaglekit.report.html.drawing import draw

        charts = [drawn(chart, Markup(draw(chart, scheme="page", titled=False))) for chart in report.charts]  # noqa: S704
    return (
        environment()
        .get_template("fragment.html")
        .render(
            report=report,
            tone=tone,
            sentence=sentence,
            groups=[(severity, found) for severity in Severity if (found := report.of(severity))],
            charts=charts,
            stages=stages(report),
            tables=[grid(table) for table in report.tables if table.name != STAGES and table.rows],
            rows_shown=ROWS_SHOWN,
            colours=EITHER.named(),
        )
    )
