"""The 4-bit formula as one compiled kernel, for GPUs: read the bytes once, write the floats once.

n blocks of W bytes each. Weights are flattened to blocks, so one kernel serves every shape.
"""

import shutil
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from inspect import unwrap

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

BITS_OF_HALF = 0x3F000000
"""0.5 as float32: the E2M1 code m >= 2 is the float32 whose bits are these + (m << 22)."""

KERNEL_WIDTH = 8
"""Bytes of a block of 16 columns."""


@cache
def can_compile() -> bool:
    """Whether torch can build a GPU kernel here: Triton writes it, a C compiler links its launcher."""
    return find_spec("triton") is not None and any(shutil.which(name) for name in ("cc", "gcc", "clang"))


def decode_in_one_kernel(
    codes: UInt8[Tensor, "n W"],
    scales: UInt8[Tensor, " n"],
    factors: Float[Tensor, " 256"],
    out: Float[Tensor, "n 2*W"],
) -> None:
    """Write E2M1 x factor of the block's scale byte to `out`: `decode_blocks`, compiled."""
    # A block of 32 columns is two of 16 under the same scale: so the kernel knows one width, and divides by shifts.
    if codes.shape[1] != KERNEL_WIDTH:
        scales = scales.repeat_interleave(codes.shape[1] // KERNEL_WIDTH)
        codes, out = codes.reshape(-1, KERNEL_WIDTH), out.view(-1, 2 * KERNEL_WIDTH)
    for tensor in (codes, scales, out):
        torch._dynamo.maybe_mark_dynamic(tensor, 0)
    _kernel()(codes, scales, factors, out)


def decode_blocks(
    codes: UInt8[Tensor, "n W"],
    scales: UInt8[Tensor, " n"],
    factors: Float[Tensor, " 256"],
    out: Float[Tensor, "n 2*W"],
) -> None:
    """Write E2M1 x factor to `out`, rounded once, by arithmetic that a compiler fuses into one pass.

    Nothing here branches on a value, and no table but `factors` is read.
    """
    shifts = torch.arange(2, dtype=torch.int32, device=codes.device) * 4
    nibbles = (codes.to(torch.int32)[:, :, None] >> shifts) & 15
    magnitudes = nibbles & 7
    normal = ((magnitudes << 22) + BITS_OF_HALF).view(torch.float32)
    values = torch.where(magnitudes < 2, magnitudes.to(torch.float32) * 0.5, normal)
    signed = torch.where(nibbles > 7, -values, values)
    scaled = signed * factors[scales.to(torch.int32)][:, None, None]
    out.copy_(scaled.view(out.shape))


@cache
def _kernel() -> Callable[[Tensor, Tensor, Tensor, Tensor], None]:
    """The kernel, built at its first call for an output dtype; the number of blocks stays open."""
    # Tests check the shapes in signatures by wrapping functions, and a wrapper cannot be compiled: it is taken off.
    # A byte is a valid index of 256 factors by its type, so the check of indices would only cost.
    compiled: Callable[[Tensor, Tensor, Tensor, Tensor], None] = torch.compile(
        unwrap(decode_blocks), fullgraph=True, options={"assert_indirect_indexing": False}
    )
    return compiled
