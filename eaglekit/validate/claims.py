"""What a published report claims, beside the same measured again: claim by claim, whether it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from math import isclose
from typing import Any

from eaglekit.report.model import Chart

TOLERANCE = 0.01
"""Relative; of a figure without an interval. Other hardware rounds otherwise, which turns a near tie between two tokens
here and there; a hundredth of a figure is more than that does, and less than anybody decides by."""
SMALLEST = 0.000_5
"""Absolute: what three decimals leave open."""
WIDER = 2.0
"""An interval comes from the same texts and the same seed: twice as wide, or half, is not the one that was measured."""
INTERVAL = re.compile(
    r"(?P<value>-?\d{1,12}\.\d{1,12}) \[(?P<low>-?\d{1,12}\.\d{1,12}), (?P<high>-?\d{1,12}\.\d{1,12})\]"
)
ROW_NAMES = ("category", "draft", "depth")
"""Columns that say what a row is about."""
NOT_COMPARED = ("measured", "read: target")
"""Origins of facts that are figures as text, or about the target, which is known by its digest."""

RULE = (
    f"a figure holds when it is measured again to {TOLERANCE:.0%}, or when each lies within the other's 95 % interval "
    f"and the intervals are alike in width (to a factor of {WIDER:g}); without an interval it must come out to "
    f"{TOLERANCE:.0%}, because other hardware turns a near tie here and there; what is said in words must be the same"
)


ENGINE_CLAIMS = frozenset({
    ("stages", "served"), ("facts", "served by"), ("facts", "engine arguments"), ("facts", "drafts in the engine"),
})  # fmt: skip
"""What only a real engine can tell again, beside the measurements that it gives its name to."""


class Verdict(str, Enum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    NOT_REPEATED = "not repeated here"


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a report says."""

    place: str
    """`measurements`, `tables`, `charts`, `facts`, `stages` or `card`."""
    name: str
    value: Any
    low: float | None = None
    high: float | None = None
    unit: str = ""
    origin: str = ""
    """How a fact is known."""

    @property
    def is_figure(self) -> bool:
        """Whether it is a number that was measured, rather than something that is said of the drafter."""
        return self.place in FIGURES

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, when there are two."""
        return (self.low, self.high) if self.low is not None and self.high is not None else None


FIGURES = frozenset({"measurements", "tables", "charts"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One claim, what was found instead, and the verdict."""

    claim: Claim
    now: Claim | None
    verdict: Verdict
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """A flat JSON object; what there is not is left out."""
        claim, now = self.claim, self.now
        pairs = {
            "place": claim.place, "name": claim.name, "unit": claim.unit or None,
            "claimed": claim.value, "claimed_low": claim.low, "claimed_high": claim.high,
            "measured": now.value if now is not None else None,
            "measured_low": now.low if now is not None else None,
            "measured_high": now.high if now is not None else None,
            "verdict": self.verdict.value, "why": self.why or None,
        }  # fmt: skip
        return {key: value for key, value in pairs.items() if value is not None}


def claims_of(document: Mapping[str, Any]) -> Iterator[Claim]:
    """Everything that a validation report claims. The document has passed the report's schema."""
    for m in document["measurements"]:
        yield Claim("measurements", m["name"], m["value"], m.get("low"), m.get("high"), m["unit"])
    for name, rows in document["tables"].items():
        for number, row in enumerate(rows, 1):
            about = next((f"{key} {row[key]}" for key in ROW_NAMES if key in row), f"row {number}")
            for column, cell in row.items():
                if isinstance(cell, str) and (found := INTERVAL.fullmatch(cell)):
                    value, low, high = (float(found[part]) for part in ("value", "low", "high"))
                    yield Claim("tables", f"{name}: {about}, {column}", value, low, high)
    for name, chart in document.get("charts", {}).items():
        for series in Chart.from_json(name, chart).series:
            for x, y, least, most in series.points():
                yield Claim("charts", f"{name}: {series.name} at {x}", y, least, most)
    for name, fact in document["facts"].items():
        if name != "arithmetic":
            yield Claim("facts", name, fact["value"], origin=fact["origin"])
    for name, outcome in document["result"].get("stages", {}).items():
        yield Claim("stages", name, outcome)


@dataclass(frozen=True, slots=True)
class Here:
    """What this machine can say about a claim that it has nothing to set against."""

    nothing: str = ""
    """Why nothing at all was measured; empty when something was."""
    without_baseline: bool = False
    same_tool: bool = False
    """Whether the very version that wrote the report measured again, and got to the end."""

    def without(self, claim: Claim) -> tuple[Verdict, str]:
        """The verdict on a claim that nothing here answers to."""
        if self.nothing:
            return Verdict.NOT_REPEATED, self.nothing
        if claim.name.startswith("vllm: ") or (claim.place, claim.name) in ENGINE_CLAIMS:
            return Verdict.NOT_REPEATED, "it is what a real engine did: validate --engine vllm asks one"
        if self.without_baseline and "baseline" in claim.name:
            return Verdict.NOT_REPEATED, "it is about a baseline: give it with --baseline"
        if self.same_tool:
            return Verdict.FAILS, "the version that wrote the report measures nothing of this name"
        return Verdict.NOT_REPEATED, "nothing of this name was measured"


def compare(claimed: Mapping[str, Any], measured: Mapping[str, Any] | None, here: Here) -> list[Outcome]:
    """The outcome for every claim of a report, in its order. `measured` is the report that was made here, if any."""
    now = {(c.place, c.name): c for c in claims_of(measured)} if measured is not None else {}
    outcomes: list[Outcome] = []
    seen: set[tuple[str, str]] = set()
    for claim in claims_of(claimed):
        key = (claim.place, claim.name)
        answer = now.get(key)
        if key in seen:
            outcomes.append(Outcome(claim, answer, Verdict.FAILS, "it is claimed twice"))
        elif answer is None:
            outcomes.append(Outcome(claim, None, *here.without(claim)))
        elif claim.is_figure:
            why = disagreement(claim, answer)
            outcomes.append(
                Outcome(claim, answer, Verdict.FAILS if why else Verdict.HOLDS, why or within(claim, answer))
            )
        elif claim.place != "facts" or not answer.origin.startswith(NOT_COMPARED):
            same = claim.value == answer.value
            outcomes.append(
                Outcome(claim, answer, Verdict.HOLDS, "the same")
                if same
                else Outcome(claim, answer, Verdict.FAILS, "something else is found")
            )
        seen.add(key)
    return outcomes


def near(first: float, second: float) -> bool:
    """Whether two figures are the same up to what rounding does."""
    return isclose(first, second, rel_tol=TOLERANCE, abs_tol=SMALLEST)


def within(claim: Claim, now: Claim) -> str:
    """By which part of the rule a claim holds."""
    if claim.value == now.value:
        return "the same"
    return f"the same to {TOLERANCE:.0%}" if near(claim.value, now.value) else "within its interval"


def disagreement(claim: Claim, now: Claim) -> str:
    """Why a figure does not hold; empty when it does."""
    claimed, measured = claim.interval, now.interval
    if claim.unit != now.unit:
        return f"it is claimed in {claim.unit!r} and measured in {now.unit!r}"
    if claimed is not None and measured is None:
        return "it is claimed with an interval, and too few texts are there to make one"
    if not near(claim.value, now.value):
        if claimed is None or claimed[0] == claimed[1]:
            return f"it differs by more than {TOLERANCE:.0%}, and has no interval"
        if not claimed[0] <= now.value <= claimed[1]:
            return "what is measured lies outside the claimed interval"
        if not claimed[0] <= claim.value <= claimed[1]:
            return "it lies outside its own interval"
        if measured is not None and not measured[0] <= claim.value <= measured[1]:
            return "it lies outside the interval that is measured"
    if claimed is not None and measured is not None:
        floor = max(TOLERANCE * abs(now.value), 2 * SMALLEST)
        wide, wanted = (max(high - low, floor) for low, high in (claimed, measured))
        if not wanted / WIDER <= wide <= wanted * WIDER:
            return f"its interval is {wide / wanted:.2g} times as wide as the one that is measured"
    return ""
