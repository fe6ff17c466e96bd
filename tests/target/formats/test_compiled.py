"""The kernel that GPUs run, compiled for the CPU: one compilation (some seconds), then the same bits."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.utils import counters

from eaglekit.target.formats.compiled import decode_in_one_kernel
from eaglekit.target.formats.dequantise import decode_by_table
from eaglekit.target.formats.elements import e4m3_values


# Inductor's own graph passes still use what torch deprecates.
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
def test_one_compiled_kernel_serves_every_shape_and_both_block_widths() -> None:
    generator = torch.Generator().manual_seed(9)
    factors = e4m3_values() * 3.1e-4
    graphs = counters["stats"]["unique_graphs"]

    for blocks, width in ((256, 8), (999, 8), (40, 16)):
        codes = torch.randint(256, (blocks, width), dtype=torch.uint8, generator=generator)
        scales = torch.randint(0x7F, (blocks,), dtype=torch.uint8, generator=generator)
        made, wanted = torch.empty(2, blocks, 2 * width, dtype=torch.bfloat16)
        decode_in_one_kernel(codes, scales, factors, made)
        decode_by_table(codes, scales, factors, wanted)
        assert torch.equal(made.view(torch.int16), wanted.view(torch.int16))

    assert counters["stats"]["unique_graphs"] - graphs == 1
