"""What stands along the axes: where each x of a line chart lies, the words below it, the figures of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from eaglekit.report.html.looks import CHARACTER
from eaglekit.report.html.words import drawable, label
from eaglekit.report.model import Chart

TICKS, TICK_LENGTH = 12, 14
"""Most ticks with a label of their own on the axis of a line chart, and the longest, in characters."""
APART = 8
"""Least space between two labels."""


def places_of(chart: Chart, room: float) -> dict[str, float]:
    """Where each x lies: at its number, or one beside the other where any is a word or labels would touch.

    `room` is the width of the plot.
    """
    every = [x for series in chart.series for x in series.x]
    if any(isinstance(x, str) for x in every):
        return _side_by_side([f"{x}" for x in every])
    places = {f"{x}": float(x) for x in every if drawable(float(x))}
    ordered = sorted(places, key=places.__getitem__)
    return _side_by_side(ordered) if len(places) <= TICKS and _touch(places, room) else places


def _side_by_side(names: Sequence[str]) -> dict[str, float]:
    return {name: float(index) for index, name in enumerate(dict.fromkeys(names))}


def _touch(places: dict[str, float], room: float) -> bool:
    """Whether labels would: 1, 2, 4, ..., 64 crowd where they begin."""
    values = sorted(places.values())
    gaps = [right - left for left, right in pairwise(values)]
    width = CHARACTER * max(map(len, places), default=0) + APART
    # An eighth of the room is margin.
    return bool(gaps) and min(gaps) / (values[-1] - values[0]) * room * 7 / 8 < width


def ticks_of(places: dict[str, float], room: float) -> list[tuple[float, str]] | None:
    """The ticks with their labels, those left out that have no room; None for those that matplotlib would choose."""
    words = list(places.values()) == [float(index) for index in range(len(places))]
    if len(places) > TICKS and not words:
        return None
    most = min(TICK_LENGTH, max(6, int((room / max(len(places), 1) - APART) / CHARACTER)))
    shown = [(at, label(name, most)) for name, at in places.items()]
    widest = max((len(name) for _, name in shown), default=0) * CHARACTER + APART
    return shown[:: max(1, math.ceil(len(shown) * widest / room))]


def grid_figure(value: float, _: object = None) -> str:
    """A value as it stands at a grid line: `0.2`, `12`, `2.5e7`, with a minus sign where it is negative."""
    digits, mark, power = f"{value:g}".partition("e")
    return (f"{digits}{mark}{int(power)}" if mark else digits).replace("-", "−")


def axis_label(text: str, note: str, room: float) -> str:
    """The label of an axis with its note on one line of the figure; the note stays whole."""
    behind = f" ({note})" if note else ""
    return label(text, int(room / CHARACTER) - len(behind)) + behind
