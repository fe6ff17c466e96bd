"""Targets written by ModelOpt and llmcompressor: every linear as their own code dequantises it, bit for bit."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from eaglekit.checkpoint.opening import open_folder
from eaglekit.target.formats.dequantise import dequantise, typed
from eaglekit.target.formats.recognise import LinearFormat, by_module, is_dropped, recognise_linear
from eaglekit.target.formats.scales import activation_factor, check_scales

FIXTURES = Path(__file__).parents[3] / "fixtures"
TARGETS = FIXTURES / "targets"
FORMATS = {
    "modelopt-llama-nvfp4": {"nvfp4-modelopt": 21},
    "modelopt-llama-w4a16-nvfp4": {"nvfp4-modelopt": 21},
    "modelopt-llama-w4a8-nvfp4-fp8": {"nvfp4-modelopt": 21},
    "modelopt-llama-fp8": {"fp8": 21},
    "modelopt-qwen3-fp8-per-channel": {"fp8": 21},
    "modelopt-deepseek-v3-nvfp4-experts": {"nvfp4-modelopt": 48},
    "modelopt-kimi-k25-nvfp4-experts": {"nvfp4-modelopt": 48},
    "kimi-k25-hub-layout": {"nvfp4-modelopt": 48},
    "kimi-k25-nvidia-layout": {"nvfp4-modelopt": 48},
    "llmcompressor-llama-nvfp4": {"nvfp4-compressed-tensors": 21},
    "llmcompressor-qwen3-nvfp4a16": {"nvfp4-compressed-tensors": 21},
    "llmcompressor-qwen3-mxfp4a16": {"mxfp4-compressed-tensors": 21},
    "llmcompressor-llama-nvfp4-fp8": {"nvfp4-compressed-tensors": 9, "fp8": 12},
    "llmcompressor-deepseek-v3-nvfp4": {"nvfp4-compressed-tensors": 72},
}
"""Fixture -> how many quantised linears it has of each format."""


def linears(fixture: str) -> dict[str, LinearFormat]:
    """Every module of a fixture that has a weight of two axes."""
    modules = by_module(open_folder(TARGETS / fixture).tensors)
    weights = {
        name: parts
        for name, parts in modules.items()
        if not is_dropped(parts) and any(len(part.shape) == 2 for part in parts.values())
    }
    for parts in weights.values():
        parts.pop("e_score_correction_bias", None)  # of a router: a parameter of its own beside the weight
    return {name: recognise_linear(name, parts) for name, parts in weights.items()}


def parts(fixture: str, linear: LinearFormat) -> dict[str, torch.Tensor]:
    """The tensors of one linear, as bytes typed by their declaration."""
    checkpoint = open_folder(TARGETS / fixture)
    wanted = dict(linear.parts)
    if linear.activation is not None and linear.format.activation is not None:
        wanted[linear.format.activation] = linear.activation
    return {
        suffix: typed(torch.frombuffer(bytearray(checkpoint.read(part.name)), dtype=torch.uint8), part)
        for suffix, part in wanted.items()
    }


@pytest.mark.parametrize("fixture", FORMATS)
def test_every_quantised_linear_is_found(fixture: str) -> None:
    found = Counter(linear.format.name for linear in linears(fixture).values() if linear.quantised)

    assert found == FORMATS[fixture]


@pytest.mark.parametrize("fixture", FORMATS)
def test_every_weight_is_the_producers_own_bit_for_bit(fixture: str) -> None:
    expected = load_file(FIXTURES / "expected" / f"{fixture}.safetensors")
    found = linears(fixture)
    digests = [key.split("/") for key in expected if key.startswith("sha256/")]

    different = [
        f"{linear} in {dtype}"
        for _, dtype, linear in digests
        if sha256(dequantise(found[linear], parts(fixture, found[linear]), dtype=getattr(torch, dtype)))
        != bytes(expected[f"sha256/{dtype}/{linear}"].tolist())
    ]

    assert different == []
    assert {linear for _, _, linear in digests} == {name for name, linear in found.items() if linear.quantised}


@pytest.mark.parametrize("fixture", FORMATS)
def test_what_real_quantisers_write_raises_no_finding(fixture: str) -> None:
    findings = [f for linear in linears(fixture).values() for f in check_scales(linear, parts(fixture, linear))]

    assert findings == []


@pytest.mark.parametrize(
    ("fixture", "count"),
    [
        ("modelopt-llama-nvfp4", 21),
        ("modelopt-llama-w4a16-nvfp4", 0),
        ("modelopt-llama-w4a8-nvfp4-fp8", 0),
        ("modelopt-deepseek-v3-nvfp4-experts", 48),
        ("llmcompressor-llama-nvfp4", 21),
        ("llmcompressor-qwen3-nvfp4a16", 0),
        ("llmcompressor-llama-nvfp4-fp8", 9),
    ],
)
def test_linears_with_four_bit_activations_have_a_factor(fixture: str, count: int) -> None:
    rounded = [linear for linear in linears(fixture).values() if linear.activation is not None]

    assert len(rounded) == count
    assert all(activation_factor(linear, parts(fixture, linear)) > 0 for linear in rounded)


def sha256(tensor: torch.Tensor) -> bytes:
    """The digest of a tensor's bytes, row-major. ModelOpt's own code has no minus zero."""
    return hashlib.sha256((tensor + 0).contiguous().view(torch.uint8).numpy().tobytes()).digest()
