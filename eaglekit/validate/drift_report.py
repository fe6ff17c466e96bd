"""Drift as facts, measurements, a table and charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eaglekit.report import Fact, Finding, Measurement, Table
from eaglekit.report.model import Chart, Series
from eaglekit.validate.acceptance_report import measurement
from eaglekit.validate.drift import GROWTH_TOLD, Depth, growth
from eaglekit.validate.intervals import Estimate

RMS = "root mean square of the channels"
Sides = Mapping[str, Sequence[Depth]]
"""`drafter`, and `baseline` when there is one -> its depths."""


def facts(sides: Sides) -> Iterator[Fact]:
    """How many times the state grows from the first to the last depth."""
    for name, depths in sides.items():
        grown = growth(depths)
        if grown is not None:
            place = f"residual stream at depth {len(depths)} over depth 1, root mean square"
            yield Fact(_named(name, "state growth over depth"), f"{grown:.2f} x", f"measured: {place}")


def findings(sides: Sides) -> Iterator[Finding]:
    """A note when the judged drafter's state grows."""
    depths = sides.get("drafter", ())
    grown = growth(depths)
    if grown is not None and grown >= GROWTH_TOLD:
        yield Finding(
            "state-growth",
            f"the state is {grown:.2f} times as large at depth {len(depths)} as at depth 1",
            place="residual stream",
            got=f"{depths[0].residual.value:.3g} at depth 1, {depths[-1].residual.value:.3g} at depth {len(depths)}",
            expected=f"less than {GROWTH_TOLD:g} times as large",
            hint="later drafts suffer first: see acceptance by position, and serve no more drafts than pay",
        )


def measurements(sides: Sides) -> Iterator[Measurement]:
    """State sizes and attention at the first and the last depth."""
    for name, depths in sides.items():
        for depth in dict.fromkeys((*depths[:1], *depths[-1:])):
            rows = (
                ("state size", depth.residual, RMS, "texts; residual stream before the final norm"),
                ("attention on the first token", depth.sink, "share", "texts; mean over heads, layers and slots"),
                (
                    "attention on own drafts",
                    depth.own,
                    "share",
                    "texts; mean over heads, layers and slots; own slot included",
                ),
            )
            for label, estimate, unit, note in rows:
                named = f"{_named(name, label)} at depth {depth.depth}"
                yield from measurement(named, estimate, unit, estimate.count, note)


def tables(sides: Sides) -> Iterator[Table]:
    """One row per depth for each drafter."""
    for name, depths in sides.items():
        if not depths:
            continue
        first = depths[0]
        yield Table(
            _named(name, "drift-by-depth").replace(": ", "-"),
            _named(name, "drift by draft depth").capitalize(),
            (
                "depth",
                "state in",
                "in over depth 1",
                "residual out",
                "out over depth 1",
                "first token",
                "context",
                "own drafts",
            ),
            tuple(
                (
                    depth.depth,
                    f"{depth.state.value:.3f}",
                    _times(depth.state, first.state),
                    f"{depth.residual.value:.3f}",
                    _times(depth.residual, first.residual),
                    *(f"{100 * share.value:.1f} %" for share in (depth.sink, depth.context, depth.own)),
                )
                for depth in depths
            ),
        )


def charts(sides: Sides) -> Iterator[Chart]:
    """State size and attention over depth, every drafter beside the others."""
    if not any(sides.values()):
        return
    x_label = "draft depth"
    sizes = [_series(_named(name, "residual out"), [(d.depth, d.residual) for d in ds]) for name, ds in sides.items()]
    yield Chart("state-by-depth", "State size by draft depth", x_label, RMS, tuple(sizes))
    shares = [
        _series(_named(name, label), [(depth.depth, getattr(depth, key)) for depth in depths])
        for name, depths in sides.items()
        for label, key in (("first token", "sink"), ("context", "context"), ("own drafts", "own"))
    ]
    yield Chart(
        "attention-by-depth", "Where attention goes by draft depth", x_label, "share of attention", tuple(shares)
    )


def _series(name: str, points: Sequence[tuple[int, Estimate]]) -> Series:
    sure = [(e.low, e.high) for _, e in points if e.low is not None and e.high is not None]
    ends = sure if len(sure) == len(points) else []
    return Series(
        name,
        tuple(depth for depth, _ in points),
        tuple(estimate.value for _, estimate in points),
        tuple(low for low, _ in ends),
        tuple(high for _, high in ends),
    )


def _named(side: str, label: str) -> str:
    return label if side == "drafter" else f"{side}: {label}"


def _times(now: Estimate, first: Estimate) -> str:
    return f"{now.value / first.value:.2f} x" if first.value > 0 else "-"
