"""Scales that cannot be scales are refused; those that look like a reciprocal are said."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from eaglekit.report import Refusal
from eaglekit.report.model import Severity
from eaglekit.target.formats.dequantise import dequantise
from eaglekit.target.formats.scales import activation_factor, check_scales
from tests.target.formats.declared import Parts, compressed_nvfp4, fp8, linear, nvfp4


def modelopt(scale: int = 0x30, second: float = 1e-3) -> dict[str, Tensor]:
    """The parts of `nvfp4()`, one of its scales the byte `scale`."""
    scales = torch.full((4, 2), 0x38, dtype=torch.uint8)
    scales[2, 1] = scale
    return {
        "weight": torch.zeros(4, 16, dtype=torch.uint8),
        "weight_scale": scales.view(torch.float8_e4m3fn),
        "weight_scale_2": torch.tensor(second),
    }


def compressed(second: float) -> dict[str, Tensor]:
    """The parts of `compressed_nvfp4()`."""
    parts = modelopt(second=second)
    return {
        "weight_packed": parts["weight"],
        "weight_scale": parts["weight_scale"],
        "weight_global_scale": parts["weight_scale_2"].reshape(1),
    }


def eight_bit(scale: float) -> dict[str, Tensor]:
    """The parts of FP8 with one scale."""
    return {
        "weight": torch.zeros(4, 32, dtype=torch.uint8).view(torch.float8_e4m3fn),
        "weight_scale": torch.tensor(scale),
    }


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("parts", "tensors", "place"),
    [
        pytest.param(nvfp4(), modelopt(scale=0x7F), "weight_scale", id="NaN"),
        pytest.param(nvfp4(), modelopt(scale=0xFF), "weight_scale", id="negative NaN"),
        pytest.param(nvfp4(), modelopt(scale=0xB0), "weight_scale", id="negative"),
        pytest.param(nvfp4(), modelopt(second=NAN), "weight_scale_2", id="second scale NaN"),
        pytest.param(nvfp4(), modelopt(second=INFINITE), "weight_scale_2", id="second scale infinite"),
        pytest.param(nvfp4(), modelopt(second=-1e-3), "weight_scale_2", id="second scale negative"),
        pytest.param(compressed_nvfp4(), compressed(0.0), "weight_global_scale", id="division by zero"),
        pytest.param(fp8(()), eight_bit(NAN), "weight_scale", id="FP8 NaN"),
        pytest.param(fp8(()), eight_bit(INFINITE), "weight_scale", id="FP8 infinite"),
    ],
)
def test_a_scale_that_cannot_be_one_is_refused(parts: Parts, tensors: dict[str, Tensor], place: str) -> None:
    with pytest.raises(Refusal) as refused:
        dequantise(linear(parts), tensors)

    found = [(finding.code, finding.place.rpartition(".")[2]) for finding in refused.value.findings]
    assert found == [("quantisation-scale-invalid", place)]


def test_an_exponent_of_255_is_refused() -> None:
    parts: Parts = {"weight": ("U8", (1, 16)), "weight_scale": ("U8", (1, 1))}
    tensors = {
        "weight": torch.zeros(1, 16, dtype=torch.uint8),
        "weight_scale": torch.tensor([[255]], dtype=torch.uint8),
    }

    with pytest.raises(Refusal, match="quantisation-scale-invalid"):
        dequantise(linear(parts), tensors)


@pytest.mark.parametrize(
    ("parts", "tensors"),
    [
        pytest.param(nvfp4(), modelopt(second=34560.0), id="ModelOpt above one"),
        pytest.param(nvfp4(), modelopt(second=0.0), id="ModelOpt zero"),
        pytest.param(compressed_nvfp4(), compressed(3e-5), id="compressed-tensors below one"),
    ],
)
def test_a_second_scale_like_a_reciprocal_is_a_warning(parts: Parts, tensors: dict[str, Tensor]) -> None:
    findings = check_scales(linear(parts), tensors)

    assert [(f.code, f.severity) for f in findings] == [("quantisation-second-scale-suspicious", Severity.WARNING)]


@pytest.mark.parametrize(
    ("parts", "tensors"),
    [
        pytest.param(nvfp4(), modelopt(), id="ModelOpt"),
        pytest.param(nvfp4(), modelopt(scale=0), id="a block of zeros"),
        pytest.param(compressed_nvfp4(), compressed(34560.0), id="compressed-tensors"),
        pytest.param(fp8(()), eight_bit(0.01), id="FP8"),
    ],
)
def test_ordinary_scales_say_nothing(parts: Parts, tensors: dict[str, Tensor]) -> None:
    assert check_scales(linear(parts), tensors) == ()


@pytest.mark.parametrize(
    ("parts", "suffix", "stored", "factor"),
    [
        pytest.param(nvfp4(), "input_scale", 0.25, 4.0, id="ModelOpt stores the reciprocal"),
        pytest.param(compressed_nvfp4(), "input_global_scale", 448.0, 448.0, id="compressed-tensors the factor"),
    ],
)
def test_the_factor_of_activations_follows_the_format(parts: Parts, suffix: str, stored: float, factor: float) -> None:
    found = linear(parts | {suffix: ("F32", (1,))})

    assert activation_factor(found, {suffix: torch.tensor([stored])}).item() == factor


@pytest.mark.parametrize("stored", [0.0, NAN, -1.0, INFINITE])
def test_a_factor_that_calibration_never_reached_is_refused(stored: float) -> None:
    found = linear(nvfp4() | {"input_scale": ("F32", ())})

    with pytest.raises(Refusal, match="quantisation-scale-invalid"):
        activation_factor(found, {"input_scale": torch.tensor(stored)})
