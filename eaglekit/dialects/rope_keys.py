"""Codecs of the rope keys: flat (rope_theta, rope_scaling) and as one object (rope_parameters)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglekit.dialects.keys import Codec, WrongValue, number
from eaglekit.drafter import Rope, Spec

ROPE_PARAMETERS: Mapping[str, frozenset[str]] = {
    "default": frozenset(),
    "linear": frozenset({"factor"}),
    "dynamic": frozenset({"factor", "original_max_position_embeddings"}),
    "yarn": frozenset({
        "factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
        "attention_factor", "truncate",
    }),
    "llama3": frozenset({"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"}),
    "longrope": frozenset({
        "factor", "original_max_position_embeddings", "short_factor", "long_factor", "attention_factor",
        "short_mscale", "long_mscale",
    }),
}  # fmt: skip
"""Scaling kind -> the numbers it may have (transformers modeling_rope_utils.py)."""

_MROPE = {"mrope_section", "mrope_interleaved"}


LISTS = frozenset({"short_factor", "long_factor"})
NEEDED: Mapping[str, frozenset[str]] = {
    "linear": frozenset({"factor"}),
    "dynamic": frozenset({"factor"}),
    "yarn": frozenset({"factor"}),
    "llama3": frozenset({"factor", "low_freq_factor", "high_freq_factor"}),
    "longrope": LISTS,
}
"""Scaling kind -> the numbers it cannot do without."""


def _possible(key: str, entry: Any) -> bool:
    """Whether a scaling number can be: positive, a list only where lists belong, a switch only for `truncate`."""
    if key == "truncate":
        return isinstance(entry, bool)
    entries = entry if key in LISTS and isinstance(entry, list) else [entry]
    plain = all(isinstance(e, (int, float)) and not isinstance(e, bool) and e >= 0 for e in entries)
    # mscale of 0 switches a correction off; every other number divides or multiplies something.
    return bool(entries) and plain and (key.startswith("mscale") or all(e > 0 for e in entries))


def _rope_scaling(value: Mapping[str, Any]) -> dict[str, Any]:
    """Scaling facts of an object with `type` or `rope_type`."""
    kinds = [value[key] for key in ("rope_type", "type") if value.get(key) is not None]
    if not all(isinstance(kind, str) for kind in kinds):
        raise WrongValue("a rope type that is a word")
    named = set(kinds)
    if len(named) > 1:
        raise WrongValue("`type` and `rope_type` that agree")
    kind = named.pop() if named else "default"
    numbers = {k: v for k, v in value.items() if k not in ("type", "rope_type", "rope_theta")}
    facts: dict[str, Any] = {}
    if _MROPE & numbers.keys() or kind == "mrope":
        facts["mrope"] = True
        numbers = {k: v for k, v in numbers.items() if k not in _MROPE}
        kind = "default" if kind == "mrope" else kind
    if kind not in ROPE_PARAMETERS:
        raise WrongValue("a rope type of " + ", ".join(sorted(ROPE_PARAMETERS)))
    unknown = sorted(numbers.keys() - ROPE_PARAMETERS[kind])
    if unknown:
        raise WrongValue(f"{kind} rope without {', '.join(unknown)}")
    for key, entry in numbers.items():
        if not _possible(key, entry):
            raise WrongValue(f"a positive {'list of numbers' if key in LISTS else 'number'} for {key}")
    absent = sorted(NEEDED.get(kind, frozenset()) - numbers.keys())
    if absent:
        raise WrongValue(f"{', '.join(absent)} for {kind} rope")
    return facts | {"rope_scaling": (kind, tuple(sorted((k, _frozen(v)) for k, v in numbers.items())))}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _thawed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def rope_of(theta: float, scaling: tuple[str, tuple[tuple[str, Any], ...]]) -> Rope:
    """The rope that separate facts describe."""
    kind, parameters = scaling
    return Rope(theta, kind, dict(parameters))


def stated(rope: Rope) -> Rope:
    """The same rotation with every number of yarn stated, as a reader wants it that has no defaults."""
    if rope.kind != "yarn":
        return rope
    numbers = {"beta_fast": 32.0, "beta_slow": 1.0, **rope.parameters}
    if not (numbers.get("mscale") and numbers.get("mscale_all_dim")):
        # Either alone says nothing (transformers modeling_rope_utils.py); these come to the paper's attention factor.
        numbers |= {"mscale": 1.0, "mscale_all_dim": 0.0}
    return Rope(rope.theta, rope.kind, dict(sorted(numbers.items())))


def _rope_scaling_reads(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {"rope_scaling": ("default", ())}
    if not isinstance(value, Mapping):
        raise WrongValue("an object or null")
    return _rope_scaling(value)


def _rope_scaling_writes(spec: Spec) -> Any:
    if spec.rope.kind == "default":
        return None
    numbers = {key: _thawed(value) for key, value in spec.rope.parameters.items()}
    return {"rope_type": spec.rope.kind, "type": spec.rope.kind, **numbers}


def _rope_parameters_reads(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise WrongValue("an object or null")
    facts = _rope_scaling(value)
    theta = value.get("rope_theta")
    if theta is not None:
        if isinstance(theta, bool) or not isinstance(theta, (int, float)) or theta <= 0:
            raise WrongValue("a positive rope_theta")
        facts["rope_theta"] = float(theta)
    return facts


def _rope_parameters_writes(spec: Spec) -> Any:
    numbers = {key: _thawed(value) for key, value in spec.rope.parameters.items()}
    return {"rope_theta": spec.rope.theta, "rope_type": spec.rope.kind, **numbers}


_THETA = {"type": "number", "exclusiveMinimum": 0}


def _rope_theta_reads(value: Any) -> Mapping[str, Any]:
    stated = number("rope_theta").reads(value)
    if stated and stated["rope_theta"] <= 0:
        raise WrongValue("a positive number")
    return stated


ROPE_THETA = Codec(_rope_theta_reads, lambda spec: spec.rope.theta, _THETA)
ROPE_SCALING = Codec(
    _rope_scaling_reads, _rope_scaling_writes, {"type": ["object", "null"], "required": ["rope_type", "type"]}
)
ROPE_PARAMETERS_OBJECT = Codec(
    _rope_parameters_reads,
    _rope_parameters_writes,
    {"type": "object", "required": ["rope_theta", "rope_type"], "properties": {"rope_theta": _THETA}},
)
