"""What was captured of a target: for every text the states a drafter reads, the final state and the argmax.

n tokens of one text, B captured boundaries, G the target's hidden size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from eaglekit.report import Finding
from eaglekit.target.texts import Text


@dataclass(frozen=True)
class CapturedText:
    """One text and what the target computed over it, teacher-forced, in one causal pass."""

    text: Text
    states: Float[Tensor, "n B G"]
    """The residual stream at each captured boundary, ascending; boundary N is before the final norm."""
    final: Float[Tensor, "n G"]
    """After the final norm: what the target's head reads."""
    argmax: Int[Tensor, " n"]
    """The target's most likely next token after each position."""


@dataclass(frozen=True)
class Capture:
    """Captured texts of one target under one arithmetic; good for any drafter that reads these boundaries."""

    boundaries: tuple[int, ...]
    """Captured boundary indices, ascending: k = the residual stream after k blocks."""
    num_layers: int
    """N, the target's blocks."""
    hidden_size: int
    """G."""
    vocab_size: int
    """V."""
    target: Mapping[str, str]
    """What it was captured from: label, content digest, arithmetic (activations), dtype, device kind, versions."""
    texts: Sequence[CapturedText]
    findings: tuple[Finding, ...] = ()
    """What is doubtful about the target's weights, as far as it was seen while they were read; not kept in files."""

    def states_for(self, text: CapturedText, boundaries: Sequence[int]) -> Float[Tensor, "n _"]:
        """The states at `boundaries`, one beside the other in that order: [n, A*G].

        Raises `KeyError` for one that was not captured.
        """
        columns = {boundary: column for column, boundary in enumerate(self.boundaries)}
        return torch.cat([text.states[:, columns[boundary]] for boundary in boundaries], dim=-1)
