"""How a drafter's state and attention change from draft to draft: the drift that EAGLE 3.1 was made against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eaglekit.validate.intervals import Estimate, ratio

GROWTH_TOLD = 1.5
"""State growth from which a note is made: half as large again is far from the few hundredths that a mean over hundreds
of slots moves by chance."""


@dataclass(frozen=True, slots=True)
class DepthSums:
    """Sums over the response slots of one text at one draft depth; means are taken over all texts together."""

    slots: int
    state: float
    """Root mean square over the channels of the state that goes into the step, summed over slots."""
    residual: float
    """The same of the residual stream that comes out, before the final norm."""
    sink: float = 0.0
    """Attention on the first slot."""
    context: float = 0.0
    """Attention on the other slots of the text."""
    own: float = 0.0
    """Attention on the step's own slot and on the drafter's earlier drafts."""


@dataclass(frozen=True, slots=True)
class Depth:
    """The means at one draft depth."""

    depth: int
    state: Estimate
    residual: Estimate
    sink: Estimate
    context: Estimate
    own: Estimate


def summarise(texts: Sequence[Sequence[DepthSums]]) -> tuple[Depth, ...]:
    """Means per depth over texts, each with one entry per depth; empty when no text has a response."""
    depths = []
    for depth, sums in enumerate(zip(*texts, strict=True), 1):
        slots = [entry.slots for entry in sums]
        means = [
            ratio([getattr(entry, name) for entry in sums], slots)
            for name in ("state", "residual", "sink", "context", "own")
        ]
        known = [mean for mean in means if mean is not None]
        if len(known) == len(means):
            depths.append(Depth(depth, *known))
    return tuple(depths)


def growth(depths: Sequence[Depth]) -> float | None:
    """How many times larger the residual stream is at the last depth than at the first."""
    if not depths or depths[0].residual.value <= 0:
        return None
    return depths[-1].residual.value / depths[0].residual.value
