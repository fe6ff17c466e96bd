"""Checks of captured layers: which list an engine reads, under which convention, and which states come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from eaglekit.dialects import families
from eaglekit.dialects.families import IdRule
from eaglekit.drafter import Fusion
from eaglekit.drafter.aux_layers import default_boundaries
from eaglekit.engines.case import Case, Found, Unknown, listed, place_of
from eaglekit.engines.checks.runners import Runner, judged
from eaglekit.engines.model import Effect, Verdict
from eaglekit.engines.rules import Behaviour, Capability, Feature

WRONG, BEYOND, ARGUMENT = "engine-layers-wrong", "engine-layers-uncapturable", "engine-layers-argument"

ID_PATHS = (
    "eagle_aux_hidden_state_layer_ids",
    "eagle_config.eagle_aux_hidden_state_layer_ids",
    "eagle_config.layer_ids",
)
"""Every place in which somebody writes layer ids."""

_PLACES: Mapping[str, str] = MappingProxyType({
    ID_PATHS[0]: "the ids at the top level", ID_PATHS[1]: "the nested ids", ID_PATHS[2]: "layer_ids",
})  # fmt: skip
"""How messages call the ids of each place."""

ID_RULES: Mapping[str, IdRule] = MappingProxyType({
    rule.name: rule
    for rule in (
        families.BOUNDARY, families.SGLANG, families.SGLANG_DEEPSEEK, families.SGLANG_GPT_OSS, families.TOKENSPEED,
        families.TOKENSPEED_DEEPSEEK, families.TOKENSPEED_K3,
    )
})  # fmt: skip
"""A behaviour of `Feature.IDS` by its value -> the rule."""


@dataclass(frozen=True, slots=True)
class Capture:
    """What an engine captures, and how it came to that."""

    ids: tuple[int, ...]
    """As written; empty for its default."""
    path: str
    boundaries: tuple[int, ...]
    row: Capability


def layers(case: Case) -> Found:
    """Captured states other than those the drafter was trained on, on each runner that may serve it."""
    if case.spec.fusion is not Fusion.FINAL_STATE:
        yield from judged(case, _one, right="captures the right layers")


def _one(case: Case, runner: Runner) -> Found:
    row = case.rule(runner.ids)
    if row.behaviour is Behaviour.ARGUMENT:
        yield from _argument(case, row)
        return
    capture = _captures(case, runner)
    if capture is None:
        yield from _symbolic(case, runner)
        return
    if not isinstance(capture, Capture):
        yield capture
        return
    yield from _limits(case, capture)
    wanted = case.spec.aux_layers
    if not wanted:
        text = f"captures {listed(capture.boundaries)} ({_how(case, capture, runner)})"
        yield Unknown(f"{case.title} {text}; which states the drafter was trained on is not decided")
    elif capture.boundaries != wanted:
        yield case.effect(Verdict.MISREADS, WRONG, _sentence(case, capture, runner), capture.row)


def _sentence(case: Case, capture: Capture, runner: Runner) -> str:
    wanted = case.spec.aux_layers
    text = f"and captures layers {listed(capture.boundaries)} instead of {listed(wanted)} (boundary indices)"
    if capture.path:
        return f"{_how(case, capture, runner)} {text}{_shift(capture.boundaries, wanted)}"
    # A default that happens to lie one block beside is no misread convention.
    return f"{_how_by_default(case, runner)} {text}"


def _how(case: Case, capture: Capture, runner: Runner) -> str:
    if capture.path:
        as_written = capture.boundaries == tuple(sorted(set(capture.ids)))
        meaning = "boundary indices" if as_written else "outputs of blocks counted from 0"
        ids = "them" if runner.second else f"the ids {list(capture.ids)} {place_of(capture.path)}"
        return f"reads {ids} as {meaning}"
    return _how_by_default(case, runner)


def _how_by_default(case: Case, runner: Runner) -> str:
    ignored = [path for path in ID_PATHS if path not in case.rule(runner.ids).values and case.view.get(path)]
    lost = case.view.flattened and case.artefact.config.get(ID_PATHS[0]) and not case.view.get(ID_PATHS[0])
    if lost:
        return "does not keep the layer ids of a speculators config, takes its default"
    if ignored:
        return f"ignores {_PLACES[ignored[0]]}"
    return "finds no layer ids, takes its default"


def _shift(got: Sequence[int], wanted: Sequence[int]) -> str:
    if len(got) != len(wanted):
        return ""
    shifts = {ours - theirs for ours, theirs in zip(got, wanted, strict=True)}
    if len(shifts) != 1:
        return ""
    return {-1: ", one block too early", 1: ", one block too late"}.get(shifts.pop(), "")


def _captures(case: Case, runner: Runner) -> Capture | Effect | Unknown | None:
    """What is captured; `Unknown` when nobody says enough; None for the default at an unknown depth."""
    outcomes: dict[tuple[int, ...], Capture] = {}
    for row in _candidates(case, runner.ids):
        if row.behaviour is Behaviour.NOT_KNOWN:
            return case.unknown("reads layer ids")
        path, ids = case.view.first([p for p in row.values if case.view.get(p)])
        if path and not _is_ids(ids):
            return case.unknown(f"treats {path}: {ids!r}")
        for boundaries in _decoded(case, row, ids) if path else _defaults(case):
            if boundaries is None:
                return None
            outcomes[boundaries] = Capture(tuple(ids or ()), path, boundaries, row)
    if len(outcomes) == 1:
        return next(iter(outcomes.values()))
    return _ambiguous(case, runner, outcomes)


def _ambiguous(case: Case, runner: Runner, outcomes: Mapping[tuple[int, ...], Capture]) -> Effect | Unknown:
    wanted, row = case.spec.aux_layers, case.rule(runner.ids)
    shown = " or ".join(listed(boundaries) for boundaries in outcomes)
    needed = "depth" if len(_candidates(case, runner.ids)) == 1 else "family"
    text = f"captures layers {shown}, depending on the target's {needed}, which nothing says"
    if wanted and wanted not in outcomes:
        return case.effect(Verdict.MISREADS, WRONG, f"{text}; the drafter was trained on {listed(wanted)}", row)
    return Unknown(f"{case.title} {text}")


def _candidates(case: Case, feature: Feature) -> tuple[Capability, ...]:
    """The row that holds, or every rival when the target's family is not known."""
    family = case.spec.target_family
    if family is not None and families.family_of(family) is not None:
        return (case.rule(feature),)
    return case.rules.rivals.get(feature) or (case.rule(feature),)


def _decoded(case: Case, row: Capability, ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    rule, depth = ID_RULES[row.behaviour.value], case.spec.target_layers
    # Some rules ask whether an id is the target's depth; without it both answers are possible.
    for guess in (depth,) if depth is not None else (None, max(ids)):
        yield tuple(sorted(set(rule.decode(ids, guess))))


def _defaults(case: Case) -> Iterator[tuple[int, ...] | None]:
    depth = case.spec.target_layers
    for row in _candidates(case, Feature.DEFAULT_IDS):
        if row.behaviour is Behaviour.NOT_KNOWN or depth is None:
            yield None
        else:
            yield tuple(boundary + _LATER[row.behaviour] for boundary in default_boundaries(depth))


def _symbolic(case: Case, runner: Runner) -> Found:
    """The default layers of a target whose depth, or whose class in this engine, is not known."""
    row, wanted = case.rule(Feature.DEFAULT_IDS), case.spec.aux_layers
    how = _how_by_default(case, runner)
    if row.behaviour is Behaviour.NOT_KNOWN or case.spec.target_layers is not None:
        yield Unknown(f"{case.title} {how}; which layers those are for this target is not established")
        return
    text = f"{how} and captures layers {row.behaviour.value} of a target of L blocks"
    depth = wanted[-1] + (3 if row.behaviour is Behaviour.EARLY_MIDDLE_LATE else 2) if wanted else 0
    if wanted and default_boundaries(depth) != tuple(k - _LATER[row.behaviour] for k in wanted):
        text = f"{text} instead of {listed(wanted)} (boundary indices)"
        yield case.effect(Verdict.MISREADS, WRONG, text, case.rule(runner.ids))
    elif wanted:
        yield Unknown(f"{case.title} {text}; that is right only if L is {depth}, and nothing says the target's depth")
    else:
        yield Unknown(f"{case.title} {text}; which states the drafter was trained on is not decided")


_LATER: Mapping[Behaviour, int] = MappingProxyType({Behaviour.EARLY_MIDDLE_LATE: 0, Behaviour.ONE_LATER: 1})
"""How much later than the usual default an engine's default lies."""


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, int) and not isinstance(entry, bool) for entry in value)


def _limits(case: Case, capture: Capture) -> Found:
    depth, boundaries = case.spec.target_layers, capture.boundaries
    last, first, dead = (case.rule(f) for f in (Feature.LAST_BOUNDARY, Feature.FIRST_BOUNDARY, Feature.LAST_ID))
    count = case.spec.num_aux_states
    if 0 in boundaries and first.behaviour is Behaviour.REJECTED:
        text = "cannot capture boundary 0, the embeddings, of this target: there is no residual yet"
        yield case.effect(Verdict.REJECTS, BEYOND, text, first)
    if depth is None:
        return
    beyond = [boundary for boundary in boundaries if boundary > depth]
    if beyond:
        text = f"waits for boundary {listed(beyond)} of a target of {depth} blocks, which never comes, so fc gets "
        yield case.effect(Verdict.REJECTS, BEYOND, f"{text}{count - len(beyond)} states of {count}", capture.row)
    if depth in boundaries and last.behaviour is Behaviour.NEVER:
        text = f"never captures boundary {depth}, the output of this target's last block, so fc gets "
        yield case.effect(Verdict.REJECTS, BEYOND, f"{text}{count - 1} states of {count}", last)
    elif depth in boundaries and last.behaviour is Behaviour.UNFILLED:
        text = f"is never given boundary {depth}, the output of this target's last block, and drafts from what lies in "
        yield case.effect(Verdict.MISREADS, BEYOND, f"{text}its buffer", last)
    elif depth - 1 in capture.ids and dead.behaviour is Behaviour.NEVER:
        text = f"captures nothing for id {depth - 1}: the last block's output has the id {depth} there"
        yield case.effect(Verdict.REJECTS, BEYOND, text, dead)
    if len(boundaries) != count and not beyond:
        text = f"captures {len(boundaries)} states ({listed(boundaries)}) for an fc that reads {count}"
        yield case.effect(Verdict.REJECTS, "engine-width-wrong", text, capture.row)


def _argument(case: Case, row: Capability) -> Found:
    wanted, depth = case.spec.aux_layers, case.spec.target_layers
    if not wanted:
        yield Unknown(f"{case.title} takes its layers from an argument; which ones are right is not decided")
        return
    later = _LATER.get(case.does(Feature.DEFAULT_IDS), 0)
    if depth is not None and wanted == tuple(boundary + later for boundary in default_boundaries(depth)):
        return
    ids = families.OUTPUT_OF.encode(wanted, depth) if 0 not in wanted else ()
    needs = f"{row.values[0]}={{{listed(ids)}}}" if ids else "a state that its argument cannot name"
    text = f"reads no layer ids from the file: it needs {needs} and takes its default layers without it"
    yield case.effect(Verdict.DEGRADED if ids else Verdict.MISREADS, ARGUMENT, text, row)
