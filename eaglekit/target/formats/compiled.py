"""The 4-bit formula as one compiled kernel, for GPUs: read the bytes once, write the floats once.

n blocks of W bytes each. Weights are flattened to blocks, so one kernel serves every shape.
"""

import shutil
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

BITS_OF_HALF = 0x3F000000
"""0.5 as float32: the E2M1 code m >= 2 is the float32 whose bits are these + (m << 22)."""


@cache
def can_compile() -> bool:
    """Whether torch can build a GPU kernel here: Triton writes it, a C compiler links its launcher."""
    return find_spec("triton") is not None and any(shutil.which(name) for name in ("cc", "gcc", "clang"))


def decode_in_one_kernel(
    codes: UInt8[Tensor, "n W"], scales: UInt8[Tensor, " n"], factors: Float[Tensor, " 256"], dtype: torch.dtype
) -> Float[Tensor, "n 2*W"]:
    """`decode_blocks`, compiled: E2M1 x factor of the block's scale byte, in `dtype`, rounded once."""
    return _kernel(codes.shape[1], dtype)(codes, scales, factors)


def decode_blocks(
    codes: UInt8[Tensor, "n W"], scales: UInt8[Tensor, " n"], factors: Float[Tensor, " 256"], dtype: torch.dtype
) -> Float[Tensor, "n 2*W"]:
    """E2M1 x factor, by arithmetic that a compiler fuses into one pass; bit-equal to `pair_table`.

    Nothing here branches on a value, and no table but `factors` is read.
    """
    shifts = torch.arange(2, dtype=torch.int32, device=codes.device) * 4
    nibbles = (codes.to(torch.int32)[:, :, None] >> shifts) & 15
    magnitudes = nibbles & 7
    normal = ((magnitudes << 22) + BITS_OF_HALF).view(torch.float32)
    values = torch.where(magnitudes < 2, magnitudes.to(torch.float32) * 0.5, normal)
    signed = torch.where(nibbles > 7, -values, values)
    scaled = signed * factors[scales.to(torch.int32)][:, None, None]
    return scaled.to(dtype).view(codes.shape[0], 2 * codes.shape[1])


@cache
def _kernel(width: int, dtype: torch.dtype) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """One kernel per block width and output dtype; the number of blocks stays open."""

    def decode(codes: Tensor, scales: Tensor, factors: Tensor) -> Tensor:
        return decode_blocks(codes.view(-1, width), scales, factors, dtype)

    # A byte is a valid index of 256 factors by its type: the check that guards indices would cost more than the lookup.
    compiled: Callable[[Tensor, Tensor, Tensor], Tensor] = torch.compile(
        decode, dynamic=True, fullgraph=True, options={"assert_indirect_indexing": False}
    )
    return lambda codes, scales, factors: compiled(codes.reshape(-1), scales, factors)
