"""From drafts at every slot to what a server would have accepted: counting, and nothing else.

n tokens of a text, T = n - 1 slots, S drafted tokens. Slot p holds token p + 1 beside the state of token p, so its
draft s (1-based) stands for token p + 1 + s. The text is what the target said: a draft is accepted when it and all
drafts before it equal the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Tally:
    """What was counted in one text, for S drafted tokens."""

    rounds: int
    """Complete rounds of the served sequence."""
    accepted: tuple[int, ...]
    """Per draft position, the served rounds in which it was accepted."""
    slots: int
    """Slots of the response from which all S drafts can be compared with the text."""
    slots_accepted: tuple[int, ...]
    """Per draft position, the slots at which it would have been accepted."""


def accepted_lengths(drafts: NDArray[numpy.int64], tokens: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
    """Per slot, how many leading drafts equal the text, [T]. `drafts` is [S, T]; past the text nothing is equal."""
    import numpy

    steps, slots = drafts.shape
    equal = numpy.zeros((steps, slots), bool)
    for step in range(steps):
        known = max(0, slots - 1 - step)
        equal[step, :known] = drafts[step, :known] == tokens[2 + step :][:known]
    lengths: NDArray[numpy.int64] = numpy.logical_and.accumulate(equal, axis=0).sum(axis=0)
    return lengths


def complete_slots(length: int, prompt_length: int, steps: int) -> range:
    """The slots of the response whose drafts all lie within a text of `length` tokens.

    The first is the one that holds the target's first own token. A later slot would tell of rejections only, since
    an acceptance past the end cannot be seen; counting it would bend every average downwards.
    """
    return range(prompt_length - 1, max(prompt_length - 1, length - 1 - steps))


def served_slots(accepted: NDArray[numpy.int64], complete: range) -> list[int]:
    """Where rounds start when the text is served: each one jumps over its accepted drafts and the bonus token."""
    slots, slot = [], complete.start
    while slot < complete.stop:
        slots.append(slot)
        slot += int(accepted[slot]) + 1
    return slots


def tally(drafts: NDArray[numpy.int64], tokens: NDArray[numpy.int64], prompt_length: int) -> Tally:
    """What a server that drafts S tokens would have counted over one text, and the same over every slot."""
    accepted = accepted_lengths(drafts, tokens)
    complete = complete_slots(len(tokens), prompt_length, len(drafts))
    served = accepted[served_slots(accepted, complete)]
    every = accepted[complete.start : complete.stop]
    positions = range(1, len(drafts) + 1)
    return Tally(
        rounds=len(served),
        accepted=tuple(int((served >= position).sum()) for position in positions),
        slots=len(every),
        slots_accepted=tuple(int((every >= position).sum()) for position in positions),
    )


def agreement(argmax: NDArray[numpy.int64], tokens: NDArray[numpy.int64], prompt_length: int) -> tuple[int, int]:
    """How many tokens of the response are the target's own most likely ones, and how many it has."""
    own = argmax[prompt_length - 1 : len(tokens) - 1] == tokens[prompt_length:]
    return int(own.sum()), len(own)
