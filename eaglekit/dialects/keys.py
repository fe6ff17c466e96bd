"""Config keys as rows: a path, and a codec that turns its JSON into facts and a spec back into JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from eaglekit.drafter import Feedback, Fusion, FusionNorm, Residual, Rotation, Spec


class _Omit(Enum):
    OMIT = "the key is left out"


COPIED_DEPTH = "target_layers.copied"
"""The fact that a layer count was copied from the target's config, and so is its depth."""

OMIT = _Omit.OMIT
"""What a codec writes when the key has no place in this file."""


class WrongValue(ValueError):  # noqa: N818 - reads as what it says
    """A config value of the wrong type or range; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class Codec:
    """Both directions of one config key."""

    reads: Callable[[Any], Mapping[str, Any]]
    """JSON value -> facts by name. Raises `WrongValue`. An empty mapping means the value says nothing."""
    writes: Callable[[Spec], Any]
    """Spec -> JSON value, or `OMIT`."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of what is written; empty allows anything."""


@dataclass(frozen=True, slots=True)
class Key:
    """A config key that carries meaning."""

    path: str
    """Dotted path from the top of config.json."""
    codec: Codec
    write: bool = True
    """False for spellings that are understood but never written."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A config key that may only have values which change nothing; any other value is refused."""

    path: str
    allowed: tuple[Any, ...]
    why: str
    write: bool = False
    """True when the dialect wants the key present, with the first allowed value."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A config key that says nothing about the drafter's function, and why."""

    path: str
    """A dotted path; a final `.*` covers everything below it."""
    why: str


LARGEST = 2**31 - 1
"""Nothing a drafter's config counts is larger; engines hold sizes and ids in 32 bits."""

_JSON_TYPES: Mapping[tuple[type, ...], str] = {
    (int,): "integer",
    (int, float): "number",
    (str,): "string",
    (bool,): "boolean",
}


def plain(name: str, *kinds: type, minimum: int = 0) -> Codec:
    """A codec for a fact stored under the same meaning: checks type and range, treats null as unsaid."""

    def reads(value: Any) -> Mapping[str, Any]:
        if value is None:
            return {}
        if isinstance(value, bool) != (bool in kinds) or not isinstance(value, kinds):
            raise WrongValue(" or ".join(kind.__name__ for kind in kinds))
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not minimum <= value <= LARGEST:
            raise WrongValue(f"a number of at least {minimum}, at most {LARGEST}")
        if value == "":
            raise WrongValue("a word")
        # A whole number in JSON is the same fact as the float it stands for.
        return {name: value * 1.0 if float in kinds and isinstance(value, int) else value}

    def writes(spec: Spec) -> Any:
        value = getattr(spec, name, None)
        return OMIT if value is None else value

    return Codec(reads, writes, {"type": _JSON_TYPES[kinds]})


def integer(name: str, *, minimum: int = 1) -> Codec:
    """An integer; sizes are at least 1, token ids at least 0."""
    return plain(name, int, minimum=minimum)


def nullable(codec: Codec, name: str) -> Codec:
    """`codec`, written as null where the fact is none: readers that default an absent key must not."""
    schema = {"anyOf": [dict(codec.schema), {"type": "null"}]}
    return replace(codec, writes=lambda spec: getattr(spec, name), schema=schema)


def number(name: str) -> Codec:
    """A non-negative number."""
    return plain(name, int, float)


def text(name: str) -> Codec:
    """A string."""
    return plain(name, str)


def boolean(name: str) -> Codec:
    """A boolean that is a fact of its own."""
    return plain(name, bool)


BOOLEAN: Mapping[str, Any] = {"type": "boolean"}


def switch(name: str, on: Enum, off: Enum) -> Codec:
    """A boolean that stands for one of two members of an enum."""

    def reads(value: Any) -> Mapping[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, bool):
            raise WrongValue("true or false")
        return {name: on if value else off}

    return Codec(reads, lambda spec: getattr(spec, name) is on, BOOLEAN)


def _flag(name: str, matching: FusionNorm) -> Codec:
    def reads(value: Any) -> Mapping[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, bool):
            raise WrongValue("true or false")
        return {name: value}

    return Codec(reads, lambda spec: spec.fusion_norm is matching, BOOLEAN)


FC_NORM = _flag("fc_norm", FusionNorm.PER_STATE)
NORM_BEFORE_FC = _flag("norm_before_fc", FusionNorm.WHOLE)
NORM_OUTPUT = switch("feedback", Feedback.NORMED, Feedback.RAW)
NORM_BEFORE_RESIDUAL = switch("residual", Residual.NORMED, Residual.RAW)
USE_AUX = switch("fusion", Fusion.AUX_STATES, Fusion.FINAL_STATE)


def rotation(when_true: Rotation, when_false: Rotation) -> Codec:
    """A boolean that states the rotary layout. Never written: the layout follows the attention."""
    named = {True: when_true, False: when_false}

    def reads(value: Any) -> Mapping[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, bool):
            raise WrongValue("true or false")
        return {"rotation": named[value]}

    return Codec(reads, lambda spec: OMIT, BOOLEAN)


INTERLEAVED = rotation(Rotation.INTERLEAVED, Rotation.HALVES)
NEOX = rotation(Rotation.HALVES, Rotation.INTERLEAVED)


def _rotation_reads(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, str) or value not in {kind.value for kind in Rotation}:
        raise WrongValue(" or ".join(kind.value for kind in Rotation))
    return {"rotation": Rotation(value)}


ROTATION = Codec(_rotation_reads, lambda spec: spec.rotation.value, {"enum": [kind.value for kind in Rotation]})
"""The rotary layout by its name, as our own block states it."""


def _tie_reads(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, bool):
        raise WrongValue("true or false")
    return {"tie_word_embeddings": value}


TIE = Codec(_tie_reads, lambda spec: False, {"const": False})
"""Always written false: a drafter's head is its own, or the target's, never its own embedding."""


def _layer_types_reads(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, list) or not all(isinstance(kind, str) for kind in value):
        raise WrongValue("a list of kinds of layers")
    return {"layer_types": tuple(value)}


LAYER_TYPES = Codec(_layer_types_reads, lambda spec: OMIT)
"""Kinds of blocks. A list as long as the target is the target's; one as long as the drafter is about the drafter."""


def _id_list(value: Any, name: str) -> Mapping[str, Any]:
    if value is None or value == []:
        return {}
    if not isinstance(value, list) or not all(isinstance(k, int) and not isinstance(k, bool) for k in value):
        raise WrongValue("a list of integers")
    if any(abs(k) > LARGEST for k in value):
        raise WrongValue("layer ids of at most 32 bits")
    return {name: tuple(value)}


def id_list(name: str, encode: Callable[[Spec], Sequence[int]]) -> Codec:
    """A list of captured layers. Read as it is (conventions are resolved from all evidence); written by `encode`."""

    def writes(spec: Spec) -> Any:
        return list(encode(spec)) if spec.fusion is Fusion.AUX_STATES else OMIT

    schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": True}
    return Codec(lambda value: _id_list(value, name), writes, schema)


def token_id(key: str) -> Codec:
    """bos, eos or pad: an integer, or a list of them; carried as they are."""

    def reads(value: Any) -> Mapping[str, Any]:
        if value is None:
            return {}
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            raise WrongValue("a token id or a list of them")
        return {f"token_ids.{key}": tuple(value) if isinstance(value, list) else value}

    def writes(spec: Spec) -> Any:
        value = spec.token_ids.get(key, OMIT)
        return list(value) if isinstance(value, tuple) else value

    one = {"type": "integer"}
    return Codec(reads, writes, {"anyOf": [one, {"type": "array", "items": one}]})


_DTYPE_NAMES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}
_DTYPES = {name: dtype for dtype, name in _DTYPE_NAMES.items()}


def _dtype_reads(value: Any) -> Mapping[str, Any]:
    if value is None or value == "auto":
        return {}
    if not isinstance(value, str) or value.removeprefix("torch.") not in _DTYPES:
        raise WrongValue("one of " + ", ".join(_DTYPES))
    return {"dtype": _DTYPES[value.removeprefix("torch.")]}


DTYPE = Codec(_dtype_reads, lambda spec: _DTYPE_NAMES[spec.dtype], {"enum": list(_DTYPES)})


def only_if(condition: Callable[[Spec], bool], codec: Codec) -> Codec:
    """`codec`, written only into drafters for which `condition` holds."""
    return replace(codec, writes=lambda spec: codec.writes(spec) if condition(spec) else OMIT)
