"""The code paths an engine may serve a drafter on, and one sentence for what they do differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from eaglekit.engines.case import Case, Found, Unknown
from eaglekit.engines.model import Effect, Verdict
from eaglekit.engines.rules import Behaviour, Feature


@dataclass(frozen=True, slots=True)
class Runner:
    """One of the code paths that an engine captures states on."""

    label: str
    ids: Feature
    use_aux: Feature
    second: bool = False
    """Whether its sentence follows another runner's, which has named the ids already."""


V1 = Runner("V1", Feature.IDS, Feature.USE_AUX)
V2 = Runner("V2", Feature.IDS_V2, Feature.USE_AUX_V2)
_RUNNERS: Mapping[Behaviour, tuple[Runner, ...]] = MappingProxyType({
    Behaviour.V1: (V1,), Behaviour.V2_OR_V1: (V2, V1), Behaviour.BOTH: (V1, V2), Behaviour.NOT_KNOWN: (V1,),
})  # fmt: skip

Check = Callable[[Case, Runner], Found]


def judged(case: Case, check: Check, *, right: str) -> Found:
    """What `check` finds on the runners that may serve this drafter; `right` is what a runner without effects does."""
    # Parallel drafting runs on V1 wherever there is a choice.
    on = (V1,) if case.spec.parallel_drafting else _RUNNERS[case.does(Feature.RUNNERS)]
    outcomes = [tuple(check(case, runner)) for runner in on]
    said = [[entry.text for entry in outcome] for outcome in outcomes]
    if all(texts == said[0] for texts in said):
        yield from outcomes[0]
    elif case.does(Feature.RUNNERS) is Behaviour.V2_OR_V1:
        yield from _with_fall_back(case, check, right)
    else:
        ending = next((f"; its {r.label} runner {right}" for r, o in zip(on, outcomes, strict=True) if not o), "")
        for runner, outcome in zip(on, outcomes, strict=True):
            yield from (_labelled(case, entry, runner, ending) for entry in outcome)


def _labelled(case: Case, entry: Effect | Unknown, runner: Runner, ending: str) -> Effect | Unknown:
    text = entry.text.replace(case.title, f"{case.title} on its {runner.label} runner", 1)
    return replace(entry, text=text + ending)


def _with_fall_back(case: Case, check: Check, right: str) -> Iterator[Effect | Unknown]:
    """What V2 does, and after it what V1 does otherwise: where V2 is right and V1 is not, no more than a remark."""
    first, other = tuple(check(case, V2)), tuple(check(case, V1))
    shared = {entry.text for entry in first} & {entry.text for entry in other}
    ours = [entry for entry in first if entry.text not in shared]
    yield from (entry for entry in first if entry.text in shared)
    fall_back = f"; the V1 runner, to which {case.title} falls back on CPU or without Triton, "
    if ours:
        again = [entry for entry in check(case, replace(V1, second=True)) if entry.text not in shared]
        does = " and ".join(_predicate(case, entry) for entry in again) or right
        yield from ours[:-1]
        yield replace(ours[-1], text=f"{ours[-1].text}{fall_back}{does}")
        return
    for entry in (entry for entry in other if entry.text not in shared):
        text = f"{case.title} on its V2 runner {right}{fall_back}{_predicate(case, entry)}"
        remark = replace(entry, verdict=Verdict.DEGRADED) if isinstance(entry, Effect) else entry
        yield replace(remark, text=text)


def _predicate(case: Case, entry: Effect | Unknown) -> str:
    return entry.text.removeprefix(f"{case.title} ")
