"""How fast the pairs of a rotary embedding turn, for every scaling kind a drafter can state.

R rotated channels of a head, P = R / 2 pairs. Computed on the CPU in float32, as transformers and vLLM do.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.drafter import Attention, Spec

Turning = tuple[Float[Tensor, " P"], float]
"""Radians per position of every pair, and the factor on its cosines and sines."""

ORIGINAL = "original_max_position_embeddings"


def turning(spec: Spec, channels: int, context_length: int) -> Turning:
    """How the pairs of `channels` rotated channels turn in a context of `context_length` positions."""
    return KINDS[spec.rope.kind](spec, channels, context_length)


def periods(theta: float, channels: int) -> Float[Tensor, " P"]:
    """Positions per radian of every pair: theta^(2i/R), the fastest pair first."""
    return theta ** (torch.arange(0, channels, 2, dtype=torch.int64).to(torch.float32) / channels)


def _default(spec: Spec, channels: int, context_length: int) -> Turning:
    return 1.0 / periods(spec.rope.theta, channels), 1.0


def _linear(spec: Spec, channels: int, context_length: int) -> Turning:
    """Every position divided by the factor."""
    return 1.0 / periods(spec.rope.theta, channels) / float(spec.rope.parameters["factor"]), 1.0


def _dynamic(spec: Spec, channels: int, context_length: int) -> Turning:
    """Theta grows once the context is longer than the position table; within it, nothing is scaled."""
    factor, table, theta = float(spec.rope.parameters["factor"]), spec.max_position_embeddings, spec.rope.theta
    if table is not None and context_length > table:
        stretch = factor * context_length / table - (factor - 1)
        theta *= stretch ** (channels / (channels - 2))
    return 1.0 / periods(theta, channels), 1.0


def _llama3(spec: Spec, channels: int, context_length: int) -> Turning:
    """Slow pairs divided by the factor, fast ones kept, a straight line between the two wavelengths."""
    numbers, plain = spec.rope.parameters, 1.0 / periods(spec.rope.theta, channels)
    factor, low, high = (float(numbers[key]) for key in ("factor", "low_freq_factor", "high_freq_factor"))
    turns = original_length(spec) * plain / (2 * math.pi)  # full turns of each pair within the original length
    kept = ((turns - low) / (high - low)).clamp(0.0, 1.0) if high != low else (turns > high).to(torch.float32)
    return (1 - kept) * plain / factor + kept * plain, 1.0


def _yarn(spec: Spec, channels: int, context_length: int) -> Turning:
    """Pairs that turn often are kept, pairs that turn rarely are divided by the factor, a ramp between them."""
    numbers, spread = spec.rope.parameters, periods(spec.rope.theta, channels)
    factor = float(numbers["factor"])

    def pair_that_turns(times: float) -> float:
        """The (fractional) pair that makes so many full turns within the original length."""
        return channels * math.log(original_length(spec) / (times * 2 * math.pi)) / (2 * math.log(spec.rope.theta))

    first = pair_that_turns(float(numbers.get("beta_fast") or 32))
    last = pair_that_turns(float(numbers.get("beta_slow") or 1))
    if numbers.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, channels - 1)
    if first == last:
        last += 0.001  # the ramp is then a step; the same width in transformers and vLLM
    slowed = ((torch.arange(channels // 2, dtype=torch.float32) - first) / (last - first)).clamp(0.0, 1.0)
    return slowed / (factor * spread) + (1 - slowed) / spread, _yarn_scale(spec)


def _yarn_scale(spec: Spec) -> float:
    """DeepSeek's ratio of two corrections for MLA, the attention factor of the Yarn paper for everything else."""
    numbers = spec.rope.parameters
    factor = float(numbers["factor"])
    if spec.attention is Attention.MLA:
        # vLLM deepseek_scaling_rope.py: mscale is 1 and mscale_all_dim 0 where they are not stated.
        return correction(factor, numbers.get("mscale", 1.0)) / correction(factor, numbers.get("mscale_all_dim", 0.0))
    if numbers.get("attention_factor") is not None:
        return float(numbers["attention_factor"])
    if numbers.get("mscale") and numbers.get("mscale_all_dim"):
        return correction(factor, numbers["mscale"]) / correction(factor, numbers["mscale_all_dim"])
    return correction(factor, 1.0)


def correction(factor: float, mscale: float | int) -> float:
    """Yarn's `mscale`: how much attention grows with the logarithm of the factor."""
    return 0.1 * mscale * math.log(factor) + 1.0 if factor > 1 else 1.0


def _longrope(spec: Spec, channels: int, context_length: int) -> Turning:
    """One divisor per pair, from the short or the long list by the length of the context."""
    numbers, original = spec.rope.parameters, original_length(spec)
    which = "long" if context_length > original else "short"
    divisors = torch.tensor([float(divisor) for divisor in numbers[f"{which}_factor"]], dtype=torch.float32)
    return 1.0 / (divisors * periods(spec.rope.theta, channels)), _longrope_scale(spec, numbers, which)


def _longrope_scale(spec: Spec, numbers: Mapping[str, Any], which: str) -> float:
    """What the list states, else what the file states, else by how much the position table outgrew the original."""
    for stated in (numbers.get(f"{which}_mscale"), numbers.get("attention_factor")):
        if stated is not None:
            return float(stated)
    original = original_length(spec)
    growth = float(numbers.get("factor") or (spec.max_position_embeddings or original) / original)
    return math.sqrt(1 + math.log(growth) / math.log(original)) if growth > 1 else 1.0


def original_length(spec: Spec) -> float:
    """The length before scaling; the position table's where the scaling does not say."""
    return float(spec.rope.parameters.get(ORIGINAL) or spec.max_position_embeddings or 0)


KINDS: Mapping[str, Callable[[Spec, int, int], Turning]] = MappingProxyType({
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "llama3": _llama3,
    "yarn": _yarn,
    "longrope": _longrope,
})  # fmt: skip
"""Scaling kind -> its mathematics. Sources: transformers modeling_rope_utils.py, vllm/.../rotary_embedding."""
