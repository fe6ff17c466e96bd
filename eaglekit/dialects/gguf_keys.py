"""Codecs of GGUF metadata that no config.json has: kinds of rope scaling, list lengths, the type of the file."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import isclose
from types import MappingProxyType
from typing import Any

from eaglekit.dialects.keys import OMIT, Codec, WrongValue, integer
from eaglekit.dialects.rope_keys import ROPE_SCALING
from eaglekit.drafter import Spec

FILE_TYPES: Mapping[str, int] = MappingProxyType({"F32": 0, "F16": 1, "BF16": 32})
"""dtype of the projections -> what llama.cpp calls such a file (llama.h llama_ftype)."""
PLAIN = ("none", "linear")
"""Kinds of rope scaling that mean the same here as in a config."""


def _scaling_reads(value: Any) -> Mapping[str, Any]:
    """llama.cpp takes linear scaling when no kind is named, and a factor of zero or none for no scaling."""
    if not isinstance(value, Mapping):
        raise WrongValue("rope scaling by kind and factor")
    kind, factor = value.get("type", "linear"), value.get("factor", 0)
    if kind not in PLAIN or value.keys() - {"type", "factor", "original_context_length", "finetuned"}:
        raise WrongValue("none or linear, with a factor")
    if kind == "none" or not factor:
        return {"rope_scaling": ("default", ())}
    return ROPE_SCALING.reads({"rope_type": "linear", "factor": factor})


def _scaling_writes(spec: Spec) -> Any:
    if spec.rope.kind != "linear":
        return {"type": "none"}
    return {"type": "linear", "factor": float(spec.rope.parameters["factor"])}


ROPE = Codec(
    _scaling_reads,
    _scaling_writes,
    {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": list(PLAIN)}, "factor": {"type": "number", "exclusiveMinimum": 0}},
        "additionalProperties": False,
    },
)
"""Both directions of `rope.scaling` (llama-model.cpp load_hparams)."""


def _tokens_read(value: Any) -> Mapping[str, Any]:
    """The list itself is not kept when it is long: only how many tokens it names."""
    length = value.get("length") if isinstance(value, Mapping) else len(value) if isinstance(value, list) else None
    return integer("vocab_size").reads(length)


TOKENS = Codec(_tokens_read, lambda spec: None)
"""The target's vocabulary, from the list of its tokens."""

TOKENIZER = Codec(lambda value: {}, lambda spec: "none", {"const": "none"})
"""No tokenizer: the program scatters the drafter's logits over `vocab_size` ids and speaks the target's language."""

FILE_TYPE = Codec(
    lambda value: {},
    lambda spec: FILE_TYPES.get(spec.dtype, OMIT),
    {"type": "integer", "enum": sorted(FILE_TYPES.values())},
)
"""Only told: the tensors decide."""


def unfit(value: Any) -> str:
    """Why metadata cannot hold a value, as text for a finding; empty for one that fits."""
    if isinstance(value, Mapping):
        return next(filter(None, map(unfit, value.values())), "")
    if isinstance(value, list):
        most = 1 << 31
        outside = any(isinstance(one, int) and not -most <= one < most for one in value)
        return (
            "lists hold whole numbers of 32 bits, with a sign" if outside else next(filter(None, map(unfit, value)), "")
        )
    if isinstance(value, str):
        return "" if not any(0xD800 <= ord(char) < 0xE000 for char in value) else "half a character is no text"
    if isinstance(value, int):
        return "" if -(1 << 31) <= value < 1 << 32 else "whole numbers have 32 bits"
    return "" if _in_single_precision(value) else "no number in single precision is near it"


def _in_single_precision(value: float) -> bool:
    try:
        (kept,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return False
    return isclose(kept, value, rel_tol=1e-6)
