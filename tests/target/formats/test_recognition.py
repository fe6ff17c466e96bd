"""Which format a linear has, from its tensors alone."""

from __future__ import annotations

import pytest

from eaglekit.report import Refusal
from eaglekit.target.formats.recognise import by_module, is_dropped, recognise_linear
from eaglekit.target.formats.table import Group
from tests.target.formats.declared import NAME, Parts, compressed_nvfp4, declare, fp8, linear, nvfp4

MX = {"weight_scale": ("U8", (4, 1))}


@pytest.mark.parametrize(
    ("parts", "name", "shape", "group"),
    [
        pytest.param({"weight": ("BF16", (4, 32))}, "plain", (4, 32), Group.TENSOR, id="plain"),
        pytest.param(nvfp4(), "nvfp4-modelopt", (4, 32), Group.SIXTEEN, id="ModelOpt NVFP4"),
        pytest.param(nvfp4(block=32), "nvfp4-modelopt", (4, 32), Group.THIRTY_TWO, id="W4A8_NVFP4_FP8"),
        pytest.param(nvfp4() | {"weight": ("F4", (4, 32))}, "nvfp4-modelopt", (4, 32), Group.SIXTEEN, id="dtype F4"),
        pytest.param(
            compressed_nvfp4(), "nvfp4-compressed-tensors", (4, 32), Group.SIXTEEN, id="compressed-tensors NVFP4"
        ),
        pytest.param(
            compressed_nvfp4() | {"weight_global_scale": ("F32", ())},
            "nvfp4-compressed-tensors",
            (4, 32),
            Group.SIXTEEN,
            id="converted, global scale without an axis",
        ),
        pytest.param(
            {"weight": ("U8", (4, 16)), **MX}, "mxfp4-modelopt", (4, 32), Group.THIRTY_TWO, id="ModelOpt MXFP4"
        ),
        pytest.param(
            {"weight_packed": ("U8", (4, 16)), **MX},
            "mxfp4-compressed-tensors",
            (4, 32),
            Group.THIRTY_TWO,
            id="compressed-tensors MXFP4",
        ),
        pytest.param(
            {"blocks": ("U8", (2, 4, 3, 16)), "scales": ("U8", (2, 4, 3)), "bias": ("BF16", (2, 4))},
            "mxfp4-gpt-oss",
            (2, 4, 96),
            Group.THIRTY_TWO,
            id="gpt-oss",
        ),
        pytest.param({"weight": ("F8_E4M3", (4, 32)), **MX}, "mxfp8", (4, 32), Group.THIRTY_TWO, id="MXFP8"),
        pytest.param(fp8(()), "fp8", (4, 32), Group.TENSOR, id="FP8 per tensor"),
        pytest.param(fp8((4, 1)), "fp8", (4, 32), Group.CHANNEL, id="FP8 per row"),
        pytest.param(fp8((4,)), "fp8", (4, 32), Group.CHANNEL, id="FP8 per row, one axis"),
        pytest.param(fp8((2, 3), 200, 300), "fp8", (200, 300), Group.SQUARE, id="FP8 in squares that do not divide"),
        pytest.param(fp8((2, 1, 3, 1), 256, 384), "fp8", (256, 384), Group.SQUARE, id="FP8 in squares, four axes"),
        pytest.param(
            fp8((2, 3), 200, 300, "weight_scale_inv"), "fp8-inverse-scale", (200, 300), Group.SQUARE, id="DeepSeek FP8"
        ),
    ],
)
def test_a_format_is_known_by_its_tensors(parts: Parts, name: str, shape: tuple[int, ...], group: Group) -> None:
    found = linear(parts)

    assert (found.format.name, found.shape, found.group) == (name, shape, group)


def test_scales_of_activations_and_caches_are_no_part_of_the_weight() -> None:
    found = linear(nvfp4() | {"input_scale": ("F32", ()), "k_scale": ("F32", ()), "bias": ("BF16", (4,))})

    assert set(found.parts) == {"weight", "weight_scale", "weight_scale_2"}


def test_a_static_scale_of_activations_is_kept_for_w4a4() -> None:
    found = linear(nvfp4() | {"input_scale": ("F32", ())})

    assert found.activation is not None
    assert found.activation.name == f"{NAME}.input_scale"


@pytest.mark.parametrize("parts", [pytest.param(nvfp4(block=32), id="W4A8_NVFP4_FP8"), pytest.param(fp8(()), id="FP8")])
def test_fp8_activations_are_not_rounded_to_four_bits(parts: Parts) -> None:
    assert linear(parts | {"input_scale": ("F32", ())}).activation is None


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        pytest.param({"weight_packed": ("I32", (4, 4)), "weight_scale": ("BF16", (4, 1))}, "INT4", id="INT4"),
        pytest.param(nvfp4() | {"pre_quant_scale": ("BF16", (32,))}, "AWQ", id="NVFP4_AWQ"),
        pytest.param(nvfp4() | {"svdquant_lora_a": ("BF16", (8, 32))}, "SVDQuant", id="NVFP4_SVD"),
        pytest.param({"qdata": ("U8", (4, 16)), "scale": ("F8_E4M3", (4, 2))}, "torchao", id="torchao"),
        pytest.param({"qweight": ("I32", (4, 4)), "qzeros": ("I32", (1, 1))}, "GPTQ", id="GPTQ"),
    ],
)
def test_a_format_that_is_not_read_is_refused_by_name(parts: Parts, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        linear(parts)

    assert [finding.code for finding in refused.value.findings] == ["quantisation-unsupported"]
    assert words in refused.value.findings[0].message


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        pytest.param(nvfp4() | {"weight_scale": ("F8_E4M3", (4, 4))}, "quantisation-shape", id="groups of 8"),
        pytest.param(nvfp4() | {"weight_scale": ("F8_E4M3", (128, 4))}, "quantisation-shape", id="padded scales"),
        pytest.param(
            nvfp4(columns=40) | {"weight_scale": ("F8_E4M3", (4, 2))}, "quantisation-shape", id="inexact division"
        ),
        pytest.param(fp8((1, 2), 4, 128), "quantisation-shape", id="FP8 squares of 64"),
        pytest.param(fp8((), 4) | {"weight": ("F8_E4M3", (2, 4, 32))}, "quantisation-shape", id="fused experts"),
        pytest.param(nvfp4() | {"weight_scale_2": ("F32", (4,))}, "quantisation-shape", id="four second scales"),
        pytest.param({"weight": ("U8", (4, 16))}, "quantisation-part-missing", id="no scale"),
        pytest.param({"weight_packed": ("U8", (4, 16))}, "quantisation-part-missing", id="packed without a scale"),
        pytest.param(
            {suffix: part for suffix, part in nvfp4().items() if suffix != "weight_scale_2"},
            "quantisation-part-missing",
            id="no second scale",
        ),
        pytest.param(nvfp4() | {"mystery_scale": ("F32", ())}, "quantisation-unknown", id="unknown suffix"),
        pytest.param(nvfp4() | {"weight_packed": ("U8", (4, 16))}, "quantisation-unknown", id="two weights"),
        pytest.param(
            {"weight": ("BF16", (4, 32)), "weight_scale": ("F32", ())}, "quantisation-unknown", id="scaled BF16"
        ),
        pytest.param(
            nvfp4() | {"weight_scale_2": ("I32", ())}, "quantisation-unknown", id="whole number as second scale"
        ),
        pytest.param({}, "quantisation-unknown", id="nothing"),
    ],
)
def test_tensors_that_do_not_fit_together_are_refused(parts: Parts, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        linear(parts)

    assert {finding.code for finding in refused.value.findings} == {code}


def test_names_are_cut_at_the_last_dot_and_fused_experts_at_the_underscore() -> None:
    modules: dict[str, Parts] = {
        "a.mlp.up_proj": {"weight": ("U8", (1, 8)), "weight_scale_2": ("F32", ())},
        "a.mlp.gate": {"e_score_correction_bias": ("F32", (8,))},
    }
    tensors = {tensor.name: tensor for module, parts in modules.items() for tensor in declare(parts, module).values()}
    for ending in ("blocks", "scales", "bias"):
        tensors |= {f"a.experts.down_proj_{ending}": next(iter(declare({"x": ("U8", (1,))}).values()))}

    grouped = {module: set(parts) for module, parts in by_module(tensors).items()}

    assert grouped == {
        "a.mlp.up_proj": {"weight", "weight_scale_2"},
        "a.mlp.gate": {"e_score_correction_bias"},
        "a.experts.down_proj": {"blocks", "scales", "bias"},
    }


def test_a_module_of_cache_scales_only_is_passed_over() -> None:
    assert is_dropped(declare({"k_scale": ("F32", ())}))
    assert not is_dropped(declare({"k_scale": ("F32", ()), "weight": ("BF16", (4, 4))}))


def test_the_size_of_a_weight_is_that_of_its_parts() -> None:
    assert recognise_linear(NAME, declare(nvfp4(4, 32))).size_bytes == 4 * 16 + 4 * 2 + 4
