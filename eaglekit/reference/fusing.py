"""Fusing: from what was captured of the target to the state a draft step starts from.

n positions, H hidden, A captured states, G target hidden; AG = A * G, the states of one position side by side.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import linear

from eaglekit.drafter import Fusion, FusionNorm, Part
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.norm import rms_norm


def fuse(drafter: ReferenceDrafter, states: Float[Tensor, "n AG"]) -> Float[Tensor, "n H"]:
    """The fused state of every position. Done once per target state, never to a state that is fed back.

    `fc_norm` norms each captured state by itself, `norm_before_fc` all of them as one vector. A drafter without
    `fc` reads the target's final state as it is.
    """
    spec = drafter.spec
    states = states.to(device=drafter.device, dtype=drafter.dtype)
    if spec.fusion is Fusion.FINAL_STATE:
        return states
    if spec.fusion_norm is FusionNorm.WHOLE:
        states = rms_norm(states, drafter.weight(Part.FUSION_NORM), spec.rms_norm_eps)
    if spec.fusion_norm is FusionNorm.PER_STATE:
        parts = torch.split(states, spec.target_hidden_size, dim=-1)
        weights = [drafter.weight(Part.STATE_NORM, number) for number in range(spec.num_aux_states)]
        normed = [rms_norm(part, weight, spec.rms_norm_eps) for part, weight in zip(parts, weights, strict=True)]
        states = torch.cat(normed, dim=-1)
    return linear(states, drafter.weight(Part.FUSION), drafter.optional(Part.FUSION_BIAS))
