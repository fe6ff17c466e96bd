"""Tensors as a checkpoint declares them, and linears recognised from such."""

from __future__ import annotations

from eaglekit.checkpoint.model import Tensor
from eaglekit.target.formats.recognise import LinearFormat, recognise_linear

NAME = "model.layers.0.mlp.up_proj"
Parts = dict[str, tuple[str, tuple[int, ...]]]
"""Suffix -> (dtype, shape)."""


def declare(parts: Parts, name: str = NAME) -> dict[str, Tensor]:
    """Suffix -> the tensor that a header would declare."""
    return {
        suffix: Tensor(f"{name}.{suffix}", dtype, shape, "model.safetensors", 0, 0)
        for suffix, (dtype, shape) in parts.items()
    }


def linear(parts: Parts) -> LinearFormat:
    """The format of these parts."""
    return recognise_linear(NAME, declare(parts))


def nvfp4(rows: int = 4, columns: int = 32, block: int = 16) -> Parts:
    """ModelOpt's NVFP4."""
    return {
        "weight": ("U8", (rows, columns // 2)),
        "weight_scale": ("F8_E4M3", (rows, columns // block)),
        "weight_scale_2": ("F32", ()),
    }


def compressed_nvfp4(rows: int = 4, columns: int = 32) -> Parts:
    """NVFP4 of compressed-tensors."""
    return {
        "weight_packed": ("U8", (rows, columns // 2)),
        "weight_scale": ("F8_E4M3", (rows, columns // 16)),
        "weight_global_scale": ("F32", (1,)),
    }


def fp8(scale: tuple[int, ...], rows: int = 4, columns: int = 32, suffix: str = "weight_scale") -> Parts:
    """FP8 with a scale of some shape."""
    return {"weight": ("F8_E4M3", (rows, columns)), suffix: ("F32", scale)}
