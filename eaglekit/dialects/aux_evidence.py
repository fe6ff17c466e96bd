"""Which target states a file's layer ids mean. Evidence is gathered and must agree; otherwise the user is asked.

The key is one and the same everywhere, its meaning differs by one between readers, and the file does not say which.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.clues import holds
from eaglekit.dialects.dialect import Dialect, IdMeaning
from eaglekit.dialects.families import BOUNDARY, OUTPUT_OF, IdRule
from eaglekit.dialects.given import DEFAULT_LAYERS, Given
from eaglekit.drafter import Origin
from eaglekit.drafter.aux_layers import default_boundaries, default_is_usable
from eaglekit.report import Finding, Severity

CONVENTIONS = {"boundary": BOUNDARY, "output-of": OUTPUT_OF}


class Strength(Enum):
    """How much an observation about a convention weighs."""

    CERTAIN = "certain"
    STRONG = "strong"
    WEAK = "weak"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation and the convention it speaks for."""

    rule: IdRule
    strength: Strength
    because: str


@dataclass(frozen=True, slots=True)
class AuxLayers:
    """Boundary indices with their origin; empty when undecided, and then the findings ask."""

    boundaries: tuple[int, ...]
    origin: Origin
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Lists:
    """The id lists a config holds, by level."""

    top: tuple[int, ...] | None
    nested: tuple[int, ...] | None
    declared: tuple[int, ...] | None
    """Boundary indices that our own files state."""


def resolve(
    lists: Lists,
    *,
    checkpoint: Checkpoint,
    dialect: Dialect,
    given: Given,
    target_layers: int | None,
) -> AuxLayers:
    """The captured states as boundary indices, or findings that ask for `--aux-layers` or `--aux-convention`."""
    if isinstance(given.aux_layers, tuple):
        return AuxLayers(given.aux_layers, Origin("given", "--aux-layers"))
    if given.aux_layers == DEFAULT_LAYERS:
        return _adopted_default(target_layers)
    if lists.declared is not None:
        return AuxLayers(lists.declared, Origin("read", "config.json eaglekit.aux_layers"))
    if lists.top is not None and lists.nested is not None and lists.top != lists.nested:
        return _two_lists(lists.top, lists.nested)
    stored = lists.top if lists.top is not None else lists.nested
    if stored is None:
        return AuxLayers((), Origin("unknown", "no list in the file"), (_none_stored(target_layers),))
    if given.aux_convention is not None:
        rule = CONVENTIONS[given.aux_convention]
        return AuxLayers(rule.decode(stored, target_layers), Origin("given", f"--aux-convention {rule.name}"))
    return _weigh(stored, list(gather(stored, lists, checkpoint, dialect, target_layers)), target_layers)


def gather(
    ids: tuple[int, ...], lists: Lists, checkpoint: Checkpoint, dialect: Dialect, target_layers: int | None
) -> Iterable[Evidence]:
    """Everything that speaks for one of the two conventions."""
    if target_layers is not None and max(ids) == target_layers:
        yield Evidence(BOUNDARY, Strength.CERTAIN, f"the largest id is the target's depth {target_layers}")
    for rule, depth in _default_of(ids, target_layers):
        yield Evidence(rule, Strength.STRONG, f"the list is the default of {depth} layers in {rule.name} ids")
    meaning = _producer_meaning(dialect, checkpoint)
    if meaning is not None:
        if meaning.rule is not None:
            strength = Strength.WEAK if meaning.needs_depth and target_layers is None else Strength.STRONG
            yield Evidence(meaning.rule, strength, f"{dialect.title} writes {meaning.rule.name} ids: {meaning.source}")
    elif lists.nested is None:
        yield Evidence(BOUNDARY, Strength.WEAK, "the list stands at top level, where vLLM reads it")
    elif lists.top is None:
        yield Evidence(OUTPUT_OF, Strength.WEAK, "the list stands in eagle_config, where SGLang reads it")


def _default_of(ids: tuple[int, ...], target_layers: int | None) -> Iterable[tuple[IdRule, int]]:
    """The conventions under which `ids` is the default list; with no known depth, of the one its last id implies."""
    for rule in (BOUNDARY, OUTPUT_OF):
        depth = target_layers if target_layers is not None else rule.decode(ids, None)[-1] + 3
        if default_is_usable(depth) and ids == rule.encode(default_boundaries(depth), depth):
            yield rule, depth


def _producer_meaning(dialect: Dialect, checkpoint: Checkpoint) -> IdMeaning | None:
    for meaning in dialect.ids:
        if meaning.when is None or holds(meaning.when, checkpoint):
            return meaning
    return None


def _weigh(ids: tuple[int, ...], evidence: list[Evidence], target_layers: int | None) -> AuxLayers:
    for strength in (Strength.CERTAIN, Strength.STRONG):
        heard = [item for item in evidence if item.strength is strength]
        rules = {item.rule.name for item in heard}
        if len(rules) == 1:
            rule = heard[0].rule
            because = "; ".join(item.because for item in heard)
            # A weak observation the other way cannot outvote the default list, but it makes it a question.
            against = [e for e in evidence if e.strength is Strength.WEAK and e.rule is not rule]
            if strength is Strength.STRONG and against:
                break
            return AuxLayers(rule.decode(ids, target_layers), Origin("rule", f"{rule.name} ids, because {because}"))
        if len(rules) > 1:
            break
    return AuxLayers(
        (),
        Origin("unknown", "the evidence does not decide"),
        (_ask(ids, evidence, depth_known=target_layers is not None),),
    )


def _ask(ids: tuple[int, ...], evidence: list[Evidence], *, depth_known: bool) -> Finding:
    shown = ", ".join(map(str, ids))
    readings = [f"boundary [{shown}]"]
    readings.append(f"output-of, which is boundary [{', '.join(str(i + 1) for i in ids)}]")
    reasons = "; ".join(f"{item.rule.name} ({item.strength.value}): {item.because}" for item in evidence)
    return Finding(
        "aux-convention-unknown",
        f"layer ids [{shown}] can be read in two ways, one block apart, and the file does not decide",
        place="eagle_aux_hidden_state_layer_ids",
        got=reasons or "no evidence",
        expected=" or ".join(readings),
        hint=("" if depth_known else "add --target PATH_OR_ID or --set target_layers=N, which often decides it; else ")
        + "say how they were trained: --aux-convention boundary or output-of, or --aux-layers with boundary indices",
    )


def _two_lists(top: tuple[int, ...], nested: tuple[int, ...]) -> AuxLayers:
    if len(top) == len(nested) and all(t == n + 1 for t, n in zip(top, nested, strict=True)):
        because = "the nested list is the top-level one less 1: each in its reader's convention"
        return AuxLayers(top, Origin("rule", f"boundary ids at top level, because {because}"))
    return AuxLayers(
        (),
        Origin("unknown", "two lists disagree"),
        (
            Finding(
                "aux-layers-conflict",
                f"two lists of layer ids disagree: top level {list(top)}, eagle_config {list(nested)}",
                place="eagle_aux_hidden_state_layer_ids",
                got=f"{list(top)} and {list(nested)}",
                expected="one list, or a nested list that is the top-level one less 1",
                hint="find out which layers the drafter was trained on and say --aux-layers K1,K2,K3",
            ),
        ),
    )


def _adopted_default(target_layers: int | None) -> AuxLayers:
    unknown = Origin("unknown", "the default needs the target's depth")
    if target_layers is None:
        return AuxLayers((), unknown, (_depth_needed(),))
    if not default_is_usable(target_layers):
        return AuxLayers((), unknown, (_collapsed(target_layers),))
    return AuxLayers(default_boundaries(target_layers), Origin("given", "--aux-layers default"))


def _depth_needed() -> Finding:
    return Finding(
        "target-layers-unknown",
        "the default layers depend on the target's depth, and the source does not say it",
        place="--aux-layers default",
        got="no depth",
        expected="the number of target blocks",
        hint="add --target PATH_OR_ID, or --set target_layers=N",
    )


def _collapsed(target_layers: int) -> Finding:
    shown = ", ".join(map(str, default_boundaries(target_layers)))
    return Finding(
        "aux-default-collapses",
        f"the default layers of a target with {target_layers} blocks are [{shown}], not three different states",
        place="aux_layers",
        got=shown,
        expected="three ascending boundary indices",
        hint="give the layers the drafter was trained on: --aux-layers K1,K2,K3",
    )


def _none_stored(target_layers: int | None) -> Finding:
    if target_layers is not None and not default_is_usable(target_layers):
        return _collapsed(target_layers)
    default = list(default_boundaries(target_layers)) if target_layers is not None else None
    would = f"{default} (boundary indices)" if default else "[2, L//2, L-3] of its target's L blocks"
    return Finding(
        "aux-layers-absent",
        f"the file does not say which target layers the drafter reads; a server would assume {would}",
        place="eagle_aux_hidden_state_layer_ids",
        got="no list",
        expected="the layers of the training run",
        hint="if it was trained on the default, say --aux-layers default"
        + (" with --target PATH_OR_ID" if default is None else "")
        + "; else --aux-layers K1,K2,K3",
        severity=Severity.ERROR,
    )
