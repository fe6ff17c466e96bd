"""The rotation of MLA in vLLM on a CPU, which is left out there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglekit.report import Finding


def has_latent_attention(text_config: Mapping[str, Any]) -> bool:
    """Whether a target's attention is MLA, by the rank of its keys and values."""
    return bool(text_config.get("kv_lora_rank"))


def plain_rotation(expected: str) -> Finding:
    """The note that vLLM was kept from using its own kernel; `expected` is what that is for."""
    return Finding(
        "served-plain-rotation",
        "vLLM rotates in plain torch here: its CPU kernel turns interleaved queries wrongly",
        place="engine",
        got="custom_ops: -rotary_embedding",
        expected=expected,
        hint="nothing to do here; serving MLA models with vLLM on a CPU needs the same setting",
    )
