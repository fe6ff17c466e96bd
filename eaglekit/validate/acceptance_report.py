"""Acceptance as measurements, tables and charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eaglekit.report import Measurement, Table
from eaglekit.report.model import Chart, Series
from eaglekit.validate.acceptance import Acceptance
from eaglekit.validate.intervals import Estimate

LENGTH = "tokens per target step"
SHARE = "share"


@dataclass(frozen=True, slots=True)
class Judged:
    """The acceptance of one drafter, in all and by category."""

    name: str
    """What a chart's legend says: `drafter`, `baseline`."""
    total: Acceptance
    categories: Mapping[str, Acceptance]

    @property
    def prefix(self) -> str:
        """What stands before its measurements' names."""
        return "" if self.name == "drafter" else f"{self.name}: "


def shown(estimate: Estimate | None) -> str:
    """A value with its interval, as a table shows it."""
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def measurement(name: str, estimate: Estimate | None, unit: str, count: int, note: str) -> Iterator[Measurement]:
    """The estimate as a measurement; nothing for one that was not made."""
    if estimate is not None:
        yield Measurement(name, estimate.value, unit, note, estimate.low, estimate.high, count)


def measurements(judged: Judged, temperature: float) -> Iterator[Measurement]:
    """Every figure of one drafter with its interval and what it stands on."""
    total, prefix = judged.total, judged.prefix
    steps = len(total.rates)
    ceiling = f"{steps} draft tokens, bonus included, ceiling {steps + 1}"
    yield from measurement(
        f"{prefix}acceptance length", total.length, LENGTH, total.rounds,
        f"served rounds of {total.measured} texts; greedy; {ceiling}",
    )  # fmt: skip
    yield from measurement(
        f"{prefix}acceptance length, every slot", total.length_everywhere, LENGTH, total.slots,
        f"slots, all of the responses; greedy; {ceiling}",
    )  # fmt: skip
    at = f"temperature {temperature:g}"
    yield from measurement(
        f"{prefix}acceptance length, sampled", total.sampled_length, LENGTH, total.slots,
        f"slots; drafts sampled from the drafter; {at}; {ceiling}",
    )  # fmt: skip
    yield from measurement(
        f"{prefix}acceptance length, sampled, best drafts", total.taken_length, LENGTH, total.slots,
        f"slots; the drafter's best token offered to a sampling target; {at}; {ceiling}",
    )  # fmt: skip
    rows = (
        ("acceptance rate", total.rates, (total.rounds,) * steps, "served rounds; all earlier drafts accepted too"),
        ("acceptance rate, conditional", total.conditional, total.offered,
         "served rounds whose earlier drafts were accepted"),
        ("acceptance rate, sampled", total.sampled, total.reached[: len(total.sampled)],
         f"slots whose earlier drafts equal the text; sum of min(p, q); {at}"),
    )  # fmt: skip
    for name, estimates, counts, note in rows:
        for step, (estimate, count) in enumerate(zip(estimates, counts, strict=True), 1):
            yield from measurement(f"{prefix}{name} at draft {step}", estimate, SHARE, count, note)


def agreement(total: Acceptance) -> Iterator[Measurement]:
    """How far the responses are what the target would say itself."""
    yield from measurement(
        "responses that are the target's own", total.agreement, SHARE, total.texts,
        "texts; response tokens equal to the target's most likely token at that place",
    )  # fmt: skip


def tables(judged: Judged) -> tuple[Table, ...]:
    """Acceptance by draft position, and by category where texts have one."""
    total, prefix = judged.total, judged.prefix
    slug = prefix.replace(": ", "-")
    positions = [
        Table(
            f"{slug}acceptance-by-position",
            f"{prefix}acceptance by draft position, with 95 % intervals".capitalize(),
            ("draft", "accepted", "given the ones before", "given those, every slot"),
            _rows(total.rates, total.conditional, total.conditional_everywhere),
        )
    ]
    if total.sampled:
        positions.append(
            Table(
                f"{slug}sampled-acceptance-by-position",
                f"{prefix}sampled acceptance by draft position, given the ones before, every slot".capitalize(),
                ("draft", "drafts sampled", "best drafts"),
                _rows(total.sampled, total.taken),
            )
        )
    if not judged.categories:
        return tuple(positions)
    category = Table(
        f"{slug}acceptance-by-category",
        f"{prefix}acceptance length by category, with 95 % intervals".capitalize(),
        ("category", "served", "every slot", "sampled", "texts", "rounds"),
        tuple(
            (name or "-", shown(a.length), shown(a.length_everywhere), shown(a.sampled_length), a.measured, a.rounds)
            for name, a in judged.categories.items()
        ),
    )
    return (*positions, category)


def _rows(*columns: Sequence[Estimate | None]) -> tuple[tuple[object, ...], ...]:
    """A row per draft position: its number, and every column's value with its interval."""
    return tuple((step, *map(shown, row)) for step, row in enumerate(zip(*columns, strict=True), 1))


def charts(sides: tuple[Judged, ...]) -> Iterator[Chart]:
    """The same for people who would rather look: every drafter beside the others."""
    positions = [
        _series(label, dict(enumerate(estimates, 1)))
        for side in sides
        for label, estimates in (
            (f"{side.prefix}accepted", side.total.rates),
            (f"{side.prefix}given the ones before", side.total.conditional),
        )
    ]
    yield Chart(
        "acceptance-by-position", "Acceptance by draft position", "draft position", "share of served rounds",
        tuple(positions),
    )  # fmt: skip
    if any(side.categories for side in sides):
        yield Chart(
            "acceptance-by-category", "Acceptance length by category", "category", LENGTH,
            tuple(_series(side.name, {n or "-": a.length for n, a in side.categories.items()}) for side in sides),
            kind="bar",
        )  # fmt: skip


def _series(name: str, points: Mapping[str, Estimate | None] | Mapping[int, Estimate | None]) -> Series:
    """One line or set of bars; intervals only where every point has one."""
    known = {x: estimate for x, estimate in points.items() if estimate is not None}
    lows = [e.low for e in known.values() if e.low is not None]
    highs = [e.high for e in known.values() if e.high is not None]
    sure = len(lows) == len(highs) == len(known)
    return Series(
        name,
        tuple(known),
        tuple(estimate.value for estimate in known.values()),
        tuple(lows) if sure else (),
        tuple(highs) if sure else (),
    )
