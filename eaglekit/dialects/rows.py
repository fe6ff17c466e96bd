"""Tensor names as rows: one template per part, the same row for reading and writing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from eaglekit.drafter.parts import PARTS, Index, Part, Role


@dataclass(frozen=True, slots=True)
class Row:
    """One part under one name."""

    part: Part
    template: str
    """Full tensor name; `{n}` stands for the layer or the captured state."""
    layers: str = "any"
    """`first` for names that only layer 0 has, `later` for names of the others, `any` for both."""
    write: bool = True
    """False for a spelling that is understood but never written."""
    number: int | None = None
    """The one state that a template without `{n}` stands for."""
    heads: tuple[str, ...] = ()
    """Where each head's rows lie in pairs that rotate together (0, d/2, 1, ...): config keys that count the heads."""

    def read_only(self) -> Row:
        """This row, understood but never written."""
        return replace(self, write=False)

    def name(self, number: int | None) -> str:
        """The tensor name for one layer or state."""
        return self.template.format(n=number)

    def covers(self, number: int | None) -> bool:
        """Whether this row names the part in layer `number`."""
        return number is None or {"first": number == 0, "later": number > 0, "any": True}[self.layers]

    def match(self, name: str) -> Role | None:
        """The role `name` has under this row, or None."""
        pattern = re.escape(self.template).replace(r"\{n\}", r"(?P<n>0|[1-9][0-9]{0,4})")
        found = re.fullmatch(pattern, name)
        if found is None:
            return None
        once = PARTS[self.part].index is Index.ONCE
        if "{n}" in self.template:
            number: int | None = int(found.group("n"))
        else:
            number = None if once else (self.number or 0)
        return Role(self.part, number) if self.covers(number) else None


@dataclass(frozen=True, slots=True)
class DroppedTensor:
    """A stored tensor that is no part of the drafter, and why."""

    pattern: str
    """A tensor name; `*` stands for any run of characters."""
    why: str

    def match(self, name: str) -> bool:
        """Whether `name` is meant."""
        return re.fullmatch(".*".join(map(re.escape, self.pattern.split("*"))), name) is not None


_ATTENTION: tuple[tuple[Part, str], ...] = (
    (Part.QUERY,           "self_attn.q_proj.weight"),
    (Part.KEY,             "self_attn.k_proj.weight"),
    (Part.VALUE,           "self_attn.v_proj.weight"),
    (Part.OUTPUT,          "self_attn.o_proj.weight"),
    (Part.QUERY_BIAS,      "self_attn.q_proj.bias"),
    (Part.KEY_BIAS,        "self_attn.k_proj.bias"),
    (Part.VALUE_BIAS,      "self_attn.v_proj.bias"),
    (Part.OUTPUT_BIAS,     "self_attn.o_proj.bias"),
)  # fmt: skip

_QK_NORMS: tuple[tuple[Part, str], ...] = (
    (Part.QUERY_NORM,      "self_attn.q_norm.weight"),
    (Part.KEY_NORM,        "self_attn.k_norm.weight"),
)  # fmt: skip

_LATENT: tuple[tuple[Part, str], ...] = (
    (Part.QUERY_DOWN,      "self_attn.q_a_proj.weight"),
    (Part.QUERY_DOWN_NORM, "self_attn.q_a_layernorm.weight"),
    (Part.QUERY_UP,        "self_attn.q_b_proj.weight"),
    (Part.LATENT_DOWN,     "self_attn.kv_a_proj_with_mqa.weight"),
    (Part.LATENT_NORM,     "self_attn.kv_a_layernorm.weight"),
    (Part.LATENT_UP,       "self_attn.kv_b_proj.weight"),
)  # fmt: skip

_MLP: tuple[tuple[Part, str], ...] = (
    (Part.MLP_NORM,        "post_attention_layernorm.weight"),
    (Part.GATE,            "mlp.gate_proj.weight"),
    (Part.UP,              "mlp.up_proj.weight"),
    (Part.DOWN,            "mlp.down_proj.weight"),
)  # fmt: skip

_MLP_BIAS: tuple[tuple[Part, str], ...] = (
    (Part.GATE_BIAS,       "mlp.gate_proj.bias"),
    (Part.UP_BIAS,         "mlp.up_proj.bias"),
    (Part.DOWN_BIAS,       "mlp.down_proj.bias"),
)  # fmt: skip

_LAYER_0: tuple[tuple[Part, str], ...] = (
    (Part.EMBEDDING_NORM,  "input_layernorm.weight"),
    (Part.HIDDEN_NORM,     "hidden_norm.weight"),
)  # fmt: skip

_TOP: tuple[tuple[Part, str], ...] = (
    (Part.EMBEDDING,       "embed_tokens.weight"),
    (Part.FUSION,          "fc.weight"),
    (Part.FUSION_BIAS,     "fc.bias"),
    (Part.FUSION_NORM,     "input_norm.weight"),
    (Part.STATE_NORM,      "fc_norm.{n}.weight"),
    (Part.FINAL_NORM,      "norm.weight"),
)  # fmt: skip

_OUTSIDE: tuple[tuple[Part, str], ...] = (
    (Part.HEAD,            "lm_head.weight"),
    (Part.DRAFT_TO_TARGET, "d2t"),
    (Part.TARGET_MASK,     "t2d"),
    (Part.MASK_STATE,      "mask_hidden"),
)  # fmt: skip

OLD_STATE_NORMS: tuple[str, str, str] = ("aux_norm_low.weight", "aux_norm_mid.weight", "aux_norm_high.weight")
"""How SpecDrift's fork of SpecForge names the three state norms (read by SGLang's llama_eagle3.py)."""


def block(prefix: str, *, layers: str, parts: Sequence[tuple[Part, str]]) -> Iterator[Row]:
    """Rows of one decoder layer under `prefix`."""
    for part, suffix in parts:
        yield Row(part, prefix + suffix, layers)


def table(
    *,
    first: str,
    later: str | None,
    later_norms: tuple[str, ...] = ("input_layernorm.weight",),
    outer: str = "",
    qk_norms: bool = False,
    latent: bool = True,
) -> tuple[Row, ...]:
    """The rows of a dialect: the layer prefixes and the names of the later layers' attention norm are what differs."""
    qk = _QK_NORMS if qk_norms else ()
    # A rank-less MLA query and MLA's output use the plain names; the spec tells which part a name is (see `bind`).
    attention = (*_ATTENTION, *qk, *(_LATENT if latent else ()), *_MLP, *_MLP_BIAS)
    rows = [Row(part, outer + name) for part, name in _TOP]
    rows += [Row(part, name) for part, name in _OUTSIDE]
    rows += block(outer + first, layers="first", parts=(*_LAYER_0, *attention))
    if later is not None:
        rows += block(outer + later, layers="later", parts=attention)
        rows += [Row(Part.ATTENTION_NORM, outer + later + name, "later") for name in later_norms]
    return tuple(rows)


LATENT_TWINS: Mapping[Part, Part] = {Part.QUERY: Part.LATENT_QUERY, Part.OUTPUT: Part.LATENT_OUTPUT}
"""Parts that MLA spells with GQA's names: the attention kind, not the name, tells them apart."""
