"""Tiny drafters with random weights, of every kind, and random texts for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from eaglekit.drafter import PARTS, Attention, Feedback, Fusion, FusionNorm, Part, Residual, Role, Rope, Spec
from eaglekit.drafter.parts import Kind
from eaglekit.drafter.sizes import expected_shape, roles_of
from eaglekit.reference.model import ReferenceDrafter

GROUPED = Spec(
    attention=Attention.GQA, hidden_size=12, target_hidden_size=12, num_layers=1, num_heads=4, num_kv_heads=2,
    head_dim=6, intermediate_size=10, vocab_size=40, draft_vocab_size=40, num_aux_states=3, aux_layers=(2, 5, 9),
    fusion=Fusion.AUX_STATES, fusion_norm=FusionNorm.NONE, feedback=Feedback.RAW, residual=Residual.RAW, qk_norm=False,
    attention_bias=False, mlp_bias=False, fusion_bias=False, rope=Rope(1000.0, "default"), rms_norm_eps=1e-5,
    hidden_act="silu", dtype="BF16", own_embedding=True, own_head=True, max_position_embeddings=64,
)  # fmt: skip
"""An ordinary EAGLE-3 drafter."""

LATENT = replace(
    GROUPED, attention=Attention.MLA, num_kv_heads=4, head_dim=9, q_lora_rank=7, kv_lora_rank=5, qk_nope_head_dim=5,
    qk_rope_head_dim=4, v_head_dim=3,
)  # fmt: skip
"""The same with multi-head latent attention."""

_LENGTH = {"original_max_position_embeddings": 16}
ROPES = {
    "default": Rope(1000.0, "default"),
    "linear": Rope(1000.0, "linear", {"factor": 4.0}),
    "dynamic": Rope(1000.0, "dynamic", {"factor": 4.0}),
    "yarn": Rope(1000.0, "yarn", {"factor": 8.0, **_LENGTH}),
    "yarn-deepseek": Rope(1000.0, "yarn", {"factor": 8.0, "mscale": 1.0, "mscale_all_dim": 0.7, **_LENGTH}),
    "llama3": Rope(1000.0, "llama3", {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **_LENGTH}),
}
"""Every kind of rotary embedding but longrope, whose lists depend on the heads."""


def longrope(pairs: int, **numbers: Any) -> Rope:
    """A longrope for heads of so many pairs."""
    short, long = (tuple(first + step * pair for pair in range(pairs)) for first, step in ((1.0, 0.1), (2.0, 0.5)))
    return Rope(1000.0, "longrope", {"short_factor": short, "long_factor": long, **_LENGTH, **numbers})


VARIANTS: dict[str, Spec] = {
    "eagle-3": GROUPED,
    "eagle-3.1": replace(GROUPED, fusion_norm=FusionNorm.PER_STATE, feedback=Feedback.NORMED),
    "norm-before-fc": replace(GROUPED, fusion_norm=FusionNorm.WHOLE),
    "norm-output": replace(GROUPED, feedback=Feedback.NORMED),
    "norm-before-residual": replace(GROUPED, residual=Residual.NORMED),
    "final-state": replace(GROUPED, fusion=Fusion.FINAL_STATE, num_aux_states=1, aux_layers=()),
    "one-state": replace(GROUPED, num_aux_states=1, aux_layers=(4,)),
    "four-states": replace(GROUPED, num_aux_states=4, aux_layers=(1, 2, 5, 9), fusion_norm=FusionNorm.PER_STATE),
    "three-layers": replace(GROUPED, num_layers=3, residual=Residual.NORMED),
    "reduced-vocabulary": replace(GROUPED, draft_vocab_size=9, target_ids=(3, 1, 4, 15, 9, 2, 6, 35, 39)),
    "narrow-beside-its-target": replace(GROUPED, target_hidden_size=20, fusion_norm=FusionNorm.PER_STATE),
    "every-bias": replace(GROUPED, attention_bias=True, mlp_bias=True, fusion_bias=True),
    "query-and-key-norms": replace(GROUPED, qk_norm=True),
    "gelu": replace(GROUPED, hidden_act="gelu_pytorch_tanh"),
    "one-head-for-all-keys": replace(GROUPED, num_kv_heads=1),
    **{f"rope-{name}": replace(GROUPED, rope=rope) for name, rope in ROPES.items()},
    "rope-longrope": replace(GROUPED, rope=longrope(3)),
    "latent": LATENT,
    "latent-3.1": replace(LATENT, fusion_norm=FusionNorm.PER_STATE, feedback=Feedback.NORMED),
    "latent-without-query-rank": replace(LATENT, q_lora_rank=None),
    "latent-two-layers": replace(LATENT, num_layers=2, residual=Residual.NORMED),
    "latent-yarn": replace(LATENT, rope=ROPES["yarn-deepseek"]),
    "parallel": replace(GROUPED, parallel_drafting=True, mask_token_id=7, num_layers=2),
    "parallel-3.1": replace(
        GROUPED, parallel_drafting=True, mask_token_id=0, fusion_norm=FusionNorm.PER_STATE, feedback=Feedback.NORMED
    ),
    "parallel-latent": replace(LATENT, parallel_drafting=True, mask_token_id=7),
}  # fmt: skip
"""One drafter for each thing that can be different, by a name that says it."""


def drafter_of(spec: Spec, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> ReferenceDrafter:
    """A drafter of this spec: matrices that keep the size of what they multiply, norms around one, small biases.

    In float64 rounding is so far below the gaps between logits that two ways of computing draft the same tokens.
    """
    dice = torch.Generator().manual_seed(seed)
    roles = [role for role in roles_of(spec) if PARTS[role.part].kind is Kind.FLOAT]
    roles += [Role(part) for part in (Part.EMBEDDING, Part.HEAD) if Role(part) not in roles]
    weights = {}
    for role in roles:
        shape = expected_shape(role, spec)
        noise = torch.randn(shape, generator=dice, dtype=torch.float64)
        if len(shape) == 2:
            noise *= shape[1] ** -0.5
        elif "norm" in role.part.value:
            noise = 1.0 + 0.2 * noise
        weights[role] = noise.to(dtype)
    return ReferenceDrafter(spec, weights)


def text_of(spec: Spec, length: int, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Random token ids, and random target states beside them."""
    dice = torch.Generator().manual_seed(1000 + seed)
    width = spec.num_aux_states * spec.target_hidden_size
    tokens = torch.randint(spec.vocab_size, (length,), generator=dice)
    return tokens, torch.randn(length, width, generator=dice, dtype=torch.float64)
