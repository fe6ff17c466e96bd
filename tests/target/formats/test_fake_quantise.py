"""Activations in four bits, bit for bit as the libraries that define them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from eaglekit.target.formats.fake_quantise import Order, fake_quantise, round_to_e2m1

RECORDED = Path(__file__).parents[3] / "fixtures" / "activations"
SOURCES = {"vllm-0.32": Order.VLLM, "compressed-tensors-0.19": Order.COMPRESSED_TENSORS}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("inputs", ["bfloat16", "float32", "edges"])
@pytest.mark.parametrize("factor", ["calibrated", "one", "saturated"])
def test_activations_are_rounded_as_the_library_rounds_them(source: str, inputs: str, factor: str) -> None:
    recorded = load_file(RECORDED / f"{source}.safetensors")
    x, g = recorded[f"{inputs}/x"], recorded[f"{inputs}/{factor}/g"]

    rounded = fake_quantise(x, g, order=SOURCES[source])

    assert rounded.dtype == x.dtype
    assert torch.equal(rounded, recorded[f"{inputs}/{factor}/rounded"])


def test_the_two_orders_differ_on_bf16() -> None:
    recorded = load_file(RECORDED / "vllm-0.32.safetensors")
    x, g = recorded["bfloat16/x"], recorded["bfloat16/calibrated/g"]

    assert not torch.equal(fake_quantise(x, g), fake_quantise(x, g, order=Order.COMPRESSED_TENSORS))


def test_leading_axes_are_free() -> None:
    x = torch.randn(2, 3, 32, generator=torch.Generator().manual_seed(1))
    g = torch.tensor(100.0)

    assert torch.equal(fake_quantise(x, g)[1, 2], fake_quantise(x[1, 2], g))


def test_ties_go_to_the_even_code() -> None:
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])

    assert round_to_e2m1(ties).tolist() == [0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert round_to_e2m1(-ties).tolist() == [0.0, -1.0, -1.0, -2.0, -2.0, -4.0, -4.0]


def test_a_number_that_is_none_stays_so() -> None:
    assert round_to_e2m1(torch.tensor([float("nan")])).isnan().all()
