"""drift.png: how the drafter's state and attention change with draft depth, in one picture."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eaglekit.hub.card.words import length, percentage
from eaglekit.hub.model import FIGURE, LocalFile
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.model import Chart

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

CHARTS = ("state-by-depth", "attention-by-depth")
"""What EAGLE 3.1 is about: neither should change much from draft to draft."""
NOTHING_ABOUT_US: dict[str, Any] = {"Software": None}
"""matplotlib names its version in the file unless told not to."""
SCALE = 2
"""Pixels per unit of the drawing; text stays sharp on a dense screen."""


def charts_of(report: Report) -> list[Chart]:
    """The charts of the figure that the report holds, in their order."""
    named = {chart.name: chart for chart in report.charts if any(series.y for series in chart.series)}
    return [named[name] for name in CHARTS if name in named]


def figure(report: Report) -> LocalFile | None:
    """The drift charts beside each other as drift.png; None when the report has none.

    The same report gives the same bytes with the same matplotlib. Raises `Refusal` without matplotlib.
    """
    charts = [_without_echoes(chart) for chart in charts_of(report)]
    if not charts:
        return None
    try:
        import matplotlib.image
        import numpy as np
    except ImportError as error:
        raise Refusal(_unavailable(error)) from None
    from eaglekit.report.html.figure import LEGEND, TITLE

    pictures = [_drawn(chart) for chart in charts]
    tallest = max(picture.shape[0] for picture in pictures)
    even = []
    for chart, picture in zip(charts, pictures, strict=True):
        # A chart without a legend gets its room, so that the plots stand side by side.
        row = (TITLE + LEGEND * (len(chart.series) > 1)) * SCALE
        blank = np.repeat(picture[row : row + 1], tallest - picture.shape[0], axis=0)
        even.append(np.concatenate([picture[:row], blank, picture[row:]], axis=0))
    written = io.BytesIO()
    matplotlib.image.imsave(written, np.concatenate(even, axis=1), format="png", metadata=NOTHING_ABOUT_US)
    return LocalFile.made(FIGURE, written.getvalue())


def _without_echoes(chart: Chart) -> Chart:
    """The chart without lines that lie on another one: the source of a conversion has the same figures."""
    drawn = {each.name: each.y for each in chart.series}
    # The name of a baseline's line ends with that of the drafter's (validate/drift_report.py).
    kept = [each for each in chart.series if drawn.get(each.name.partition(": ")[2]) != each.y]
    return replace(chart, series=tuple(kept))


def drawing_of(chart: Chart) -> Figure:
    """The chart as the card shows it, with values rounded as in its text; call it within `matplotlib_settings`."""
    from eaglekit.report.html.figure import figure_of
    from eaglekit.report.html.palette import LIGHT

    if chart.y_label.startswith("share"):
        return figure_of(_in_percent(chart), LIGHT, titled=True, written=percentage)
    return figure_of(chart, LIGHT, titled=True, written=length)


def _in_percent(chart: Chart) -> Chart:
    """A chart of shares as the card writes them."""
    series = tuple(
        replace(each, y=_hundredfold(each.y), low=_hundredfold(each.low), high=_hundredfold(each.high))
        for each in chart.series
    )
    return replace(chart, y_label=f"{chart.y_label}, %", series=series)


def _hundredfold(values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(100 * value for value in values)


def _drawn(chart: Chart) -> np.ndarray:
    """The chart as pixels: rows x columns x red, green, blue, alpha."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from eaglekit.report.html.figure import matplotlib_settings

    with matplotlib_settings():
        drawing = drawing_of(chart)
        drawing.set_dpi(72 * SCALE)
        FigureCanvasAgg(drawing)
        written = io.BytesIO()
        drawing.savefig(written, format="raw", dpi=72 * SCALE, facecolor=drawing.get_facecolor())
        columns, rows = (int(side) for side in drawing.bbox.size)
        return np.frombuffer(written.getvalue(), dtype=np.uint8).reshape(rows, columns, 4)


def _unavailable(error: ImportError) -> Finding:
    return Finding(
        "card-figure-unavailable",
        "the report has charts of drift, and matplotlib, which draws them, cannot be imported here",
        place="this Python environment",
        got=str(error),
        expected="matplotlib",
        hint="pip install 'eaglekit[validate]', or leave the figure out with --no-figure",
    )
