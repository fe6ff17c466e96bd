"""From a layer's input to queries, keys and values, and from the mixed values back: the two kinds of attention.

T slots, W width of the layer's input (2H in layer 0, H later), H hidden, K channels of a query or key, U of a value.
Which slots a query sees is not said here: see `eaglekit.reference.slots` and `eaglekit.reference.session`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import linear

from eaglekit.drafter import Attention, Part, Role, Spec
from eaglekit.reference.frequencies import correction
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.norm import rms_norm
from eaglekit.reference.rope import Angles


@dataclass(frozen=True)
class Heads:
    """What one layer asks and offers at each slot. Query head h reads key-value head h // (heads / kv)."""

    queries: Float[Tensor, "T heads K"]
    keys: Float[Tensor, "T kv K"]
    values: Float[Tensor, "T kv U"]


Mix = Callable[[int, Heads], Float[Tensor, "T heads U"]]
"""Layer number and heads -> every query's mean of the values it sees, weighted by softmax."""


def attend(
    drafter: ReferenceDrafter, layer: int, inputs: Float[Tensor, "T W"], angles: Angles, mix: Mix
) -> Float[Tensor, "T H"]:
    """Self-attention of one layer over `inputs`."""
    spec = drafter.spec
    if spec.attention is Attention.MLA:
        mixed = mix(layer, latent_heads(drafter, layer, inputs, angles))
        return linear(mixed.flatten(1), drafter.weight(Part.LATENT_OUTPUT, layer))
    mixed = mix(layer, grouped_heads(drafter, layer, inputs, angles))
    output, bias = drafter.weight(Part.OUTPUT, layer), drafter.optional(Part.OUTPUT_BIAS, layer)
    return linear(mixed.flatten(1), output, bias)


def grouped_heads(drafter: ReferenceDrafter, layer: int, inputs: Float[Tensor, "T W"], angles: Angles) -> Heads:
    """Grouped-query attention: three projections, norms of query and key where the drafter has them, rotation."""
    queries = project(drafter, Role(Part.QUERY, layer), Part.QUERY_BIAS, inputs)
    keys = project(drafter, Role(Part.KEY, layer), Part.KEY_BIAS, inputs)
    values = project(drafter, Role(Part.VALUE, layer), Part.VALUE_BIAS, inputs)
    if drafter.spec.qk_norm:
        queries = rms_norm(queries, drafter.weight(Part.QUERY_NORM, layer), drafter.spec.rms_norm_eps)
        keys = rms_norm(keys, drafter.weight(Part.KEY_NORM, layer), drafter.spec.rms_norm_eps)
    return Heads(angles.turn(queries), angles.turn(keys), values)


def project(
    drafter: ReferenceDrafter, role: Role, bias: Part, inputs: Float[Tensor, "T W"]
) -> Float[Tensor, "T heads K"]:
    """One projection of grouped-query attention, cut into its heads."""
    flat = linear(inputs, drafter.weights[role], drafter.optional(bias, role.number))
    return flat.view(len(inputs), -1, drafter.spec.head_dim)


def latent_heads(drafter: ReferenceDrafter, layer: int, inputs: Float[Tensor, "T W"], angles: Angles) -> Heads:
    """Multi-head latent attention: keys and values of every head unfold from one narrow vector per slot.

    A query or key is (nope | rope): a part without position, and a part that is rotated. All heads share the key's
    rotated part.
    """
    spec, eps = drafter.spec, drafter.spec.rms_norm_eps
    nope, rope = spec.qk_nope_head_dim or 0, spec.qk_rope_head_dim or 0
    if spec.q_lora_rank is None:
        queries = linear(inputs, drafter.weight(Part.LATENT_QUERY, layer))
    else:
        narrow = linear(inputs, drafter.weight(Part.QUERY_DOWN, layer))
        narrow = rms_norm(narrow, drafter.weight(Part.QUERY_DOWN_NORM, layer), eps)
        queries = linear(narrow, drafter.weight(Part.QUERY_UP, layer))
    query_nope, query_rope = torch.split(queries.view(len(inputs), spec.num_heads, -1), [nope, rope], dim=-1)

    narrow = linear(inputs, drafter.weight(Part.LATENT_DOWN, layer))
    latent, key_rope = torch.split(narrow, [spec.kv_lora_rank or 0, rope], dim=-1)
    latent = rms_norm(latent, drafter.weight(Part.LATENT_NORM, layer), eps)
    unfolded = linear(latent, drafter.weight(Part.LATENT_UP, layer)).view(len(inputs), spec.num_heads, -1)
    key_nope, values = torch.split(unfolded, [nope, spec.v_head_dim or 0], dim=-1)
    key_rope = angles.turn(key_rope.unsqueeze(1)).expand(-1, spec.num_heads, -1)
    return Heads(
        torch.cat([query_nope, angles.turn(query_rope)], dim=-1), torch.cat([key_nope, key_rope], dim=-1), values
    )


def softmax_scale(spec: Spec) -> float:
    """The factor on every product of query and key: one over the root of their channels, times Yarn's for MLA.

    DeepSeek corrects the products by mscale_all_dim squared; vLLM deepseek_v2.py does it unless the file says that
    attention is not to be scaled (attention_factor 1).
    """
    if spec.attention is Attention.GQA:
        return float(spec.head_dim**-0.5)
    scale = float(((spec.qk_nope_head_dim or 0) + (spec.qk_rope_head_dim or 0)) ** -0.5)
    numbers = spec.rope.parameters
    if spec.rope.kind != "yarn" or numbers.get("attention_factor") == 1.0:
        return scale
    return scale * correction(float(numbers["factor"]), numbers.get("mscale_all_dim", 0.0)) ** 2
