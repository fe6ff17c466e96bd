"""RMSNorm, the only norm a drafter has.

C channels.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def rms_norm(values: Float[Tensor, "*rows C"], weight: Float[Tensor, " C"], eps: float) -> Float[Tensor, "*rows C"]:
    """`values` divided by the root of their mean square, times `weight`.

    Narrow types are widened for the mean and rounded once before the weight, as transformers and vLLM do.
    """
    wide = widened(values)
    scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return scaled.to(values.dtype) * weight


def widened(values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The same values with at least the precision of float32: the type sums are made in."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
