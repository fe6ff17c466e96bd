"""The scales of a linear: what is wrong with them, and the factor that each stored one stands for."""

from collections.abc import Iterator, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.checkpoint import Tensor as Declared
from eaglekit.report import Finding, Refusal
from eaglekit.target.formats.elements import e4m3_values, e8m0_values
from eaglekit.target.formats.recognise import LinearFormat
from eaglekit.target.formats.table import E4M3, E8M0, Use

LARGEST_E4M3 = 0x7E
"""448. The bytes above it are NaN and the negative numbers; engines read block scales without a sign."""

LARGEST_E8M0 = 254
"""2^127. The byte above it is NaN."""


LARGEST_FACTOR = 1e35
"""Times the largest block scale and element (448 x 6) still a float32; above it weights become infinite."""


def check_scales(linear: LinearFormat, tensors: Mapping[str, Tensor]) -> tuple[Finding, ...]:
    """What is wrong with the values of the scales: errors, and warnings where a reciprocal looks mistaken.

    `tensors` are the parts of the weight by suffix, as for `dequantise`. A check of tensors on a GPU waits for it.
    """
    return tuple(_scale_findings(linear, tensors)) + tuple(_second_findings(linear, tensors))


def byte_factors(linear: LinearFormat, tensors: Mapping[str, Tensor]) -> Float[Tensor, " 256"]:
    """The factor of every scale byte, the second scale in it: float32(scale) x s2, or / s2, rounded once to float32."""
    row = linear.format
    assert row.scale is not None  # noqa: S101 - only asked for formats that have one
    device = tensors[row.scale].device
    values = e4m3_values(device) if linear.parts[row.scale].dtype in E4M3 else e8m0_values(device)
    if row.second is None:
        return values
    second = tensors[row.second].reshape(()).to(device=device, dtype=torch.float32)
    return values / second if row.second_use is Use.DIVIDE else values * second


def activation_factor(linear: LinearFormat, tensors: Mapping[str, Tensor]) -> Float[Tensor, ""]:
    """g, by which activations are multiplied before their block scales are found (`fake_quantise`), float32.

    `tensors` holds the static scale under its suffix. Raises `Refusal` when g is no positive finite number, which
    exports of experts that calibration never reached contain.
    """
    row, declared = linear.format, linear.activation
    if row.activation is None or declared is None:
        raise KeyError(f"{linear.name} has no static scale of activations")
    stored = tensors[row.activation].reshape(-1).to(torch.float32)
    factor = 1 / stored if row.activation_use is Use.DIVIDE else stored
    if factor.numel() != 1 or not bool(torch.isfinite(factor).all()) or float(factor) <= 0:
        raise Refusal(
            Finding(
                "quantisation-scale-invalid",
                f"{declared.name!r} cannot scale activations",
                place=declared.name,
                got=", ".join(f"{number:g}" for number in stored[:4].tolist()),
                expected="one positive finite number",
                hint="calibration never reached this linear: run with activations as computed (w4a16)",
            )
        )
    return factor.reshape(())


def _scale_findings(linear: LinearFormat, tensors: Mapping[str, Tensor]) -> Iterator[Finding]:
    row = linear.format
    if row.scale is None:
        return
    declared, scale = linear.parts[row.scale], tensors[row.scale]
    if declared.dtype in E4M3 | E8M0:
        scale = scale.view(torch.uint8)
        largest, expected = (
            (LARGEST_E4M3, "E4M3 numbers from 0 to 448, without a sign")
            if declared.dtype in E4M3
            else (LARGEST_E8M0, "E8M0 bytes up to 254")
        )
        # The largest byte alone is found fifty times as fast as all that are too large.
        highest = int(scale.max())
        if highest == 0 and declared.dtype in E4M3:
            yield _all_zero(linear, declared)
        if highest <= largest:
            return
        bad = scale > largest
    else:
        bad, expected = ~(torch.isfinite(scale) & (scale >= 0)), "finite numbers, none negative"
    if count := int(bad.sum()):
        first = scale[bad][0].item()
        yield Finding(
            "quantisation-scale-invalid",
            f"{declared.name!r} holds {count} scales that are no scales, of {scale.numel()}",
            place=declared.name,
            got=f"{first:#04x}" if isinstance(first, int) else f"{first:g}",
            expected=expected,
            hint="every product with them is wrong or NaN: export the target again",
        )


def _all_zero(linear: LinearFormat, declared: Declared) -> Finding:
    return Finding(
        "quantisation-scales-zero",
        f"every scale in {declared.name!r} is zero, and with them every weight of {linear.name}",
        place=declared.name,
        got="zeros",
        expected="a scale above zero for every block that has weights",
        hint="export the target again, unless that linear was pruned on purpose",
    )


def _second_findings(linear: LinearFormat, tensors: Mapping[str, Tensor]) -> Iterator[Finding]:
    row = linear.format
    if row.second is None:
        return
    declared, number = linear.parts[row.second], float(tensors[row.second].reshape(()))
    divides = row.second_use is Use.DIVIDE
    factor = (1 / number if number else float("inf")) if divides else number
    if not 0 <= factor < LARGEST_FACTOR:
        yield Finding(
            "quantisation-scale-invalid",
            f"{declared.name!r} is {number:g}; as a second scale it makes every weight of the linear useless",
            place=declared.name,
            got=f"{number:g}",
            expected="a positive finite number",
            hint="export the target again",
        )
    elif number == 0 or (number < 1 if divides else number > 1):
        yield Finding(
            "quantisation-second-scale-suspicious",
            f"{declared.name!r} is {number:g}, and {row.name} {'divides' if divides else 'multiplies'} by it:"
            f" the largest weight would be {'zero' if number == 0 else 'thousands'}",
            place=declared.name,
            got=f"{number:g}",
            expected="above 1" if divides else "between 0 and 1",
            hint="a converter may have stored the reciprocal: compare a few weights with the unquantised target",
        )
