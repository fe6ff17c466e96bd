"""Small floats as tables: E2M1, E4M3, E8M0, and the two E2M1 codes of a byte under a scale.

The tables of values are made once per device and handed to everybody: nobody writes to them.
"""

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

E2M1_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Value of the codes 0 to 7; 8 to 15 are the same with a minus sign, -0 included."""


@cache
def e2m1_values(device: torch.device | str = "cpu") -> Float[Tensor, " 16"]:
    """The value of every E2M1 code, float32."""
    magnitudes = torch.tensor(E2M1_MAGNITUDES, device=device)
    return torch.cat([magnitudes, -magnitudes])


@cache
def e4m3_values(device: torch.device | str = "cpu") -> Float[Tensor, " 256"]:
    """The value of every E4M3 byte, float32; 0x7F and 0xFF are NaN."""
    return torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).to(torch.float32).to(device)


@cache
def e8m0_values(device: torch.device | str = "cpu") -> Float[Tensor, " 256"]:
    """2^(byte - 127) of every E8M0 byte, float32; 255, which is no number, comes out infinite."""
    values = (torch.arange(256, dtype=torch.int32) << 23).view(torch.float32)
    values[0] = 2.0**-127  # subnormal: its exponent bits are zero
    return values.to(device)


def pair_table(factors: Float[Tensor, " 256"], dtype: torch.dtype) -> Float[Tensor, "65536 2"]:
    """The two values of every weight byte under every scale byte, at row scale * 256 + byte; even column first."""
    values = (factors[:, None] * e2m1_values(factors.device)).to(dtype)
    low = values[:, None, :].expand(256, 16, 16)
    high = values[:, :, None].expand(256, 16, 16)
    return torch.stack([low, high], dim=-1).reshape(65536, 2)
