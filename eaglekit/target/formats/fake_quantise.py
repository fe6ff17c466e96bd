"""What W4A4 does to activations: each block of 16 rounded to E2M1 under a scale found at run time, in place.

I columns of an input; a block is 16 of them.
"""

from enum import Enum

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.target.formats.elements import e2m1_values

LARGEST_SCALE = 448.0
"""Of E4M3, to which block scales are rounded."""

LARGEST_CODE = 6.0
"""Of E2M1."""

# Ties go to the even code: down at 0.25, 1.25, 2.5 and 5, up at 0.75, 1.75 and 3.5.
BOUNDS = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
UPWARD = (1, 3, 5)


class Order(Enum):
    """Two orders of the same arithmetic; BF16 inputs come out differently in one of 200 values."""

    VLLM = "everything in float32"
    COMPRESSED_TENSORS = "a block's maximum is divided by 6 in the dtype of the input; scales of zero become 1/8"


def fake_quantise(
    x: Float[Tensor, "... I"], g: Float[Tensor, ""], *, order: Order = Order.VLLM
) -> Float[Tensor, "... I"]:
    """`x` as an engine's 4-bit matrix product sees it, in the dtype of `x`; I is a multiple of 16.

    g is the static factor of the linear (`activation_factor`): 1 / input_scale for ModelOpt, input_global_scale for
    compressed-tensors. The block scale is E4M3(amax / 6 * g).
    """
    blocks = x.reshape(*x.shape[:-1], -1, 16)
    peaks = blocks.abs().amax(dim=-1, keepdim=True)
    if order is Order.VLLM:
        scales = _e4m3(g * (peaks.to(torch.float32) * (1 / LARGEST_CODE)))
        # The reciprocal of a reciprocal, and 1e-8 for blocks of zeros: so that the last bit is the engine's.
        divisors = scales * (1 / g)
        codes = blocks.to(torch.float32) * (1 / torch.where(divisors == 0, 1e8, divisors))
        units = scales / g
    else:
        scales = _e4m3(g * (peaks / LARGEST_CODE).to(torch.float32))
        units = torch.where(scales == 0, 0.125, scales) / g
        codes = blocks.to(torch.float32) / units
    return (round_to_e2m1(codes) * units).to(x.dtype).flatten(-2)


def round_to_e2m1(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """The nearest E2M1 number of each, ties to even, larger ones to 6; NaN stays."""
    bounds = torch.tensor(BOUNDS, device=x.device)
    lower = torch.nextafter(bounds, torch.zeros_like(bounds))
    bounds[list(UPWARD)] = lower[list(UPWARD)]
    codes = torch.bucketize(x.abs(), bounds, out_int32=True)
    magnitudes = e2m1_values(x.device)[codes]
    return torch.where(x.isnan(), x, magnitudes * torch.sign(x))


def _e4m3(scales: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Rounded to E4M3 and back."""
    return scales.clamp(-LARGEST_SCALE, LARGEST_SCALE).to(torch.float8_e4m3fn).to(torch.float32)
