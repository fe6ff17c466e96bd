"""Names of a target's tensors: one spelling for every prefix in use, and what is left behind, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PREFIXES = ("language_model.model.", "model.language_model.", "language_model.", "model.")
"""What stands before `layers.N.` in text models and in the text part of others; longest first."""

RENAMED: Mapping[str, tuple[tuple[str, str], ...]] = {
    # transformers writes the text blocks of Kimi K2.5 under the name of its vision blocks (save_pretrained, 5.24).
    "kimi_k2": ((r"^blocks\.", "layers."),),
    "kimi_k25": ((r"^blocks\.", "layers."),),
    "mixtral": (
        (r"\.block_sparse_moe\.", ".mlp."),
        (r"(\.experts\.\d+)\.w1\.", r"\1.gate_proj."),
        (r"(\.experts\.\d+)\.w3\.", r"\1.up_proj."),
        (r"(\.experts\.\d+)\.w2\.", r"\1.down_proj."),
    ),
}
"""Model type of the text model -> patterns whose names on disk differ from the names of the modules."""

LAYER = re.compile(r"layers\.(\d{1,6})\.(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """Tensors that a text pass does not need."""

    pattern: re.Pattern[str]
    """Matches the whole name, before prefixes are cut."""
    why: str


def _row(pattern: str, why: str) -> LeftBehind:
    return LeftBehind(re.compile(pattern), why)


LEFT_BEHIND = (
    _row(r"(.+\.)?rotary_emb\.inv_freq", "recomputed from the config"),
    _row(r"(model\.)?(vision_tower|vision_model|visual|vision_embed_tokens)\..+", "vision: texts have no images"),
    _row(r"(model\.)?(audio_tower|audio_model)\..+", "audio: texts have no sound"),
    _row(r"(model\.)?(mm_projector|multi_modal_projector|embed_vision|embed_audio)\..+", "projects images or sound"),
    _row(r"(model\.)?mtp\..+", "a layer that predicts further tokens; no part of the model itself"),
)
"""The rows are tried in order; blocks beyond the config's `num_hidden_layers` are left behind by their number."""

FURTHER_BLOCKS = "a block beyond num_hidden_layers: predicts further tokens, no part of the model itself"


@dataclass(frozen=True)
class Sorted:
    """Every name of a checkpoint, once."""

    blocks: Mapping[int, Mapping[str, str]]
    """Block number -> name inside the block -> name on disk."""
    outside: Mapping[str, str]
    """Name without its prefix -> name on disk: embedding, final norm, head, and whatever else there is."""
    left: Mapping[str, str]
    """Name on disk -> why it is left behind."""
    twice: tuple[tuple[str, str], ...]
    """Pairs of names on disk that mean one tensor."""


def sort_names(names: Iterable[str], model_type: str, num_layers: int) -> Sorted:
    """What each tensor name means for a text model of `num_layers` blocks."""
    renamed = tuple((re.compile(pattern), to) for pattern, to in RENAMED.get(model_type, ()))
    blocks: dict[int, dict[str, str]] = {}
    outside: dict[str, str] = {}
    left: dict[str, str] = {}
    twice = []
    for name in names:
        why = next((row.why for row in LEFT_BEHIND if row.pattern.fullmatch(name)), None)
        if why is not None:
            left[name] = why
            continue
        plain = _without_prefix(name)
        for pattern, to in renamed:
            plain = pattern.sub(to, plain)
        layer = LAYER.fullmatch(plain)
        place, key = (blocks.setdefault(int(layer[1]), {}), layer[2]) if layer else (outside, plain)
        if place.setdefault(key, name) != name:
            twice.append((place[key], name))
    for number in [number for number in blocks if number >= num_layers]:
        left |= dict.fromkeys(blocks.pop(number).values(), FURTHER_BLOCKS)
    return Sorted(blocks, outside, left, tuple(twice))


def _without_prefix(name: str) -> str:
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name
