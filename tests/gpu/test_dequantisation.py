"""Dequantisation on a GPU: the bits of the CPU, at the speed of its memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from eaglekit.target.formats.compiled import can_compile
from eaglekit.target.formats.dequantise import dequantise
from tests.target.formats.declared import Parts, compressed_nvfp4, fp8, linear, nvfp4

pytestmark = pytest.mark.gpu

LEAST_SHARE_OF_COPY = 0.5
"""Of the bandwidth of a device copy: one read of the codes and one write of the result, and nothing between."""

WEIGHTS: dict[str, Parts] = {
    "ModelOpt NVFP4": nvfp4(96, 320),
    "W4A8_NVFP4_FP8": nvfp4(96, 320, 32),
    "compressed-tensors NVFP4": compressed_nvfp4(96, 320),
    "MXFP4": {"weight": ("U8", (96, 160)), "weight_scale": ("U8", (96, 10))},
    "FP8 per tensor": fp8((), 200, 300),
    "FP8 per row": fp8((200, 1), 200, 300),
    "FP8 in squares": fp8((2, 3), 200, 300),
}


def made(parts: Parts, seed: int = 0) -> dict[str, Tensor]:
    """Random codes and valid scales for declared parts."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for suffix, (dtype, shape) in parts.items():
        if dtype == "F32":
            number = torch.rand(shape, generator=generator) * 1e-3 + 1e-4
            tensors[suffix] = 1 / number if suffix == "weight_global_scale" else number
            continue
        high = 0x7F if dtype == "F8_E4M3" else 140 if suffix == "weight_scale" else 256
        raw = torch.randint(high, shape, dtype=torch.uint8, generator=generator)
        tensors[suffix] = raw.view(torch.float8_e4m3fn) if dtype == "F8_E4M3" else raw
    return tensors


@pytest.mark.parametrize("parts", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_the_gpu_gives_the_bits_of_the_cpu(parts: Parts, dtype: torch.dtype) -> None:
    tensors = made(parts)

    on_gpu = dequantise(linear(parts), tensors, dtype=dtype, device="cuda").cpu()

    assert torch.equal(on_gpu.view(torch.uint8), dequantise(linear(parts), tensors, dtype=dtype).view(torch.uint8))


def test_nvfp4_is_decoded_at_half_the_bandwidth_of_a_copy_or_faster() -> None:
    assert can_compile()
    rows, columns = 65536, 7168  # 32 projections of a Kimi expert
    weight = linear(nvfp4(rows, columns))
    tensors = {suffix: tensor.cuda() for suffix, tensor in made(nvfp4(rows, columns)).items()}
    result = dequantise(weight, tensors, device="cuda")
    target = torch.empty_like(result)

    copied = 2 * result.nbytes / seconds(lambda: target.copy_(result))
    decoded = (weight.size_bytes + result.nbytes) / seconds(lambda: dequantise(weight, tensors, device="cuda"))

    shares = f"copy {copied / 1e9:.0f} GB/s, NVFP4 to BF16 {decoded / 1e9:.0f} GB/s"
    assert decoded >= LEAST_SHARE_OF_COPY * copied, shares


def seconds(work: Callable[[], object]) -> float:
    """The median time of one call on the device, of 15, after 3 that warm up."""
    for _ in range(3):
        work()
    times = []
    for _ in range(15):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(float(start.elapsed_time(end)))
    return sorted(times)[7] / 1e3
