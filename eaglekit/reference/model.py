"""A drafter with its weights in memory, bound to roles: what the rest of this room computes with.

T slots, H hidden, A captured states, G target hidden, D draft vocabulary, V target vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from eaglekit.drafter import Part, Role, Spec


@dataclass(frozen=True)
class ReferenceDrafter:
    """The spec of a drafter and every tensor its function needs, on one device in one dtype.

    `weights` holds embedding and head under their roles also when they are the target's.
    """

    spec: Spec
    weights: Mapping[Role, Tensor]

    def weight(self, part: Part, number: int | None = None) -> Tensor:
        """The tensor of a role. Raises `KeyError` for one the drafter does not have."""
        return self.weights[Role(part, number)]

    def optional(self, part: Part, number: int | None = None) -> Tensor | None:
        """The tensor of a role, or None."""
        return self.weights.get(Role(part, number))

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.weight(Part.FINAL_NORM).device

    @property
    def dtype(self) -> torch.dtype:
        """The floating-point type that is computed in."""
        return self.weight(Part.FINAL_NORM).dtype
