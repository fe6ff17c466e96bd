"""Drafters drawn at random: every kind, switch, rope and vocabulary, in sizes of a few elements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as some

from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.writing import impossible, write
from eaglekit.drafter import Attention, Feedback, Fusion, FusionNorm, Residual, Rope, Spec
from eaglekit.report import Refusal

FAMILIES = (
    "llama", "qwen3", "gpt_oss", "deepseek_v3", "kimi_k2", "kimi_k3", "glm4_moe_lite", "longcat_flash", "minimax_m3",
)  # fmt: skip
"""`model_type` of targets that engines treat in different ways."""

_LENGTH = {"original_max_position_embeddings": 32}
ROPES = (
    Rope(10000.0, "default"),
    Rope(500000.0, "default"),
    Rope(10000.0, "linear", {"factor": 2.0}),
    Rope(1000000.0, "dynamic", {"factor": 4, **_LENGTH}),
    Rope(150000.0, "yarn", {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "truncate": False, **_LENGTH}),
    Rope(50000.0, "yarn", {"factor": 64.0, "mscale": 1.0, "mscale_all_dim": 1.0, **_LENGTH}),
    Rope(500000.0, "llama3", {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, **_LENGTH}),
    Rope(10000.0, "longrope", {"long_factor": (1.5, 2.5), "short_factor": (1.0, 1.25), "short_mscale": 1.0, **_LENGTH}),
)
"""Every kind of rotary embedding, with numbers of its own."""

PLAIN = Spec(
    attention=Attention.GQA,
    hidden_size=8,
    target_hidden_size=8,
    num_layers=1,
    num_heads=2,
    num_kv_heads=1,
    head_dim=6,
    intermediate_size=10,
    vocab_size=24,
    draft_vocab_size=7,
    num_aux_states=3,
    aux_layers=(3, 17, 30),
    fusion=Fusion.AUX_STATES,
    fusion_norm=FusionNorm.NONE,
    feedback=Feedback.RAW,
    residual=Residual.RAW,
    qk_norm=False,
    attention_bias=False,
    mlp_bias=False,
    fusion_bias=False,
    rope=Rope(500000.0, "default"),
    rms_norm_eps=1e-5,
    hidden_act="silu",
    dtype="BF16",
    own_embedding=True,
    own_head=True,
    target_ids=(1, 2, 5, 8, 13, 20, 23),
    max_position_embeddings=2048,
    trained_context_length=2048,
    target_family="llama",
    target_layers=32,
    target_name="example/target",
    target_architecture="LlamaForCausalLM",
    speculative_tokens=3,
)
"""An ordinary EAGLE-3 drafter; its layers are not the default of 32 blocks, which are 2, 16, 29."""

LATENT = {
    "attention": Attention.MLA, "num_kv_heads": 2, "head_dim": 7, "q_lora_rank": 5, "kv_lora_rank": 6,
    "qk_nope_head_dim": 4, "qk_rope_head_dim": 3, "v_head_dim": 5,
}  # fmt: skip
"""What makes `PLAIN` an MLA drafter."""


def _optional(values: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
    return some.none() | values


@some.composite
def specs(draw: some.DrawFn) -> Spec:
    """Any drafter that can exist, whatever a dialect can say."""
    latent, aux = draw(some.booleans()), draw(some.integers(0, 5))
    hidden = draw(some.sampled_from((6, 8, 12)))
    facts = _latent(draw) if latent else _grouped(draw)
    facts |= _captured(draw, aux, hidden) if aux else _final_state(hidden)
    facts |= _vocabulary(draw, same_width=facts["target_hidden_size"] == hidden)
    context = draw(_optional(some.sampled_from((64, 2048))))
    return Spec(
        hidden_size=hidden,
        num_layers=draw(some.integers(1, 3)),
        intermediate_size=draw(some.sampled_from((4, 10))),
        feedback=draw(some.sampled_from(Feedback)),
        residual=draw(some.sampled_from(Residual)),
        rope=draw(some.sampled_from(ROPES)),
        rms_norm_eps=draw(some.sampled_from((1e-5, 1e-6))),
        hidden_act=draw(some.sampled_from(("silu", "gelu_pytorch_tanh"))),
        dtype=draw(some.sampled_from(("BF16", "F16", "F32", "F64"))),
        max_position_embeddings=context,
        # No statement about the trained length means the length in the config.
        trained_context_length=draw(some.sampled_from((16, context))) if context else None,
        initializer_range=draw(_optional(some.just(0.02))),
        target_family=draw(some.sampled_from(FAMILIES)),
        target_name=draw(_optional(some.just("example/target"))),
        target_architecture=draw(_optional(some.just("LlamaForCausalLM"))),
        speculative_tokens=draw(_optional(some.integers(1, 7))),
        **facts,
    )


def _grouped(draw: some.DrawFn) -> dict[str, Any]:
    kv_heads = draw(some.integers(1, 2))
    return {
        "attention": Attention.GQA,
        "num_kv_heads": kv_heads,
        "num_heads": kv_heads * draw(some.integers(1, 3)),
        "head_dim": draw(some.sampled_from((2, 4, 6))),
        "qk_norm": draw(some.booleans()),
        "attention_bias": draw(some.booleans()),
        "mlp_bias": draw(some.booleans()),
    }


def _latent(draw: some.DrawFn) -> dict[str, Any]:
    heads, nope, rope = draw(some.integers(1, 3)), draw(some.integers(1, 4)), draw(some.sampled_from((2, 4)))
    return {
        "attention": Attention.MLA,
        "num_heads": heads,
        "num_kv_heads": heads,
        "head_dim": nope + rope,
        "qk_norm": False,
        "attention_bias": False,
        "mlp_bias": False,
        "q_lora_rank": draw(_optional(some.integers(1, 5))),
        "kv_lora_rank": draw(some.integers(1, 5)),
        "qk_nope_head_dim": nope,
        "qk_rope_head_dim": rope,
        "v_head_dim": draw(some.integers(1, 5)),
    }


def _captured(draw: some.DrawFn, aux: int, hidden: int) -> dict[str, Any]:
    depth = draw(some.integers(aux + 3, 64))
    layers = draw(some.sets(some.integers(0, depth) | some.just(depth), min_size=aux, max_size=aux))
    return {
        "num_aux_states": aux,
        "aux_layers": tuple(sorted(layers)),
        "target_layers": depth,
        "target_hidden_size": draw(some.sampled_from((hidden, hidden + 2))),
        "fusion": Fusion.AUX_STATES,
        "fusion_norm": draw(some.sampled_from(FusionNorm)),
        "fusion_bias": draw(some.booleans()),
        "parallel_drafting": (parallel := draw(some.booleans())),
        "mask_token_id": 3 if parallel else None,
    }


def _final_state(hidden: int) -> dict[str, Any]:
    return {
        "num_aux_states": 1,
        "aux_layers": (),
        "target_layers": 40,
        "target_hidden_size": hidden,
        "fusion": Fusion.FINAL_STATE,
        "fusion_norm": FusionNorm.NONE,
        "fusion_bias": False,
    }


def _vocabulary(draw: some.DrawFn, *, same_width: bool) -> dict[str, Any]:
    """A whole vocabulary, or a part of it in ascending or in frequency order. Only a whole one goes without a head."""
    size = draw(some.integers(8, 24))
    ids = draw(_optional(some.sets(some.integers(0, size - 1), min_size=2, max_size=size - 1)))
    order = draw(some.permutations(sorted(ids))) if ids and draw(some.booleans()) else sorted(ids or ())
    shares = some.booleans() if same_width else some.just(True)
    special = some.integers(4, 7) | some.lists(some.integers(4, 7), min_size=1, max_size=2).map(tuple)
    return {
        "vocab_size": size,
        "draft_vocab_size": len(order) or size,
        "target_ids": tuple(order) or None,
        "own_embedding": draw(shares),
        "own_head": draw(shares) if ids is None else True,
        "token_ids": draw(some.dictionaries(some.sampled_from(("bos", "eos", "pad")), special)),
    }


MENDS: tuple[dict[str, Any], ...] = (
    {"attention": Attention.GQA, "num_heads": 2, "num_kv_heads": 1, "head_dim": 4, "q_lora_rank": None,
     "kv_lora_rank": None, "qk_nope_head_dim": None, "qk_rope_head_dim": None, "v_head_dim": None},
    {"q_lora_rank": 3},
    {"fusion": Fusion.AUX_STATES, "num_aux_states": 3, "aux_layers": (2, 5, 9), "target_layers": 20},
    {"num_aux_states": 3, "aux_layers": (2, 5, 9), "target_layers": 20},
    {"fusion_norm": FusionNorm.NONE},
    {"feedback": Feedback.RAW},
    {"residual": Residual.RAW},
    {"qk_norm": False},
    {"fusion_bias": False},
    {"attention_bias": False, "mlp_bias": False},
    {"attention_bias": False, "mlp_bias": False, "fusion_bias": False},
    {"parallel_drafting": False, "mask_token_id": None},
    {"num_layers": 1},
    {"rope": Rope(500000.0, "default")},
    {"own_embedding": True},
    {"own_head": True},
    {"max_position_embeddings": 64, "trained_context_length": 64},
    {"rope": Rope(500000.0, "default")},
    {"hidden_act": "silu"},
    {"dtype": "BF16"},
    {"target_name": "example/target"},
    {"speculative_tokens": 3},
)  # fmt: skip
"""Changes that each take one thing out of a drafter that some dialect cannot say."""


def fitted(spec: Spec, dialect: Dialect) -> Spec:
    """`spec` with the fewest of `MENDS` that leave nothing which `dialect` cannot say, and layers it can ask for."""
    for changes in (*MENDS, {"target_hidden_size": spec.hidden_size}):
        before, mended = impossible(spec, dialect), replace(spec, **changes)
        if before and len(impossible(mended, dialect)) < len(before):
            spec = mended
    return spec if _can_ask(spec, dialect) else replace(spec, aux_layers=tuple(range(2, 2 + spec.num_aux_states)))


def _can_ask(spec: Spec, dialect: Dialect) -> bool:
    try:
        write(spec, dialect)
    except Refusal:
        return False
    return True
