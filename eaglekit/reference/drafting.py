"""Drafting from every position of a text at once: the measuring form of the drafter.

n tokens of a text, T = n - 1 slots, R rows of slots, H hidden, D draft vocabulary; AG = A * G, the A captured states
of one position side by side.

Slot p holds token p + 1 and the target's states at p, at rotary position p. A round that an engine starts there sees
the real slots up to p, and then its own drafts: so no slot depends on what another one drafted, and all can be
computed together, step by step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from eaglekit.reference.attention import softmax_scale
from eaglekit.reference.fusing import fuse
from eaglekit.reference.head import embed, greedy, logits, target_ids
from eaglekit.reference.layer import fed_back, final_norm, run
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.parallel import masked_slots
from eaglekit.reference.rope import rope_of, served_length
from eaglekit.reference.slots import AttentionMass, EverySlot

__all__ = ["AttentionMass", "DraftStep", "draft_everywhere", "logits", "target_ids"]


@dataclass(frozen=True)
class DraftStep:
    """What one draft step gave at every slot."""

    depth: int
    """1 for the first draft of a round."""
    tokens: Int[Tensor, " T"]
    """Target token id drafted from each slot: at depth d, the guess for text position p + 1 + d."""
    raw: Float[Tensor, "T H"]
    """The residual stream before the final norm."""
    normed: Float[Tensor, "T H"]
    """After the final norm: what the head reads."""
    attention: AttentionMass | None
    """None unless asked for."""


def draft_everywhere(
    drafter: ReferenceDrafter,
    tokens: Int[Tensor, " n"],
    states: Float[Tensor, "n AG"],
    *,
    steps: int,
    attention: bool = False,
    forced: Sequence[Int[Tensor, " T"]] = (),
    context_length: int | None = None,
) -> Iterator[DraftStep]:
    """`steps` draft steps from every position of a text, greedily, one `DraftStep` after the other.

    `states` are the target's at each position, as `Capture.states_for` gives them. `forced` tokens, one sequence per
    step, are fed on in place of the drafted ones: what training does. `context_length` is what an engine is started
    with (its max_model_len), and matters to longrope and dynamic rope only; None is the drafter's position table.
    Once the next step is asked for, nothing of the last is held here but its keys, values and fed-back state.
    """
    slots = len(tokens) - 1
    if slots == 0:
        yield from (_nothing(drafter, depth, attention=attention) for depth in range(1, steps + 1))
        return
    length = served_length(drafter.spec, slots + steps - 1)
    rope = rope_of(drafter.spec, context_length=context_length or length, device=drafter.device)
    mix = EverySlot(scale=softmax_scale(drafter.spec), watched=attention)
    positions = torch.arange(slots, device=drafter.device)
    embedded, hidden = embed(drafter, tokens[1:].to(drafter.device)), fuse(drafter, states[:slots])
    for depth in range(1, steps + 1):
        raw = run(drafter, embedded, hidden, rope.at(positions + depth - 1), mix)
        normed = final_norm(drafter, raw)
        drafted = greedy(drafter, normed)
        yield DraftStep(depth, drafted, raw, normed, mix.take_mass())
        if depth < steps and drafter.spec.parallel_drafting:
            embedded, hidden = masked_slots(drafter, slots)
        elif depth < steps:
            following = forced[depth - 1].to(drafter.device) if forced else drafted
            embedded, hidden = embed(drafter, following), fed_back(drafter, raw, normed)
        del raw, normed, drafted


def _nothing(drafter: ReferenceDrafter, depth: int, *, attention: bool) -> DraftStep:
    """The step of a text of one token, which no slot drafts from."""
    nowhere = torch.empty(0, dtype=torch.int64, device=drafter.device)
    states = torch.empty(0, drafter.spec.hidden_size, dtype=drafter.dtype, device=drafter.device)
    shares = torch.empty(0, device=drafter.device)
    return DraftStep(depth, nowhere, states, states, AttentionMass(shares, shares, shares) if attention else None)
