"""Shapes in symbols and what the symbols stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from eaglekit.drafter.parts import PARTS, Index, Part, Role
from eaglekit.drafter.spec import Attention, Spec


def symbols(spec: Spec, layer: int | None = None) -> Mapping[str, int]:
    """What each shape symbol stands for in layer `layer` of this drafter."""
    table = {
        "H": spec.hidden_size,
        "G": spec.target_hidden_size,
        "A": spec.num_aux_states,
        "V": spec.vocab_size,
        "D": spec.draft_vocab_size,
        "I": spec.intermediate_size,
        "head_dim": spec.head_dim,
        "query": spec.num_heads * spec.head_dim,
        "key": spec.num_kv_heads * spec.head_dim,
        "attn_in": spec.hidden_size if layer else 2 * spec.hidden_size,
    }
    if spec.attention is Attention.MLA:
        nope, rope = spec.qk_nope_head_dim or 0, spec.qk_rope_head_dim or 0
        value = spec.v_head_dim or 0
        table |= {
            "q_rank": spec.q_lora_rank or 0,
            "kv_rank": spec.kv_lora_rank or 0,
            "rope_dim": rope,
            "latent_query": spec.num_heads * (nope + rope),
            "latent_key_value": spec.num_heads * (nope + value),
            "latent_value": spec.num_heads * value,
        }
    return table


def evaluate(expression: str, table: Mapping[str, int]) -> int:
    """The number an expression of symbols, `*` and `+` stands for."""
    return sum(prod(table[symbol] for symbol in term.split("*")) for term in expression.split("+"))


def expected_shape(role: Role, spec: Spec) -> tuple[int, ...]:
    """The shape that `role` must have in a drafter of this spec."""
    row = PARTS[role.part]
    layer = role.number if row.index in (Index.LAYER, Index.FIRST, Index.LATER) else None
    table = symbols(spec, layer)
    return tuple(evaluate(axis, table) for axis in row.shape)


def roles_of(spec: Spec) -> Iterator[Role]:
    """Every role a drafter of this spec must have, in the order of the parts."""
    for part, row in PARTS.items():
        if spec.holds(row.present):
            for number in numbers(row.index, spec):
                yield Role(part, number)


def numbers(index: Index, spec: Spec) -> Iterable[int | None]:
    """The numbers that a part counted by `index` takes in this drafter."""
    return {
        Index.ONCE: (None,),
        Index.FIRST: (0,),
        Index.LATER: range(1, spec.num_layers),
        Index.LAYER: range(spec.num_layers),
        Index.STATE: range(spec.num_aux_states),
    }[index]


def shape_in_symbols(part: Part) -> str:
    """The shape of a part as people read it, for example `[H, A*G]`."""
    return "[" + ", ".join(PARTS[part].shape) + "]"
