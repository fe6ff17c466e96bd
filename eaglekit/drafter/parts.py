"""The parts an EAGLE-3 drafter is made of, each with its shape in symbols and the rule for its presence.

Symbols (see `eaglekit.drafter.sizes`): H hidden, G target hidden, A aux states, V target vocabulary,
D draft vocabulary, I intermediate, `attn_in` 2H in layer 0 and H later, and the attention projections' row counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Part(str, Enum):
    """What a tensor is for. A part of a layer or of a captured state exists once per index (see `Role`)."""

    EMBEDDING = "embedding"
    FUSION = "fusion"
    FUSION_BIAS = "fusion bias"
    FUSION_NORM = "norm of all captured states"
    STATE_NORM = "norm of one captured state"
    EMBEDDING_NORM = "norm of the token embedding"
    HIDDEN_NORM = "norm of the hidden state"
    ATTENTION_NORM = "norm before attention"
    QUERY = "query"
    KEY = "key"
    VALUE = "value"
    OUTPUT = "attention output"
    QUERY_BIAS = "query bias"
    KEY_BIAS = "key bias"
    VALUE_BIAS = "value bias"
    OUTPUT_BIAS = "attention output bias"
    QUERY_NORM = "query norm"
    KEY_NORM = "key norm"
    QUERY_DOWN = "query down"
    QUERY_DOWN_NORM = "query down norm"
    QUERY_UP = "query up"
    LATENT_QUERY = "query of latent attention"
    LATENT_DOWN = "key-value down"
    LATENT_NORM = "key-value down norm"
    LATENT_UP = "key-value up"
    LATENT_OUTPUT = "latent attention output"
    MLP_NORM = "norm before the MLP"
    GATE = "gate"
    UP = "up"
    DOWN = "down"
    GATE_BIAS = "gate bias"
    UP_BIAS = "up bias"
    DOWN_BIAS = "down bias"
    FINAL_NORM = "final norm"
    HEAD = "head"
    DRAFT_TO_TARGET = "draft-to-target map"
    TARGET_MASK = "target vocabulary mask"
    MASK_STATE = "mask state"


class Index(str, Enum):
    """What a part is counted by."""

    ONCE = "once"
    FIRST = "first layer"
    LATER = "later layers"
    LAYER = "every layer"
    STATE = "every captured state"


class Kind(str, Enum):
    """What kind of numbers a part holds."""

    FLOAT = "floating point"
    INTEGER = "I64"
    BOOLEAN = "BOOL"


@dataclass(frozen=True, slots=True)
class PartRow:
    """One part: how often it occurs, its shape in symbols, and when it must be there."""

    index: Index
    shape: tuple[str, ...]
    present: str = "always"
    """`always`, or the condition (see `Spec.holds`) under which the part must exist, and without which it must not."""
    kind: Kind = Kind.FLOAT


_O, _F, _N, _L, _S = Index.ONCE, Index.FIRST, Index.LATER, Index.LAYER, Index.STATE

PARTS: Mapping[Part, PartRow] = MappingProxyType({
    Part.EMBEDDING:       PartRow(_O, ("V", "H"), "own embedding"),
    Part.FUSION:          PartRow(_O, ("H", "A*G"), "fusion"),
    Part.FUSION_BIAS:     PartRow(_O, ("H",), "fusion bias"),
    Part.FUSION_NORM:     PartRow(_O, ("A*G",), "whole norm"),
    Part.STATE_NORM:      PartRow(_S, ("G",), "state norms"),
    Part.EMBEDDING_NORM:  PartRow(_F, ("H",)),
    Part.HIDDEN_NORM:     PartRow(_F, ("H",)),
    Part.ATTENTION_NORM:  PartRow(_N, ("H",)),
    Part.QUERY:           PartRow(_L, ("query", "attn_in"), "gqa"),
    Part.KEY:             PartRow(_L, ("key", "attn_in"), "gqa"),
    Part.VALUE:           PartRow(_L, ("key", "attn_in"), "gqa"),
    Part.OUTPUT:          PartRow(_L, ("H", "query"), "gqa"),
    Part.QUERY_BIAS:      PartRow(_L, ("query",), "attention bias"),
    Part.KEY_BIAS:        PartRow(_L, ("key",), "attention bias"),
    Part.VALUE_BIAS:      PartRow(_L, ("key",), "attention bias"),
    Part.OUTPUT_BIAS:     PartRow(_L, ("H",), "attention bias"),
    Part.QUERY_NORM:      PartRow(_L, ("head_dim",), "q/k norms"),
    Part.KEY_NORM:        PartRow(_L, ("head_dim",), "q/k norms"),
    Part.QUERY_DOWN:      PartRow(_L, ("q_rank", "attn_in"), "query rank"),
    Part.QUERY_DOWN_NORM: PartRow(_L, ("q_rank",), "query rank"),
    Part.QUERY_UP:        PartRow(_L, ("latent_query", "q_rank"), "query rank"),
    Part.LATENT_QUERY:    PartRow(_L, ("latent_query", "attn_in"), "mla without query rank"),
    Part.LATENT_DOWN:     PartRow(_L, ("kv_rank+rope_dim", "attn_in"), "mla"),
    Part.LATENT_NORM:     PartRow(_L, ("kv_rank",), "mla"),
    Part.LATENT_UP:       PartRow(_L, ("latent_key_value", "kv_rank"), "mla"),
    Part.LATENT_OUTPUT:   PartRow(_L, ("H", "latent_value"), "mla"),
    Part.MLP_NORM:        PartRow(_L, ("H",)),
    Part.GATE:            PartRow(_L, ("I", "H")),
    Part.UP:              PartRow(_L, ("I", "H")),
    Part.DOWN:            PartRow(_L, ("H", "I")),
    Part.GATE_BIAS:       PartRow(_L, ("I",), "mlp bias"),
    Part.UP_BIAS:         PartRow(_L, ("I",), "mlp bias"),
    Part.DOWN_BIAS:       PartRow(_L, ("H",), "mlp bias"),
    Part.FINAL_NORM:      PartRow(_O, ("H",)),
    Part.HEAD:            PartRow(_O, ("D", "H"), "own head"),
    Part.DRAFT_TO_TARGET: PartRow(_O, ("D",), "map", Kind.INTEGER),
    Part.TARGET_MASK:     PartRow(_O, ("V",), "mask", Kind.BOOLEAN),
    Part.MASK_STATE:      PartRow(_O, ("A*G",), "parallel drafting"),
})  # fmt: skip
"""Part -> its row. Shapes: EAGLE/model/cnets.py for GQA, vLLM's deepseek_eagle3.py for MLA."""


NORMS = frozenset({
    Part.FUSION_NORM, Part.STATE_NORM, Part.EMBEDDING_NORM, Part.HIDDEN_NORM, Part.ATTENTION_NORM, Part.QUERY_NORM,
    Part.KEY_NORM, Part.QUERY_DOWN_NORM, Part.LATENT_NORM, Part.MLP_NORM, Part.FINAL_NORM,
})  # fmt: skip
"""Parts that scale a state channel by channel."""


@dataclass(frozen=True, slots=True, order=True)
class Role:
    """One tensor's place in a drafter: a part, and the layer or captured state it belongs to."""

    part: Part
    number: int | None = None
    """0-based layer or captured state; None for a part that occurs once."""

    def __str__(self) -> str:
        if self.number is None:
            return self.part.value
        return f"{self.part.value} {self.number}"
