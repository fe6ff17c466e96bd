"""Checks of tensors: names an engine does not look for, tensors it does not expect, tensors it misses."""

from __future__ import annotations

from eaglekit.drafter import Attention, Part, Role
from eaglekit.drafter.sizes import roles_of
from eaglekit.engines.case import Case, Found, some
from eaglekit.engines.model import Verdict
from eaglekit.engines.rules import Behaviour, Feature
from eaglekit.engines.stored import canonical_name

DROPPED, REJECTED, UNREAD, MISSING = (
    "engine-tensor-dropped", "engine-tensor-rejected", "engine-names-unread", "engine-tensor-missing",
)  # fmt: skip

HANDLED_ELSEWHERE = frozenset({
    Part.STATE_NORM, Part.FUSION_NORM, Part.QUERY_NORM, Part.KEY_NORM, Part.ATTENTION_NORM, Part.EMBEDDING, Part.HEAD,
    Part.DRAFT_TO_TARGET, Part.TARGET_MASK, Part.MASK_STATE, Part.FUSION_BIAS, Part.QUERY_BIAS, Part.KEY_BIAS,
    Part.VALUE_BIAS, Part.OUTPUT_BIAS, Part.GATE_BIAS, Part.UP_BIAS, Part.DOWN_BIAS,
})  # fmt: skip
"""Parts whose absence other checks judge."""


def outer_prefix(case: Case) -> Found:
    """Names under `model.`, where the engine puts that prefix itself or does not know it."""
    names = [named.name for named in case.stored.tensors if named.outer]
    row = case.rule(Feature.OUTER_PREFIX)
    if names and row.behaviour is not Behaviour.HONOURED:
        what, why = f"{len(names)} tensors named model.*", f"it puts or expects no such prefix ({some(names)})"
        yield from case.fate(Feature.OUTER_PREFIX, code=UNREAD, what=what, why=why, matters=True)


def layer_names(case: Case) -> Found:
    """A spelling of the layers that the engine does not look for."""
    row = case.rule(Feature.LAYER_NAMES)
    if not row.values:
        return
    for spelling in sorted({named.spelling for named in case.stored.tensors if named.spelling} - set(row.values)):
        names = [named.name for named in case.stored.tensors if named.spelling == spelling]
        what = f"{len(names)} tensors named {spelling}*"
        why = f"it looks for {' or '.join(value + '*' for value in row.values)}"
        yield from case.fate(Feature.LAYER_NAMES, code=UNREAD, what=what, why=why, matters=True)


def strangers(case: Case) -> Found:
    """Tensors that no part of a drafter has as its name, and state norms under their old names."""
    unknown = [named.name for named in case.stored.tensors if named.role is None]
    if unknown:
        why = "it has no parameter of that name"
        yield from case.fate(Feature.UNEXPECTED_TENSOR, code=_code(case), what=some(unknown), why=why, matters=True)
    old = [named.name for named in case.stored.tensors if named.old]
    if old and case.does(Feature.OLD_STATE_NORMS) is not Behaviour.HONOURED:
        why = "it does not know the old names of the state norms"
        yield from case.fate(Feature.UNEXPECTED_TENSOR, code=_code(case), what=some(old), why=why, matters=True)


def attention(case: Case) -> Found:
    """A class of the other kind of attention than the drafter was trained with."""
    if case.drafter.attention is case.spec.attention:
        return
    ours, theirs = _kind(case.spec.attention), _kind(case.drafter.attention)
    what, why = f"the projections of the {ours} drafter", f"the class it picks is for {theirs} drafters"
    yield from case.fate(Feature.UNEXPECTED_TENSOR, code=_code(case), what=what, why=why, matters=True)


def missing(case: Case) -> Found:
    """Parts the drafter has by its meaning and the file does not store."""
    gone = [role for role in roles_of(case.spec) if role.part not in HANDLED_ELSEWHERE]
    gone = [role for role in gone if role not in case.stored.roles]
    if gone:
        yield from absent(case, gone)


def absent(case: Case, roles: list[Role], *, left: str = "uninitialised") -> Found:
    """What the engine does about `roles` that are not stored; `left` says what their parameters hold then."""
    row = case.rule(Feature.MISSING_TENSOR)
    names = some([canonical_name(role) for role in roles])
    if row.behaviour is Behaviour.UNINITIALISED:
        text = f"loads without {names} and serves with {'it' if len(roles) == 1 else 'them'} {left}"
        yield case.effect(Verdict.MISREADS, MISSING, text, row)
    elif row.behaviour is Behaviour.REJECTED:
        yield case.effect(Verdict.REJECTS, MISSING, f"refuses a file without {names}", row)
    else:
        yield case.unknown(f"treats a file without {names}")


def depth(case: Case) -> Found:
    """More or fewer layers than are stored."""
    row = case.rule(Feature.DEPTH)
    said = case.view.get("num_hidden_layers")
    stored = case.spec.num_layers
    if row.behaviour is Behaviour.ONE_ENFORCED and (stored != 1 or said not in (None, 1)):
        text = f"serves drafters of one layer only; num_hidden_layers is {said}, layers stored: {stored}"
        yield case.effect(Verdict.REJECTS, "engine-depth-wrong", text, row)
    elif row.behaviour is Behaviour.ONE and stored > 1:
        yield from _surplus(case, 1, "its drafter has one layer")
    elif row.behaviour is Behaviour.FROM_CONFIG and isinstance(said, int) and said > stored:
        yield from _random_layers(case, said, stored)
    elif row.behaviour is Behaviour.FROM_CONFIG and isinstance(said, int) and said < stored:
        yield from _surplus(case, said, f"num_hidden_layers is {said}")
    elif row.behaviour is Behaviour.NOT_KNOWN and (stored > 1 or said not in (None, stored)):
        text = f"num_hidden_layers {said} with {stored} stored" if said != stored else f"a drafter of {stored} layers"
        yield case.unknown(f"treats {text}")


def _surplus(case: Case, first: int, why: str) -> Found:
    stored = case.spec.num_layers
    what = f"layer {first}" if first == stored - 1 else f"layers {first} to {stored - 1}"
    yield from case.fate(Feature.UNEXPECTED_TENSOR, code="engine-depth-wrong", what=what, why=why, matters=True)


def _random_layers(case: Case, said: int, stored: int) -> Found:
    row = case.rule(Feature.MISSING_TENSOR)
    if row.behaviour is not Behaviour.UNINITIALISED:
        yield case.unknown(f"treats num_hidden_layers {said} with {stored} stored")
        return
    text = f"builds {said} layers as num_hidden_layers says, of which {said - stored} are not stored and stay random"
    yield case.effect(Verdict.MISREADS, "engine-depth-wrong", text, row)


def later_norm(case: Case) -> Found:
    """A later layer whose norm is stored only under the name of which the engine ignores the tensor."""
    row = case.rule(Feature.LATER_NORM)
    layers = range(1, case.spec.num_layers)
    if not layers or case.does(Feature.DEPTH) is not Behaviour.FROM_CONFIG:
        return
    if row.behaviour is not Behaviour.HONOURED:
        yield case.unknown("names the attention norm of the later layers")
        return
    canonical = {named.canonical for named in case.stored.tensors}
    wanted = [f"layers.{layer}.{row.values[0]}" for layer in layers]
    gone = [name for name in wanted if name not in canonical]
    if gone:
        text = f"reads {some(gone)}, which the file does not store under that name, and leaves the norm at ones"
        yield case.effect(Verdict.MISREADS, "engine-layer-norm-unread", text, row)


def _code(case: Case) -> str:
    return REJECTED if case.does(Feature.UNEXPECTED_TENSOR) is Behaviour.REJECTED else DROPPED


def _kind(attention: Attention) -> str:
    return "MLA" if attention is Attention.MLA else "GQA"
