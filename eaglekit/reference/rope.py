"""Rotary position embedding: how fast each pair of channels turns, and which channels make a pair.

T slots, R rotated channels of a head (even), P = R / 2 pairs.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from eaglekit.drafter import Attention, Rotation, Spec
from eaglekit.reference.frequencies import turning


@dataclass(frozen=True)
class Angles:
    """Cosine and sine of every pair's angle at every slot, and how channels are paired."""

    cosine: Float[Tensor, "T P"]
    sine: Float[Tensor, "T P"]
    rotation: Rotation

    def turn(self, channels: Float[Tensor, "T heads R"]) -> Float[Tensor, "T heads R"]:
        """Every pair of `channels` turned by the angle of its slot; the channels stay in their places."""
        cosine, sine = (table.to(channels.dtype).unsqueeze(1) for table in (self.cosine, self.sine))
        first, second = pairs(channels, self.rotation)
        turned = (first * cosine - second * sine, second * cosine + first * sine)
        if self.rotation is Rotation.HALVES:
            return torch.cat(turned, dim=-1)
        return torch.stack(turned, dim=-1).flatten(-2)


def pairs(
    channels: Float[Tensor, "T heads R"], rotation: Rotation
) -> tuple[Float[Tensor, "T heads P"], Float[Tensor, "T heads P"]]:
    """First and second channels of the pairs: (i, i + R/2) for halves, (2i, 2i + 1) for interleaved."""
    if rotation is Rotation.HALVES:
        half = channels.shape[-1] // 2
        return channels[..., :half], channels[..., half:]
    return channels[..., 0::2], channels[..., 1::2]


@dataclass(frozen=True)
class Rope:
    """The rotary embedding of one drafter, laid out for a context of some length."""

    frequencies: Float[Tensor, " P"]
    """Radians per position of each pair, in float32."""
    scale: float
    """Factor on every cosine and sine; 1 unless the scaling kind says otherwise."""
    rotation: Rotation

    def at(self, positions: Int[Tensor, " T"]) -> Angles:
        """The angles at `positions`, in float32."""
        angles = positions.to(torch.float32).unsqueeze(-1) * self.frequencies
        return Angles(angles.cos() * self.scale, angles.sin() * self.scale, self.rotation)


def rope_of(spec: Spec, *, context_length: int, device: torch.device | str = "cpu") -> Rope:
    """The rotary embedding of a drafter that serves `context_length` positions.

    Only longrope and dynamic depend on that length. An engine settles it once, at its start; so does this.
    """
    frequencies, scale = turning(spec, rotated_channels(spec), context_length)
    return Rope(frequencies.to(device), scale, spec.rotation)


def rotated_channels(spec: Spec) -> int:
    """R: the channels of a head that carry a position. All of them in GQA, a slice in MLA."""
    return spec.qk_rope_head_dim or 0 if spec.attention is Attention.MLA else spec.head_dim


def served_length(spec: Spec, text_length: int) -> int:
    """The context length in force: the drafter's position table, or the text where that is longer or unstated."""
    return max(spec.max_position_embeddings or 0, text_length)
