"""Every code under every scale, against the formula in Python floats."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from eaglekit.target.formats.compiled import decode_blocks
from eaglekit.target.formats.dequantise import BLOCKS_AT_ONCE, decode_by_table, dequantise
from eaglekit.target.formats.elements import e4m3_values, e8m0_values
from tests.target.formats.declared import compressed_nvfp4, linear, nvfp4
from tests.target.formats.floats import E2M1, bits16, bits32, e4m3, to_float32

SECOND_SCALES = [1.0, 2.0**-13, 3.1e-05, 0.7, 1.9e-38]
CODES = torch.tensor([column | column + 1 << 4 for column in range(0, 16, 2)], dtype=torch.uint8)
"""One block that holds every code, in order of the columns."""
BYTES = [byte for byte in range(256) if byte & 0x7F != 0x7F]
DECODERS = [pytest.param(decode_by_table, id="by table"), pytest.param(decode_blocks, id="by arithmetic")]


def bits(values: Tensor) -> list[int]:
    """The bits of every value, without a sign."""
    width = {torch.float32: (torch.int32, 0xFFFFFFFF), torch.bfloat16: (torch.int16, 0xFFFF)}[values.dtype]
    return [number & width[1] for number in values.view(width[0]).flatten().tolist()]


@pytest.mark.parametrize("decode", DECODERS)
@pytest.mark.parametrize("second", SECOND_SCALES)
@pytest.mark.parametrize(
    ("dtype", "rounded"), [(torch.float32, bits32), (torch.bfloat16, bits16)], ids=["float32", "bfloat16"]
)
def test_every_code_under_every_scale_is_the_rounded_product(decode, second, dtype, rounded) -> None:  # type: ignore[no-untyped-def]
    factors = e4m3_values() * torch.tensor(second, dtype=torch.float32)
    scales = torch.tensor(BYTES, dtype=torch.uint8)

    values = torch.empty(len(BYTES), 16, dtype=dtype)
    decode(CODES.expand(len(BYTES), 8).contiguous(), scales, factors, values)

    second = to_float32(second)
    wanted = [rounded(to_float32(code * to_float32(e4m3(byte) * second))) for byte in BYTES for code in E2M1]
    assert bits(values) == wanted


@pytest.mark.parametrize("decode", DECODERS)
def test_every_byte_is_its_low_code_then_its_high_code(decode) -> None:  # type: ignore[no-untyped-def]
    codes = torch.arange(256, dtype=torch.uint8).view(32, 8)

    values = torch.empty(32, 16)
    decode(codes, torch.full((32,), 0x38, dtype=torch.uint8), e4m3_values(), values)

    assert values.flatten().tolist() == [E2M1[code] for byte in range(256) for code in (byte & 15, byte >> 4)]


@pytest.mark.parametrize("decode", DECODERS)
def test_a_scale_that_is_no_number_makes_its_whole_block_none(decode) -> None:  # type: ignore[no-untyped-def]
    values = torch.empty(1, 16, dtype=torch.bfloat16)
    decode(CODES[None], torch.tensor([0x7F], dtype=torch.uint8), e4m3_values(), values)

    assert values.isnan().all()


def test_e4m3_bytes_are_their_numbers() -> None:
    assert e4m3_values()[BYTES].tolist() == [e4m3(byte) for byte in BYTES]


def test_e8m0_bytes_are_powers_of_two() -> None:
    assert e8m0_values()[:255].tolist() == [2.0 ** (byte - 127) for byte in range(255)]


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_more_blocks_than_are_decoded_at_once_come_out_the_same(width: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(width)
    codes = torch.randint(256, (BLOCKS_AT_ONCE + 3, width), dtype=torch.uint8, generator=generator)
    scales = torch.randint(0x7F, (BLOCKS_AT_ONCE + 3,), dtype=torch.uint8, generator=generator)
    factors = e4m3_values() * 1e-3

    by_table, by_arithmetic = torch.empty(2, BLOCKS_AT_ONCE + 3, 2 * width, dtype=dtype)
    decode_by_table(codes, scales, factors, by_table)
    decode_blocks(codes, scales, factors, by_arithmetic)

    assert torch.equal(by_table, by_arithmetic)


@pytest.mark.parametrize("shape", [(), (1,)], ids=["no axis", "one axis"])
def test_compressed_tensors_divides_and_modelopt_multiplies(shape: tuple[int, ...]) -> None:
    codes = torch.full((1, 8), 0x72, dtype=torch.uint8)
    scale = torch.tensor([[0x31]], dtype=torch.uint8).view(torch.float8_e4m3fn)
    second = torch.full(shape, 34567.0)
    divided = dequantise(
        linear(compressed_nvfp4(1, 16)),
        {"weight_packed": codes, "weight_scale": scale, "weight_global_scale": second},
        dtype=torch.float32,
    )
    multiplied = dequantise(
        linear(nvfp4(1, 16)), {"weight": codes, "weight_scale": scale, "weight_scale_2": second}, dtype=torch.float32
    )

    def products(factor: float) -> list[float]:
        return [to_float32(code * to_float32(factor)) for code in (1.0, 6.0)]

    assert divided[0, :2].tolist() == products(e4m3(0x31) / 34567.0)
    assert multiplied[0, :2].tolist() == products(e4m3(0x31) * 34567.0)
