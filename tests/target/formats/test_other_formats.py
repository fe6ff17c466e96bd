"""FP8 in its groups, MX formats, and what is plain."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from eaglekit.checkpoint.model import Tensor as Declared
from eaglekit.target.formats.dequantise import dequantise, typed
from tests.target.formats.declared import Parts, fp8, linear, nvfp4

ROWS, COLUMNS = 200, 300
GENERATOR = torch.Generator().manual_seed(5)
CODES = torch.randint(0x7F, (ROWS, COLUMNS), dtype=torch.uint8, generator=GENERATOR).view(torch.float8_e4m3fn)


def numbers(*shape: int) -> Tensor:
    """Scales as FP8 files hold them."""
    return torch.rand(shape, generator=GENERATOR) * 0.01


@pytest.mark.parametrize(
    ("shape", "suffix"),
    [
        pytest.param((), "weight_scale", id="tensor"),
        pytest.param((ROWS, 1), "weight_scale", id="row"),
        pytest.param((ROWS,), "weight_scale", id="row, one axis"),
        pytest.param((2, 3), "weight_scale", id="square"),
        pytest.param((2, 1, 3, 1), "weight_scale", id="square, four axes"),
        pytest.param((2, 3), "weight_scale_inv", id="DeepSeek's square"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_fp8_is_the_element_times_the_scale_of_its_group(
    shape: tuple[int, ...], suffix: str, dtype: torch.dtype
) -> None:
    scale = numbers(*shape)

    made = dequantise(linear(fp8(shape, ROWS, COLUMNS, suffix)), {"weight": CODES, suffix: scale}, dtype=dtype)

    spread = scale.expand(ROWS, 1) if scale.ndim == 0 else scale.reshape(scale.shape[0], -1)
    if spread.shape[0] == 2:
        spread = torch.stack([spread[row // 128, [column // 128 for column in range(COLUMNS)]] for row in range(ROWS)])
    assert torch.equal(made, (CODES.float() * spread).to(dtype))


def test_mxfp8_has_a_power_of_two_for_32_columns() -> None:
    codes = CODES[:4, :64].contiguous()
    exponents = torch.tensor([[127, 120], [0, 240], [100, 130], [127, 1]], dtype=torch.uint8)
    parts: Parts = {"weight": ("F8_E4M3", (4, 64)), "weight_scale": ("U8", (4, 2))}

    made = dequantise(linear(parts), {"weight": codes, "weight_scale": exponents}, dtype=torch.float32)

    wanted = [[float(codes[r, c]) * 2.0 ** (int(exponents[r, c // 32]) - 127) for c in range(64)] for r in range(4)]
    assert made.tolist() == wanted


@pytest.mark.parametrize("weight", ["weight", "weight_packed"])
def test_mxfp4_has_a_power_of_two_for_32_columns(weight: str) -> None:
    codes = torch.randint(256, (3, 32), dtype=torch.uint8, generator=GENERATOR)
    exponents = torch.tensor([[127, 120], [0, 250], [100, 130]], dtype=torch.uint8)
    parts: Parts = {weight: ("U8", (3, 32)), "weight_scale": ("U8", (3, 2))}

    made = dequantise(linear(parts), {weight: codes, "weight_scale": exponents}, dtype=torch.float32)

    values = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]
    wanted = [
        [
            values[int(codes[r, c // 2]) >> 4 * (c % 2) & 15] * 2.0 ** (int(exponents[r, c // 32]) - 127)
            for c in range(64)
        ]
        for r in range(3)
    ]
    assert made.tolist() == wanted


def test_fused_experts_of_gpt_oss_are_what_transformers_makes_of_them() -> None:
    blocks = torch.randint(256, (2, 6, 3, 16), dtype=torch.uint8, generator=GENERATOR)
    scales = torch.randint(100, 140, (2, 6, 3), dtype=torch.uint8, generator=GENERATOR)
    parts: Parts = {"blocks": ("U8", (2, 6, 3, 16)), "scales": ("U8", (2, 6, 3))}

    made = dequantise(linear(parts), {"blocks": blocks, "scales": scales})

    assert torch.equal(made.transpose(1, 2), convert_moe_packed_tensors(blocks, scales))


def test_the_dtype_f4_counts_elements_and_holds_the_same_bytes() -> None:
    raw = torch.randint(256, (64,), dtype=torch.uint8, generator=GENERATOR)
    scales = {
        "weight_scale": torch.full((4, 2), 0x30, dtype=torch.uint8).view(torch.float8_e4m3fn),
        "weight_scale_2": torch.tensor(0.5),
    }
    declared = Declared("a.weight", "F4", (4, 32), "model.safetensors", 0, 64)

    as_f4 = dequantise(linear(nvfp4() | {"weight": ("F4", (4, 32))}), {"weight": typed(raw, declared), **scales})

    assert torch.equal(as_f4, dequantise(linear(nvfp4()), {"weight": raw.view(4, 16), **scales}))


def test_a_plain_weight_is_cast_once() -> None:
    weight = torch.randn(4, 8, generator=GENERATOR)

    made = dequantise(linear({"weight": ("F32", (4, 8))}), {"weight": weight}, dtype=torch.bfloat16)

    assert torch.equal(made, weight.to(torch.bfloat16))


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"weight": ("F32", (4, 32))}, id="plain"),
        pytest.param(nvfp4(), id="NVFP4"),
        pytest.param(fp8(()), id="FP8"),
    ],
)
def test_a_weight_can_be_written_where_memory_is_already(parts: Parts) -> None:
    types = {"U8": torch.uint8, "F8_E4M3": torch.float8_e4m3fn, "F32": torch.float32}
    tensors = {suffix: torch.ones(shape).to(types[dtype]) for suffix, (dtype, shape) in parts.items()}
    memory = torch.full((4, 32), 7.0)

    made = dequantise(linear(parts), tensors, dtype=torch.float32, out=memory)

    assert made is memory
    assert torch.equal(memory, dequantise(linear(parts), tensors, dtype=torch.float32))
