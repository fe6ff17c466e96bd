"""Checks of switches: norms and biases with tensors of their own, and flags that have none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from eaglekit.drafter import PARTS, Feedback, FusionNorm, Part, Residual, Role, Spec
from eaglekit.drafter.sizes import numbers
from eaglekit.engines.case import Case, Found, place_of, some
from eaglekit.engines.checks.names import absent
from eaglekit.engines.model import Verdict
from eaglekit.engines.rules import Behaviour, Capability, Feature

BUILT = frozenset({Behaviour.HONOURED, Behaviour.NOT_APPLIED})


@dataclass(frozen=True, slots=True)
class OptionalParts:
    """Parts that a class has or has not, with or without a flag."""

    feature: Feature
    parts: tuple[Part, ...]
    means: Callable[[Spec], bool]
    """Whether the drafter has them by its meaning."""
    unasked: Feature
    """What becomes of them where the class has none."""
    flag: str = ""
    """The key that people set for it."""
    norms: bool = True
    """Whether a parameter without a tensor holds ones."""
    rest: Feature | None = None
    """Whose rows tell of these parts where no row tells of them alone."""


OPTIONALS = (
    OptionalParts(Feature.FC_NORM, (Part.STATE_NORM,), lambda spec: spec.fusion_norm is FusionNorm.PER_STATE,
                  Feature.UNEXPECTED_TENSOR, "fc_norm"),
    OptionalParts(Feature.NORM_BEFORE_FC, (Part.FUSION_NORM,), lambda spec: spec.fusion_norm is FusionNorm.WHOLE,
                  Feature.UNEXPECTED_INPUT_NORM, "norm_before_fc"),
    OptionalParts(Feature.QK_NORM, (Part.QUERY_NORM, Part.KEY_NORM), lambda spec: spec.qk_norm,
                  Feature.UNEXPECTED_TENSOR),
    OptionalParts(Feature.ATTENTION_BIAS, (Part.QUERY_BIAS, Part.KEY_BIAS, Part.VALUE_BIAS, Part.OUTPUT_BIAS),
                  lambda spec: spec.attention_bias, Feature.UNEXPECTED_BIAS, "attention_bias", norms=False),
    OptionalParts(Feature.OUTPUT_BIAS, (Part.OUTPUT_BIAS,), lambda spec: spec.attention_bias, Feature.UNEXPECTED_BIAS,
                  "attention_bias", norms=False, rest=Feature.ATTENTION_BIAS),
    OptionalParts(Feature.MLP_BIAS, (Part.GATE_BIAS, Part.UP_BIAS, Part.DOWN_BIAS), lambda spec: spec.mlp_bias,
                  Feature.UNEXPECTED_BIAS, "mlp_bias", norms=False),
    OptionalParts(Feature.FC_BIAS, (Part.FUSION_BIAS,), lambda spec: spec.fusion_bias, Feature.UNEXPECTED_BIAS, "bias",
                  norms=False),
)  # fmt: skip
"""Every optional group of tensors."""

_FALL_BACK: Mapping[Feature, Feature] = MappingProxyType({Feature.UNEXPECTED_INPUT_NORM: Feature.UNEXPECTED_TENSOR})
"""Where no row says what becomes of special tensors, they are treated as any others."""


def optional_parts(case: Case) -> Found:
    """Norms and biases that the class has no parameters for, loads without applying, or builds without a tensor."""
    alone = {
        optional.rest: optional.parts
        for optional in OPTIONALS
        if optional.rest and optional.feature in case.rules.chosen
    }
    for optional in OPTIONALS:
        if optional.rest is None or optional.feature in case.rules.chosen:
            others = alone.get(optional.feature, ())
            yield from _optional(case, replace(optional, parts=tuple(p for p in optional.parts if p not in others)))


def _optional(case: Case, optional: OptionalParts) -> Found:
    row = case.rule(optional.feature)
    names = [
        named.name
        for named in case.stored.tensors
        if named.role is not None and named.role.part in optional.parts and not _old_and_unread(case, named.old)
    ]
    on = not row.values or case.view.first(row.values)[1] is True
    built = row.behaviour in BUILT and on
    if row.behaviour is Behaviour.NOT_KNOWN:
        if names:
            yield case.unknown(f"treats {optional.feature.value} ({some(names)})")
    elif built and names and row.behaviour is Behaviour.NOT_APPLIED:
        text = f"loads {some(names)} and never applies them"
        yield case.effect(Verdict.MISREADS, "engine-switch-ignored", text, row)
    elif names and row.behaviour is Behaviour.REJECTED:
        yield case.effect(Verdict.REJECTS, "engine-tensor-rejected", f"cannot serve a drafter with {some(names)}", row)
    elif built and not names:
        yield from _without_weights(case, optional)
    elif names and not built:
        yield from _unasked(case, optional, row, names)


def _old_and_unread(case: Case, old: bool) -> bool:
    return old and case.does(Feature.OLD_STATE_NORMS) is not Behaviour.HONOURED


def _without_weights(case: Case, optional: OptionalParts) -> Found:
    roles = [Role(part, number) for part in optional.parts for number in numbers(PARTS[part].index, case.spec)]
    yield from absent(case, roles, left="at ones" if optional.norms else "uninitialised")


def _unasked(case: Case, optional: OptionalParts, row: Capability, names: Sequence[str]) -> Found:
    unasked = optional.unasked
    if case.does(unasked) is Behaviour.NOT_KNOWN:
        unasked = _FALL_BACK.get(unasked, unasked)
    refused = case.does(unasked) is Behaviour.REJECTED
    code = "engine-tensor-rejected" if refused else "engine-tensor-dropped"
    why = _why(case, optional, row)
    yield from case.fate(unasked, code=code, what=some(names), why=why, matters=optional.means(case.spec))


def _why(case: Case, optional: OptionalParts, row: Capability) -> str:
    if row.behaviour not in BUILT:
        return f"{case.drafter.title} has no {optional.flag or optional.feature.value}"
    elsewhere = _elsewhere(case, optional.flag, row.values)
    if elsewhere:
        return f"it reads {row.values[0]} {place_of(row.values[0])}, and the file says it {place_of(elsewhere)}"
    if case.view.flattened and case.artefact.config.get(optional.flag) is True:
        return f"its speculators reader does not keep {optional.flag}"
    return f"the config it sees does not say {optional.flag}: true"


def _elsewhere(case: Case, flag: str, paths: Sequence[str]) -> str:
    """The level at which the file sets `flag` and this engine does not look; empty when there is none."""
    for path in (flag, f"eagle_config.{flag}"):
        if path not in paths and case.view.get(path) is True:
            return path
    return ""


@dataclass(frozen=True, slots=True)
class Flag:
    """A switch without tensors."""

    feature: Feature
    flag: str
    means: Callable[[Spec], bool]
    verb: str
    """What an engine does with one of two states."""
    on: str
    """The state that `true` stands for."""
    off: str
    """The state that `false` stands for."""


FLAGS = (
    Flag(Feature.NORM_OUTPUT, "norm_output", lambda spec: spec.feedback is Feedback.NORMED, "feeds the next draft step",
         "the state after the final norm", "the state before the final norm"),
    Flag(Feature.NORM_BEFORE_RESIDUAL, "norm_before_residual", lambda spec: spec.residual is Residual.NORMED,
         "starts layer 0 from", "the state after hidden_norm", "the state before hidden_norm"),
)  # fmt: skip
"""Every switch that has no tensor."""


def flags(case: Case) -> Found:
    """Switches without tensors that the engine does not know, does not find, or takes for something else."""
    for flag in FLAGS:
        row = case.rule(flag.feature)
        truth = flag.means(case.spec)
        if row.behaviour is Behaviour.NOT_KNOWN:
            if truth:
                yield case.unknown(f"treats {flag.flag}")
            continue
        path, value = case.view.first(row.values) if row.behaviour is Behaviour.HONOURED else ("", None)
        if (value is True) != truth:
            done, right = (flag.on, flag.off) if value is True else (flag.off, flag.on)
            reason = _reason(case, flag, row, path)
            text = f"{reason} and {flag.verb} {done}; the drafter was trained with {right}"
            yield case.effect(Verdict.MISREADS, "engine-switch-ignored", text, row)


def _reason(case: Case, flag: Flag, row: Capability, path: str) -> str:
    if row.behaviour is not Behaviour.HONOURED:
        return f"has no {flag.flag}"
    if flag.flag == "norm_before_residual" and case.view.residual_assumed:
        return "takes norm_before_residual, which this speculators config does not say, for true"
    if path:
        return f"takes {path} at its word"
    elsewhere = _elsewhere(case, flag.flag, row.values)
    if elsewhere:
        return f"reads {flag.flag} {place_of(row.values[0])}, not {place_of(elsewhere)},"
    if case.view.flattened and case.artefact.config.get(flag.flag) is True:
        return f"does not keep {flag.flag} of a speculators config"
    return f"does not find {flag.flag}"
