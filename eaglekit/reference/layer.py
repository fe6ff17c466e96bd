"""The drafter's decoder layers: what one draft step computes at each slot.

T slots, H hidden, I intermediate.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional
from torch.nn.functional import linear

from eaglekit.drafter import Feedback, Part, Residual
from eaglekit.reference.attention import Mix, attend
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.norm import rms_norm
from eaglekit.reference.rope import Angles

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType({
    "silu": functional.silu,
    "swish": functional.silu,
    "gelu": functional.gelu,
    "gelu_new": partial(functional.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
})  # fmt: skip
"""`hidden_act` as transformers names it (activations.py ACT2FN) -> the function."""


def run(
    drafter: ReferenceDrafter,
    embedded: Float[Tensor, "T H"],
    hidden: Float[Tensor, "T H"],
    angles: Angles,
    mix: Mix,
) -> Float[Tensor, "T H"]:
    """The residual stream behind the last layer, before the final norm.

    `embedded` is the embedding of the token that follows each slot's state, `hidden` that state: fused from the
    target's in the first step, fed back from the step before in later ones.
    """
    eps = drafter.spec.rms_norm_eps
    for layer in range(drafter.spec.num_layers):
        if layer == 0:
            normed = rms_norm(hidden, drafter.weight(Part.HIDDEN_NORM, 0), eps)
            residual = normed if drafter.spec.residual is Residual.NORMED else hidden
            inputs = torch.cat([rms_norm(embedded, drafter.weight(Part.EMBEDDING_NORM, 0), eps), normed], dim=-1)
        else:
            residual = hidden
            inputs = rms_norm(hidden, drafter.weight(Part.ATTENTION_NORM, layer), eps)
        hidden = residual + attend(drafter, layer, inputs, angles, mix)
        hidden = hidden + mlp(drafter, layer, rms_norm(hidden, drafter.weight(Part.MLP_NORM, layer), eps))
    return hidden


def mlp(drafter: ReferenceDrafter, layer: int, inputs: Float[Tensor, "T H"]) -> Float[Tensor, "T H"]:
    """The gated MLP: down(act(gate(x)) * up(x))."""
    gate = linear(inputs, drafter.weight(Part.GATE, layer), drafter.optional(Part.GATE_BIAS, layer))
    up = linear(inputs, drafter.weight(Part.UP, layer), drafter.optional(Part.UP_BIAS, layer))
    gated = ACTIVATIONS[drafter.spec.hidden_act](gate) * up
    return linear(gated, drafter.weight(Part.DOWN, layer), drafter.optional(Part.DOWN_BIAS, layer))


def final_norm(drafter: ReferenceDrafter, raw: Float[Tensor, "T H"]) -> Float[Tensor, "T H"]:
    """What the head reads."""
    return rms_norm(raw, drafter.weight(Part.FINAL_NORM), drafter.spec.rms_norm_eps)


def fed_back(
    drafter: ReferenceDrafter, raw: Float[Tensor, "T H"], normed: Float[Tensor, "T H"]
) -> Float[Tensor, "T H"]:
    """The state that the next draft step gets: `norm_output` of EAGLE 3.1 decides between the two."""
    return normed if drafter.spec.feedback is Feedback.NORMED else raw
