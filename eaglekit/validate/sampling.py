"""Acceptance when the target samples: how much two distributions have in common, summed over the slots of a text.

n tokens of a text, T = n - 1 slots, H hidden, G target hidden, V target vocabulary, R rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from eaglekit.reference.drafting import logits, target_ids
from eaglekit.reference.model import ReferenceDrafter

PROBABILITY_BYTES = 64 << 20
"""Target probabilities held at once: about a hundred positions of a 163,840-token vocabulary in float32."""

TargetLogits = Callable[[Float[Tensor, "R G"]], Float[Tensor, "R V"]]
"""Final states of the target -> its logits."""


@dataclass(frozen=True)
class Overlap:
    """Sums over the reached slots of one text, per draft position."""

    shared: tuple[float, ...]
    """Of the sum over tokens of min(p, q): the rate at which a drafter that samples from q is accepted."""
    taken: tuple[float, ...]
    """Of p of the drafter's best token: the rate at which one that offers only its best is accepted."""


def overlap(
    drafter: ReferenceDrafter,
    normed: Sequence[Float[Tensor, "T H"]],
    reached: Sequence[Bool[Tensor, " T"]],
    final: Float[Tensor, "n G"],
    target_logits: TargetLogits,
    *,
    temperature: float,
) -> Overlap:
    """What target and drafter have in common at each draft position, at `temperature` for both.

    `normed` and `reached` have one entry per position: what the drafter's head reads, and the slots that count. Draft
    d of slot p stands for token p + 1 + d, which the target's state at p + d predicts. A draft token has a
    probability of the target's whole vocabulary; the target's tokens without a draft row have q = 0.
    """
    steps, slots = len(normed), len(final) - 1
    shared, taken = [0.0] * steps, [0.0] * steps
    ids = target_ids(drafter)
    wanted = torch.zeros(slots + 1, dtype=torch.bool, device=drafter.device)
    for step, at in enumerate(reached, 1):
        # A draft of a later step than there are slots has no token to stand for.
        wanted[step : slots + 1] |= at[: max(0, slots + 1 - step)]
    for positions in _chunks(wanted.nonzero().squeeze(-1), drafter.spec.vocab_size):
        p = (target_logits(final[positions.to(final.device)]).float() / temperature).softmax(-1).to(drafter.device)
        for step in range(steps):
            slot = positions - 1 - step
            counted = (slot >= 0) & reached[step][slot.clamp(min=0)]
            if not bool(counted.any()):
                continue
            q = (logits(drafter, normed[step][slot[counted]]).float() / temperature).softmax(-1)
            of_drafts = p[counted].index_select(-1, ids)
            shared[step] += float(torch.minimum(of_drafts, q).sum())
            taken[step] += float(of_drafts.gather(-1, q.argmax(-1, keepdim=True)).sum())
    return Overlap(tuple(shared), tuple(taken))


def _chunks(positions: Tensor, vocab_size: int) -> Sequence[Tensor]:
    return torch.split(positions, max(1, PROBABILITY_BYTES // (4 * vocab_size)))
