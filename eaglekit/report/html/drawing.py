"""A chart as an SVG or a PNG: the same chart gives the same bytes."""

from __future__ import annotations

import io

from eaglekit.report.html.figure import figure_of, matplotlib_settings
from eaglekit.report.html.needs import need
from eaglekit.report.html.palette import SCHEMES
from eaglekit.report.html.svg import tidied
from eaglekit.report.model import Chart

NOTHING_ABOUT_US = {"Date": None, "Creator": None, "Format": None, "Type": None}
"""Metadata that matplotlib writes unless told not to: date, version and kind."""


def draw(chart: Chart, *, scheme: str = "light", titled: bool = True) -> str:
    """The chart as an SVG document, readable by itself; text stays text and nothing is loaded.

    `scheme` is `light`, `dark`, or `page` for a part of a page: no XML namespaces, colours as the page's CSS variables.
    Raises `Refusal` without matplotlib.
    """
    need("matplotlib")
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with matplotlib_settings():
        figure = figure_of(chart, SCHEMES[scheme], titled=titled)
        FigureCanvasSVG(figure)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata=NOTHING_ABOUT_US, facecolor=figure.get_facecolor())
    return tidied(written.getvalue(), chart, page=scheme == "page")


def draw_png(chart: Chart, *, scheme: str = "light", scale: int = 2) -> bytes:
    """The chart as a PNG of 460 x `scale` pixels across, with its title. Raises `Refusal` without matplotlib."""
    need("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with matplotlib_settings():
        figure = figure_of(chart, SCHEMES[scheme], titled=True)
        FigureCanvasAgg(figure)
        written = io.BytesIO()
        figure.savefig(
            written, format="png", dpi=72 * scale, metadata={"Software": None}, facecolor=figure.get_facecolor()
        )
    return written.getvalue()
