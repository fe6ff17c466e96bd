"""How each series of a chart looks: name, colour, dashes, marker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eaglekit.report.html.palette import Palette
from eaglekit.report.html.words import label
from eaglekit.report.model import Series

CHARACTER = 7.0
"""Width of a character at 13 units, taken wide: the reader's font is not known here."""
MARKERS = "os^DvP"
DASHES: tuple[tuple[int, tuple[int, ...]], ...] = ((0, ()), (0, (4, 2)), (0, (1, 2)))
NAME_LENGTH = 50
"""Longest name of a series in the legend, in characters."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a series is drawn."""

    name: str
    colour: str
    dash: tuple[int, tuple[int, ...]]
    marker: str


def looks_of(series: Sequence[Series], palette: Palette) -> list[Look]:
    """One look a series: `baseline: accepted` has the colour of `accepted`, and is dashed."""
    bases = list(dict.fromkeys(each.name.rpartition(": ")[2] for each in series))
    sides = list(dict.fromkeys(each.name.rpartition(": ")[0] for each in series))
    looks = []
    for each in series:
        side, _, base = each.name.rpartition(": ")
        index = bases.index(base)
        dash = DASHES[sides.index(side) % len(DASHES)]
        colour = palette.series[index % len(palette.series)]
        looks.append(Look(label(each.name, NAME_LENGTH), colour, dash, MARKERS[index % len(MARKERS)]))
    return looks


def columns_of(looks: Sequence[Look], width: float) -> int:
    """How many names of a legend stand beside each other."""
    longest = max(len(look.name) for look in looks)
    return max(1, min(3, int((width - 20) // (longest * CHARACTER + 44))))
