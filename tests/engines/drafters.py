"""Small drafters by hand: a spec, the config that says it in the portable way, and the tensors it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eaglekit.checkpoint import Tensor
from eaglekit.drafter import Attention, Feedback, Fusion, FusionNorm, Residual, Rope, Spec
from eaglekit.drafter.sizes import expected_shape, roles_of
from eaglekit.engines import Artefact, Reading, Request, Verdict, parse_request, reading_for
from eaglekit.engines.stored import canonical_name

BOUNDARIES = (3, 17, 30)
"""Not the default of a target of 32 blocks, which is 2, 16, 29."""

LLAMA = Spec(
    attention=Attention.GQA,
    hidden_size=64,
    target_hidden_size=64,
    num_layers=1,
    num_heads=4,
    num_kv_heads=2,
    head_dim=16,
    intermediate_size=40,
    vocab_size=320,
    draft_vocab_size=96,
    num_aux_states=3,
    aux_layers=BOUNDARIES,
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
    own_embedding=False,
    own_head=True,
    target_ids=tuple(range(5, 101)),
    target_family="llama",
    target_layers=32,
)

EAGLE31 = LLAMA.replacing(fusion_norm=FusionNorm.PER_STATE, feedback=Feedback.NORMED)

MLA = LLAMA.replacing(
    attention=Attention.MLA,
    aux_layers=(2, 30, 58),
    target_family="deepseek_v3",
    target_layers=61,
    draft_vocab_size=320,
    target_ids=None,
    q_lora_rank=24,
    kv_lora_rank=16,
    qk_nope_head_dim=12,
    qk_rope_head_dim=6,
    v_head_dim=12,
)

TOP = "eagle_aux_hidden_state_layer_ids"


def config_of(spec: Spec) -> dict[str, Any]:
    """A portable config of `spec`: ids at both levels, each in its reader's convention, every flag at the top."""
    mla = spec.attention is Attention.MLA
    ids = list(spec.aux_layers)
    flags = {
        "fc_norm": spec.fusion_norm is FusionNorm.PER_STATE,
        "norm_before_fc": spec.fusion_norm is FusionNorm.WHOLE,
        "norm_output": spec.feedback is Feedback.NORMED,
        "norm_before_residual": spec.residual is Residual.NORMED,
    }
    return {
        "architectures": ["Eagle3DeepseekV2ForCausalLM" if mla else "LlamaForCausalLMEagle3"],
        "model_type": "kimi_k2" if mla else "llama",
        "hidden_size": spec.hidden_size,
        "num_hidden_layers": spec.num_layers,
        "vocab_size": spec.vocab_size,
        "draft_vocab_size": spec.draft_vocab_size,
        "target_hidden_size": spec.target_hidden_size,
        "num_aux_hidden_states": spec.num_aux_states,
        "rope_theta": spec.rope.theta,
        "rope_parameters": {"rope_theta": spec.rope.theta, "rope_type": spec.rope.kind},
        "hidden_act": spec.hidden_act,
        "tie_word_embeddings": False,
        TOP: ids,
        "eagle_config": {TOP: ids if mla else [k - 1 for k in ids], "use_aux_hidden_state": True},
        **flags,
    }


def tensors_of(spec: Spec) -> dict[str, Tensor]:
    """The tensors a drafter of `spec` has, under the names most files give them."""
    shapes = {canonical_name(role): expected_shape(role, spec) for role in roles_of(spec)}
    return {name: tensor(name, shape) for name, shape in shapes.items()}


def tensor(name: str, shape: tuple[int, ...] = (1,)) -> Tensor:
    """A tensor of which only the name and the shape count."""
    return Tensor(name, "BF16", shape, "model.safetensors", 0, 0)


def made(
    spec: Spec = LLAMA,
    *,
    config: Mapping[str, Any] | None = None,
    without: Iterable[str] = (),
    add: Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
) -> Artefact:
    """The portable file of `spec`, spoilt: config keys changed (None deletes), tensors left out, added, renamed."""
    keys = {**config_of(spec), **(config or {})}
    kept = {name: value for name, value in keys.items() if value is not None}
    names = [name for name in tensors_of(spec) if name not in set(without)] + list(add)
    for old, new in (rename or {}).items():
        names = [new + name.removeprefix(old) if name.startswith(old) else name for name in names]
    return Artefact(kept, {name: tensor(name) for name in names}, spec)


def speculators(spec: Spec = LLAMA, *, config: Mapping[str, Any] | None = None, inner: Mapping[str, Any] | None = None,
                without: Iterable[str] = (), add: Iterable[str] = ()) -> Artefact:  # fmt: skip
    """The speculators file of `spec`, spoilt in the same ways."""
    plain = config_of(spec)
    flags = ("fc_norm", "norm_before_fc", "norm_output", "norm_before_residual", TOP, "draft_vocab_size")
    sizes = ("model_type", "hidden_size", "num_hidden_layers", "vocab_size", "rope_parameters", "hidden_act")
    keys: dict[str, Any] = {name: plain[name] for name in flags}
    keys |= {"speculators_model_type": "eagle3", "architectures": ["Eagle3Speculator"], **(config or {})}
    keys["transformer_layer_config"] = {name: plain[name] for name in sizes} | dict(inner or {})
    kept = {name: value for name, value in keys.items() if value is not None}
    names = [name for name in tensors_of(spec) if name not in set(without)] + list(add)
    return Artefact(kept, {name: tensor(name) for name in names}, spec)


def read(artefact: Artefact, request: str) -> Reading:
    """What the engine of `request` makes of `artefact`."""
    wanted: Request = parse_request(request)
    return reading_for(artefact, wanted)


def verdict(artefact: Artefact, request: str) -> Verdict:
    """The verdict of the engine of `request`."""
    return read(artefact, request).verdict


def sentence(artefact: Artefact, request: str, code: str) -> str:
    """The sentence of the one effect with `code`; fails when there is none or more."""
    texts = [effect.text for effect in read(artefact, request).effects if effect.code == code]
    assert len(texts) == 1, read(artefact, request)
    return texts[0]
