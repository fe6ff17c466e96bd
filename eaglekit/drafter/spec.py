"""`Drafter`: what a checkpoint means. Every switch is an enum without a default, every fact knows its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any

from eaglekit.checkpoint import Tensor
from eaglekit.drafter.parts import Role


class Attention(str, Enum):
    """How the drafter attends."""

    GQA = "gqa"
    MLA = "mla"


class Fusion(str, Enum):
    """What the drafter gets from the target."""

    AUX_STATES = "captured target states through fc"
    FINAL_STATE = "the target's final state after its norm, without fc"


class FusionNorm(str, Enum):
    """What is normed before `fc`."""

    NONE = "nothing is normed before fc"
    PER_STATE = "fc_norm: one RMSNorm per captured state before fc"
    WHOLE = "norm_before_fc: one RMSNorm over the concatenation before fc"


class Feedback(str, Enum):
    """The state that the next draft step gets."""

    RAW = "before the final norm"
    NORMED = "after the final norm (norm_output)"


class Residual(str, Enum):
    """The residual that layer 0 starts from."""

    RAW = "before hidden_norm"
    NORMED = "after hidden_norm (norm_before_residual)"


class Rotation(str, Enum):
    """Which channels of a head are rotated together."""

    HALVES = "halves"
    INTERLEAVED = "interleaved"


ROTATIONS: Mapping[Attention, Rotation] = MappingProxyType({
    Attention.GQA: Rotation.HALVES,
    Attention.MLA: Rotation.INTERLEAVED,
})  # fmt: skip
"""What every trainer and engine does: EAGLE/model/cnets.py rotate_half; vLLM deepseek_eagle3.py is_neox_style=False."""


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary position embedding as trained. Its layout follows the attention (`ROTATIONS`)."""

    theta: float
    kind: str
    """`default`, or a scaling kind of transformers: linear, dynamic, yarn, llama3, longrope."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The scaling's own numbers, without theta and kind; sorted by key."""


@dataclass(frozen=True, slots=True)
class Origin:
    """How a fact is known: read, derived, given by the user, or a rule with its source."""

    kind: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The meaning of a drafter without its tensors. Sizes count elements; vocabulary sizes count tokens."""

    attention: Attention
    hidden_size: int
    target_hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    """V: the target's vocabulary."""
    draft_vocab_size: int
    """D: rows of the drafter's head."""
    num_aux_states: int
    aux_layers: tuple[int, ...]
    """Boundary indices, ascending: k = the residual stream after k target blocks, 0 = embeddings."""
    fusion: Fusion
    fusion_norm: FusionNorm
    feedback: Feedback
    residual: Residual
    qk_norm: bool
    attention_bias: bool
    mlp_bias: bool
    fusion_bias: bool
    rope: Rope
    rms_norm_eps: float
    hidden_act: str
    dtype: str
    """safetensors dtype of the head and projections."""
    own_embedding: bool
    own_head: bool
    target_ids: tuple[int, ...] | None = None
    """Target token id of each draft token, in head-row order; None = the draft vocabulary is the target's."""
    q_lora_rank: int | None = None
    kv_lora_rank: int | None = None
    qk_nope_head_dim: int | None = None
    qk_rope_head_dim: int | None = None
    v_head_dim: int | None = None
    max_position_embeddings: int | None = None
    trained_context_length: int | None = None
    parallel_drafting: bool = False
    mask_token_id: int | None = None
    initializer_range: float | None = None
    token_ids: Mapping[str, Any] = field(default_factory=dict)
    """bos, eos, pad ids as the source gives them."""
    target_family: str | None = None
    """transformers `model_type` of the target's text model."""
    target_layers: int | None = None
    target_name: str | None = None
    """Hub id of the target."""
    target_architecture: str | None = None
    speculative_tokens: int | None = None

    def holds(self, condition: str) -> bool:
        """Whether a presence condition of `eaglekit.drafter.parts` is true of this drafter."""
        return bool(_CONDITIONS[condition](self))

    @property
    def rotation(self) -> Rotation:
        """Which channels of a head are rotated together."""
        return ROTATIONS[self.attention]

    def replacing(self, **changes: Any) -> Spec:
        """This spec with some fields changed."""
        from dataclasses import replace

        return replace(self, **changes)


_CONDITIONS: Mapping[str, Any] = MappingProxyType({
    "always": lambda spec: True,
    "own embedding": lambda spec: spec.own_embedding,
    "own head": lambda spec: spec.own_head,
    "fusion": lambda spec: spec.fusion is Fusion.AUX_STATES,
    "fusion bias": lambda spec: spec.fusion_bias,
    "whole norm": lambda spec: spec.fusion_norm is FusionNorm.WHOLE,
    "state norms": lambda spec: spec.fusion_norm is FusionNorm.PER_STATE,
    "gqa": lambda spec: spec.attention is Attention.GQA,
    "mla": lambda spec: spec.attention is Attention.MLA,
    "query rank": lambda spec: spec.attention is Attention.MLA and spec.q_lora_rank is not None,
    "mla without query rank": lambda spec: spec.attention is Attention.MLA and spec.q_lora_rank is None,
    "attention bias": lambda spec: spec.attention_bias,
    "q/k norms": lambda spec: spec.qk_norm,
    "mlp bias": lambda spec: spec.mlp_bias,
    "map": lambda spec: spec.target_ids is not None,
    "mask": lambda spec: False,
    "parallel drafting": lambda spec: spec.parallel_drafting,
})  # fmt: skip


@dataclass(frozen=True)
class Drafter:
    """What a checkpoint means: its spec, and its tensors by role."""

    spec: Spec
    tensors: Mapping[Role, Tensor]
    """Every role the drafter has -> where it lies in its checkpoint. The map and mask are there when stored."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Spec field -> how it is known."""

    def facts(self) -> list[tuple[str, Any, str]]:
        """Name, JSON value and origin of every fact that is set, in the order of the spec."""
        rows: list[tuple[str, Any, str]] = []
        for entry in fields(self.spec):
            value = getattr(self.spec, entry.name)
            if value is None or (entry.name == "target_ids"):
                continue
            rows.append((entry.name, jsonable(value), str(self.origins.get(entry.name, ""))))
        return rows


def jsonable(value: Any) -> Any:
    """A spec value as JSON: enums by their text, tuples as lists, a rope as an object."""
    if isinstance(value, Rope):
        return {"rope_theta": value.theta, "rope_type": value.kind, **value.parameters}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value
