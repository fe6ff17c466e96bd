"""Draws a chart with matplotlib: lines with bands, or horizontal bars, at 1 unit a CSS pixel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eaglekit.report.html.axis import axis_label, grid_figure, places_of, ticks_of
from eaglekit.report.html.looks import CHARACTER, Look, columns_of, looks_of
from eaglekit.report.html.palette import Palette
from eaglekit.report.html.words import drawable, has_intervals, label, number, points
from eaglekit.report.model import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 460
PLOT_HEIGHT = 210
"""Height of a line chart's plot; bars take what they need."""
ROW, GAP = 16, 10
"""Height of a bar, and the space between categories."""
TITLE, LEGEND, HEADING = 34, 20, 34
"""Heights above the plot: the title, a row of the legend, the label of the values with its distance."""
LED = 1.03
"""Where the last values of lines stand, in widths of the plot."""
TITLE_LENGTH = 44
"""Longest title in the picture, in characters."""
ROWS_SHOWN = 40
"""Most categories of bars: beyond it a chart is a wall, and the table below it has them all."""
SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 13.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "eaglekit",
    # A name such as $x^2$ is shown, not typeset.
    "text.parse_math": False,
    "text.usetex": False,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
}


@contextmanager
def matplotlib_settings() -> Iterator[None]:
    """matplotlib as it came, whatever the user's matplotlibrc says, with ours on top."""
    import warnings

    import matplotlib.style

    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        # Names may be in any script; the reader's browser has fonts that matplotlib has not.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support", category=UserWarning)
        yield


def figure_of(chart: Chart, palette: Palette, *, titled: bool, written: Callable[[float], str] = number) -> Figure:
    """The chart as a figure; call it, and save what it gives, within `matplotlib_settings`.

    `written` makes the text of a value.
    """
    bars = chart.kind == "bar"
    looks = looks_of(chart.series, palette)
    rows = _categories(chart) if bars else []
    legend_rows = math.ceil(len(looks) / columns_of(looks, WIDTH)) if len(looks) > 1 else 0
    top = TITLE * titled + LEGEND * legend_rows + HEADING
    height = len(rows) * (ROW * max(len(looks), 1) + GAP) + GAP if rows else PLOT_HEIGHT
    left = max(CHARACTER * max(map(len, map(label, rows)), default=0) + 14, 56 if bars else _grid_room(chart))
    right, bottom = max(58, CHARACTER * (_longest_value(chart, written) + 1) + 14), 46
    total = top + height + bottom
    figure = _figure(WIDTH, total, palette)
    axes = figure.add_axes((left / WIDTH, bottom / total, (WIDTH - left - right) / WIDTH, height / total))
    _frame(axes, palette, bars=bars)
    if bars:
        _bars(axes, chart, looks, rows, palette, written)
    else:
        _lines(axes, chart, looks, palette, written)
    _words(figure, axes, chart, looks, palette, titled=titled, total=total)
    return figure


def _grid_room(chart: Chart) -> int:
    """Room for the figures at the grid lines; those of very large and very small values have a power of ten."""
    largest = max((abs(y) for series in chart.series for y in series.y if drawable(y)), default=0.0)
    return 56 if largest == 0 or 1e-3 <= largest < 1e5 else 80


def _longest_value(chart: Chart, written: Callable[[float], str]) -> int:
    """Characters of the longest value that is written at the right: beside a bar, or at the end of a line."""
    rows = [[y for _, y, _ in points(series) if drawable(y)] for series in chart.series]
    shown = [values if chart.kind == "bar" else values[-1:] for values in rows]
    return max((len(written(value)) for values in shown for value in values), default=0)


def _categories(chart: Chart) -> list[str]:
    return list(dict.fromkeys(f"{x}" for series in chart.series for x in series.x))[:ROWS_SHOWN]


def _figure(width: float, height: float, palette: Palette) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    figure.patch.set_facecolor(palette.card)
    return figure


def _frame(axes: Axes, palette: Palette, *, bars: bool) -> None:
    axes.set_facecolor("none")
    axes.spines[["top", "right", "bottom" if bars else "left"]].set_visible(False)
    axes.spines[["left" if bars else "bottom"]].set_color(palette.muted)
    axes.tick_params(colors=palette.muted, length=0, pad=6, labelsize=13)
    axes.grid(visible=True, axis="x" if bars else "y", color=palette.line, linewidth=1)
    axes.set_axisbelow(True)
    (axes.xaxis if bars else axes.yaxis).set_major_formatter(grid_figure)


def _lines(axes: Axes, chart: Chart, looks: Sequence[Look], palette: Palette, written: Callable[[float], str]) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator

    room = WIDTH * axes.get_position().width
    places = places_of(chart, room)
    last: list[tuple[float, float, Look]] = []
    for series, look in zip(chart.series, looks, strict=True):
        rows = [(places[f"{x}"], y, ends) for x, y, ends in points(series) if f"{x}" in places and drawable(y)]
        if not rows:
            continue
        xs, ys = [row[0] for row in rows], [row[1] for row in rows]
        band = [(x, *ends) for x, _, ends in rows if ends is not None]
        if len(band) > 1:
            axes.fill_between(
                [x for x, _, _ in band], [low for _, low, _ in band], [high for _, _, high in band],
                color=look.colour, alpha=0.16, linewidth=0,
            )  # fmt: skip
        # Ends in their own colour: at few points a band alone does not show where the points are.
        axes.vlines([x for x, _, _ in band], [b[1] for b in band], [b[2] for b in band], color=look.colour, linewidth=1)
        axes.plot(
            xs, ys, color=look.colour, linestyle=look.dash, linewidth=2.2, marker=look.marker, markersize=7,
            markeredgecolor=palette.card, markeredgewidth=1.4, solid_capstyle="round",
        )  # fmt: skip
        last.append((ys[-1], xs[-1], look))
    ticks = ticks_of(places, room)
    if ticks is not None:
        axes.xaxis.set_major_locator(FixedLocator([at for at, _ in ticks]))
        axes.xaxis.set_major_formatter(FixedFormatter([name for _, name in ticks]))
    _line_limits(axes, chart, list(places.values()), palette)
    _end_labels(axes, last, palette, written)


def _line_limits(axes: Axes, chart: Chart, xs: Sequence[float], palette: Palette) -> None:
    values = [value for series in chart.series for value in (*series.y, *series.low, *series.high)]
    finite = [value for value in values if drawable(value)]
    if not finite or not xs:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color=palette.muted)
        return
    margin = 0.06 * (max(xs) - min(xs)) or 0.5
    axes.set_xlim(min(xs) - margin, max(xs) + margin)
    highest, lowest = max(finite), min(finite)
    if lowest >= 0:
        # Shares fill their scale; everything else starts at zero, so that growth looks as large as it is.
        axes.set_ylim(0, 1 if 0.6 < highest <= 1 else highest * 1.08 or 1)
    else:
        room = 0.08 * (highest - lowest) or 1
        axes.set_ylim(lowest - room, highest + room)


def _end_labels(
    axes: Axes, ends: Sequence[tuple[float, float, Look]], palette: Palette, written: Callable[[float], str]
) -> None:
    """The last value of each line beside it, moved apart where they would touch, and led to by the line's colour."""
    (low, high), (left, right) = axes.get_ylim(), axes.get_xlim()
    apart = 15 / PLOT_HEIGHT
    at = -1.0
    for value, x, look in sorted(ends, key=lambda end: end[:2]):
        height = (value - low) / (high - low)
        at = max(height, at + apart)
        # In ink: six colours that every reader can tell apart are not all dark enough for text.
        axes.text(LED, at, written(value), transform=axes.transAxes, color=palette.ink, va="center", fontsize=13)
        axes.plot(
            [(x - left) / (right - left), LED - 0.006], [height, at], transform=axes.transAxes, color=look.colour,
            linestyle=look.dash, linewidth=1, clip_on=False, scalex=False, scaley=False,
        )  # fmt: skip


def _bars(
    axes: Axes,
    chart: Chart,
    looks: Sequence[Look],
    rows: Sequence[str],
    palette: Palette,
    written: Callable[[float], str],
) -> None:
    step = ROW * len(looks) + GAP
    farthest = 0.0
    for index, (series, look) in enumerate(zip(chart.series, looks, strict=True)):
        for x, y, spread in points(series):
            if f"{x}" not in rows or not drawable(y):
                continue
            middle = rows.index(f"{x}") * step + GAP + ROW * (index + 0.5)
            axes.barh(middle, y, height=ROW - 3, color=look.colour, alpha=0.88, linewidth=0)
            end = y
            if spread is not None:
                axes.hlines(middle, *spread, color=palette.ink, linewidth=1.3)
                end = max(y, spread[1])
            axes.annotate(
                written(y), (end, middle), xytext=(5, 0), textcoords="offset points", va="center",
                color=palette.ink, fontsize=13, annotation_clip=False,
            )  # fmt: skip
            farthest = max(farthest, end)
    axes.set_yticks([place * step + GAP + ROW * len(looks) / 2 for place in range(len(rows))])
    axes.set_yticklabels([label(row) for row in rows], color=palette.ink)
    axes.set_ylim(len(rows) * step + GAP or 1, 0)
    axes.set_xlim(min(0, *axes.get_xlim()), farthest * 1.02 or 1)
    if not rows:
        axes.set_xticks([])
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color=palette.muted)


def _words(
    figure: Figure, axes: Axes, chart: Chart, looks: Sequence[Look], palette: Palette, *, titled: bool, total: float
) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    bars = chart.kind == "bar"
    note = ("line: 95 % interval" if bars else "band: 95 % interval") if has_intervals(chart) else ""
    values, names = (chart.y_label, note), (chart.x_label, _left_out(chart) if bars else "")
    down, across = (names, values) if bars else (values, names)
    if titled:
        figure.text(
            12 / WIDTH,
            1 - 25 / total,
            label(chart.title, TITLE_LENGTH),
            fontsize=15,
            fontweight="bold",
            color=palette.ink,
        )
    middle = (axes.get_position().x0 + axes.get_position().x1) / 2
    beside = 2 * WIDTH * min(middle, 1 - middle)
    figure.text(middle, 12 / total, axis_label(*across, beside), ha="center", fontsize=13, color=palette.muted)
    above = axes.get_position().y1 + 14 / total
    figure.text(12 / WIDTH, above, axis_label(*down, WIDTH - 24), fontsize=13, color=palette.muted)
    if len(looks) < 2:
        return
    handles = [
        Patch(color=look.colour, label=look.name)
        if bars
        else Line2D([], [], color=look.colour, linestyle=look.dash, marker=look.marker, label=look.name, linewidth=2.2)
        for look in looks
    ]
    legend = figure.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(6 / WIDTH, 1 - TITLE * titled / total),
        ncols=columns_of(looks, WIDTH), frameon=False, fontsize=13, labelcolor=palette.ink, handlelength=2.4,
        handleheight=0.6, borderpad=0.2, labelspacing=0.35, columnspacing=1.4, handletextpad=0.6,
    )  # fmt: skip
    # matplotlib treats a label that begins with an underscore as none; set behind its back.
    for text, look in zip(legend.get_texts(), looks, strict=True):
        text.set_text(look.name)


def _left_out(chart: Chart) -> str:
    """What the picture says where it has not all categories."""
    every = len({f"{x}" for series in chart.series for x in series.x})
    return f"{ROWS_SHOWN} of {every}" if every > ROWS_SHOWN else ""
