"""Which values an argument can have. The command line refuses others while it reads options; plain calls do it here."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, TypeAlias, get_args

from eaglekit.api.misuse import Misuse

AuxConvention: TypeAlias = Literal["boundary", "output-of"]
WeightDtype: TypeAlias = Literal["bfloat16", "float16", "float32"]
WrittenEmbedding: TypeAlias = Literal["auto", "keep", "drop", "copy"]
WrittenHead: TypeAlias = Literal["auto", "copy", "embedding"]
JudgedEmbedding: TypeAlias = Literal["auto", "keep"]
ComputeDtype: TypeAlias = Literal["float32", "bfloat16"]
Activations: TypeAlias = Literal["w4a16", "w4a4"]
Engine: TypeAlias = Literal["vllm"]
Server: TypeAlias = Literal["vllm", "sglang", "trtllm", "tokenspeed", "llama.cpp"]
"""Servers that there are recipes for."""

CHOICES: Mapping[str, Mapping[str, Any]] = {
    "inspect": {"aux_convention": AuxConvention},
    "convert": {
        "aux_convention": AuxConvention,
        "dtype": WeightDtype,
        "embedding": WrittenEmbedding,
        "head": WrittenHead,
    },
    "diff": {"aux_convention": AuxConvention},
    "recipe": {"aux_convention": AuxConvention, "engines": Server},
    "validate": {
        "aux_convention": AuxConvention,
        "dtype": ComputeDtype,
        "embedding": JudgedEmbedding,
        "activations": Activations,
        "engine": Engine,
    },
    "verify": {"dtype": ComputeDtype},
}
"""Command -> argument -> its words."""
RANGES: Mapping[str, Mapping[str, tuple[float, float | None]]] = {
    "validate": {
        "generate": (1, None),
        "limit": (1, None),
        "draft_tokens": (1, 64),
        "depth": (1, 64),
        "temperature": (0.01, 100),
        "min_acceptance_length": (1, 65),
        "tensor_parallel_size": (1, None),
        "pipeline_parallel_size": (1, None),
    },
    "recipe": {"draft_tokens": (1, 64)},
}
"""Command -> argument -> least and greatest value."""
SEVERAL = frozenset({"engines"})
"""Arguments that hold any number of words."""
AUTO = "auto"
REAL = frozenset({"temperature", "min_acceptance_length"})
"""Arguments that need not be whole."""


def refuse_values(command: str, values: Mapping[str, Any]) -> None:
    """Raise `Misuse` for a value that an argument of `command` cannot have; None stands for nothing said."""
    for name, words in CHOICES.get(command, {}).items():
        value, known = values[name], get_args(words)
        for one in value if name in SEVERAL else (value,):
            # What has a word for nothing said needs none.
            if one not in known and (one is not None or AUTO in known):
                raise Misuse(f"--{_option(name)} cannot be {one!r}: it is one of {', '.join(known)}.")
    for name, (least, greatest) in RANGES.get(command, {}).items():
        value = values[name]
        if value is not None and not _within(value, least, greatest, whole=name not in REAL):
            kind = "a number" if name in REAL else "a whole number"
            end = f" to {greatest:g}" if greatest is not None else ""
            raise Misuse(f"--{_option(name)} cannot be {value!r}: it is {kind} from {least:g}{end}.")


def _within(value: Any, least: float, greatest: float | None, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        return False
    return isfinite(value) and least <= value and (greatest is None or value <= greatest)


def _option(name: str) -> str:
    return name.replace("_", "-")
