"""Dequantisation: W = round_once(element x (float32(scale) x second scale)), on the CPU or on one GPU.

O rows, I columns of a weight, E experts stacked in front where a format stacks them. n blocks of W bytes each.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from eaglekit.checkpoint.model import Tensor as Declared
from eaglekit.report import Finding
from eaglekit.report.model import refuse_if
from eaglekit.target.formats.compiled import can_compile, decode_in_one_kernel
from eaglekit.target.formats.elements import e4m3_values, e8m0_values, pair_table
from eaglekit.target.formats.recognise import LinearFormat
from eaglekit.target.formats.scales import byte_factors, check_scales
from eaglekit.target.formats.table import E8M0, Elements, Group

BLOCKS_AT_ONCE = 1 << 16
"""4-bit blocks decoded in one go: keys and scales of so many stay in a core's cache (2 to 4 MB)."""

ROWS_AT_ONCE = 32
"""Rows of 8-bit weights decoded in one go; the 128 rows of a square group are a multiple."""

TWO_SCALES = 0x0000_0100_0000_0100
"""Times a scale byte: an int64 that is two int32 keys, the scale in bits 8 to 15 of each."""

DTYPES: Mapping[str, torch.dtype] = {
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "F32": torch.float32,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E8M0": torch.uint8,  # torch learnt this dtype late, and only the byte is needed
    "F4": torch.uint8,
    "U8": torch.uint8,
}
"""safetensors dtype -> the torch dtype in which `dequantise` takes a part."""


def typed(raw: UInt8[Tensor, " bytes"], declared: Declared) -> Tensor:
    """The bytes of a tensor as its checkpoint declares it; a view, nothing is copied."""
    shape = declared.shape if declared.dtype != "F4" else (*declared.shape[:-1], declared.shape[-1] // 2)
    return raw.view(DTYPES[declared.dtype]).view(shape)


def dequantise(
    linear: LinearFormat,
    tensors: Mapping[str, Tensor],
    *,
    dtype: torch.dtype = torch.bfloat16,
    device: torch.device | str = "cpu",
    out: Float[Tensor, "*shape"] | None = None,
    doubts: list[Finding] | None = None,
) -> Float[Tensor, "*shape"]:
    """The weight of `linear`, (..., out, in), in `dtype` on `device`, rounded once from float32.

    `tensors` holds the parts of the weight by suffix (`linear.parts`), on any device; they are moved before they are
    decoded. Scales that lie on the CPU are checked and refused when they cannot be scales; check those that lie
    elsewhere beforehand (`check_scales`): looking at them here would wait for the GPU.

    With `out`, contiguous and of that shape, dtype and device, the weight is written there: on a CPU fresh memory costs
    more than decoding into it. Warnings about scales are added to `doubts`.
    """
    parts = {suffix: tensors[suffix] for suffix in linear.parts}
    if all(part.device.type == "cpu" for part in parts.values()):
        found = check_scales(linear, parts)
        refuse_if(found)
        if doubts is not None:
            doubts += found
    parts = {suffix: part.to(device) for suffix, part in parts.items()}
    if linear.format.elements is Elements.PLAIN:
        weight = parts[linear.format.weight].to(dtype)
        return weight if out is None else out.copy_(weight)
    if out is None:
        out = torch.empty(linear.shape, dtype=dtype, device=device)
    decode = _four_bit if linear.format.elements is Elements.E2M1 else _eight_bit
    decode(linear, parts, out)
    return out


def _four_bit(linear: LinearFormat, parts: Mapping[str, Tensor], out: Tensor) -> None:
    row, width = linear.format, 8 if linear.group is Group.SIXTEEN else 16
    assert row.scale is not None  # noqa: S101 - the table says so
    codes = parts[row.weight].view(torch.uint8).reshape(-1, width)
    scales = parts[row.scale].view(torch.uint8).reshape(-1)
    factors = byte_factors(linear, parts)
    decode = decode_in_one_kernel if out.device.type == "cuda" and can_compile() else decode_by_table
    decode(codes, scales, factors, out.view(-1, 2 * width))


def decode_by_table(
    codes: UInt8[Tensor, "n W"],
    scales: UInt8[Tensor, " n"],
    factors: Float[Tensor, " 256"],
    out: Float[Tensor, "n 2*W"],
) -> None:
    """Write E2M1 x factor to `out`: one table lookup per weight byte, in buffers that are made once. The CPU's way."""
    n, width = codes.shape
    # A pair of values is moved as one integer: half the lookups, and no arithmetic on floats.
    whole = torch.int64 if out.dtype == torch.float32 else torch.int32
    table = pair_table(factors, out.dtype).view(whole).view(-1)
    pairs = out.view(whole).view(-1)
    room = min(n, BLOCKS_AT_ONCE)
    keys = torch.empty(room * width, dtype=torch.int32, device=codes.device)
    doubled = torch.empty(room, 1, dtype=torch.int64, device=codes.device)
    spread = torch.empty(room, width // 2, dtype=torch.int64, device=codes.device)
    for start in range(0, n, BLOCKS_AT_ONCE):
        count = min(room, n - start)
        key = keys[: count * width]
        key.copy_(codes[start : start + count].view(-1))
        doubled[:count].copy_(scales[start : start + count, None]).mul_(TWO_SCALES)
        spread[:count].copy_(doubled[:count].expand(count, width // 2))
        key.add_(spread[:count].view(torch.int32).view(-1))
        torch.index_select(table, 0, key, out=pairs[start * width : (start + count) * width])


def _eight_bit(linear: LinearFormat, parts: Mapping[str, Tensor], out: Tensor) -> None:
    row, (rows, columns) = linear.format, linear.shape
    assert row.scale is not None  # noqa: S101 - the table says so
    scale = parts[row.scale]
    if linear.parts[row.scale].dtype in E8M0:
        scale = e8m0_values(scale.device)[scale.view(torch.uint8).to(torch.int32)]
    scale = scale.to(torch.float32)
    codes = parts[row.weight].view(torch.uint8)
    # A lookup is three times as fast as torch's own conversion of float8 on the CPU.
    table = e4m3_values(codes.device)
    keys = torch.empty(ROWS_AT_ONCE * columns, dtype=torch.int32, device=codes.device)
    values = torch.empty(ROWS_AT_ONCE * columns, device=codes.device)
    for start in range(0, rows, ROWS_AT_ONCE):
        chunk = slice(start, min(start + ROWS_AT_ONCE, rows))
        count = (chunk.stop - start) * columns
        keys[:count].copy_(codes[chunk].reshape(-1))
        torch.index_select(table, 0, keys[:count], out=values[:count])
        out[chunk] = values[:count].view(-1, columns).mul_(_row_factors(linear, scale, chunk))


def _row_factors(linear: LinearFormat, scale: Float[Tensor, "..."], rows: slice) -> Float[Tensor, "..."]:
    """The factors of some rows, in a shape that spreads over them."""
    columns = linear.shape[-1]
    match linear.group:
        case Group.TENSOR:
            return scale.reshape(())
        case Group.CHANNEL:
            return scale.reshape(-1, 1)[rows]
        case Group.SQUARE:
            square = scale.reshape(-1, -(-columns // 128))[rows.start // 128]
            return square.repeat_interleave(128)[:columns]
        case Group.SIXTEEN | Group.THIRTY_TWO:
            width = 16 if linear.group is Group.SIXTEEN else 32
            return scale[rows].repeat_interleave(width, dim=-1)
