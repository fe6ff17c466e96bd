"""How the target was stored and computed, in words: a report has the short names of formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eaglekit.hub.card.words import words

FORMATS: Mapping[str, str] = {
    "nvfp4-modelopt": "NVFP4 as ModelOpt stores it",
    "nvfp4-compressed-tensors": "NVFP4 as compressed-tensors stores it",
    "mxfp4-compressed-tensors": "MXFP4 as compressed-tensors stores it",
    "mxfp4-modelopt": "MXFP4 as ModelOpt stores it",
    "mxfp4-gpt-oss": "MXFP4 as gpt-oss stores it",
    "fp8": "FP8 with one factor for each tensor, channel or block",
    "fp8-inverse-scale": "FP8 as DeepSeek stores it",
    "mxfp8": "MXFP8",
}
"""Name of a format of quantised weights -> its name in a sentence; a test holds them against the formats read."""
PLAIN = "plain"
ACTIVATIONS: Mapping[str, str] = {
    "w4a16": "activations not quantised (w4a16)",
    "w4a4": "activations quantised to four bits as well (w4a4)",
}


def weights_in_words(formats: Any) -> str:
    """`nvfp4-modelopt x 56, plain x 16` as a reader understands it; empty when nothing is known."""
    if not formats:
        return ""
    counted = [re.fullmatch(r"([a-z0-9-]+) x ([0-9]+)", part) for part in str(formats).split(", ")]
    pairs = [(found[1], int(found[2])) for found in counted if found is not None]
    if len(pairs) < len(counted):
        return f"weights {words(formats)}"
    plain = sum(count for name, count in pairs if name == PLAIN)
    told = [f"{FORMATS.get(name, words(name))} ({_tensors(count)} quantised" for name, count in pairs if name != PLAIN]
    if not told:
        return f"no weight quantised ({_tensors(plain)})"
    return f"{'), '.join(told)}{f', {plain:,} plain' if plain else ''})"


def activations_in_words(activations: Any, formats: Any = None) -> str:
    """What was done to the activations; empty when nothing is known, or when no weight of `formats` is quantised."""
    if re.fullmatch(rf"{PLAIN} x [0-9]+", str(formats)) and activations == "w4a16":
        return ""
    return ACTIVATIONS.get(str(activations), f"activations {words(activations)}") if activations else ""


def _tensors(count: int) -> str:
    return f"{count:,} tensor{'s' * (count != 1)}"
