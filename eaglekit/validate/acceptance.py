"""What a drafter is worth: accepted drafts over many texts, as lengths and rates with their intervals.

S drafted tokens per round; an acceptance length counts the bonus token, so its ceiling is S + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eaglekit.validate.intervals import Estimate, product_of_ratios, ratio
from eaglekit.validate.rounds import Tally


@dataclass(frozen=True, slots=True)
class TextCount:
    """What was counted in one text."""

    identity: str
    category: str
    tally: Tally
    agreeing: int
    """Tokens of the response that are the target's own most likely ones."""
    response: int
    """Tokens of the response."""
    overlap: tuple[float, ...] = ()
    """Per draft position, the sum of min(p, q) over `reached` slots; empty when the target's head was not at hand."""
    taken: tuple[float, ...] = ()
    """Per draft position, the sum over `reached` slots of the target's probability of the drafter's best token."""

    @property
    def offered(self) -> tuple[int, ...]:
        """Per draft position, the served rounds in which all earlier drafts were accepted."""
        return (self.tally.rounds, *self.tally.accepted[:-1])

    @property
    def reached(self) -> tuple[int, ...]:
        """Per draft position, the slots whose earlier drafts all equal the text."""
        return (self.tally.slots, *self.tally.slots_accepted[:-1])


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The figures of one drafter over some texts. None where nothing was observed."""

    texts: int
    measured: int
    """Texts with at least one whole round."""
    rounds: int
    slots: int
    offered: tuple[int, ...]
    """Per draft position, the served rounds in which all earlier drafts were accepted."""
    reached: tuple[int, ...]
    """Per draft position, the slots whose earlier drafts all equal the text."""
    length: Estimate | None
    """Mean tokens per target step of the served sequence, bonus included."""
    length_everywhere: Estimate | None
    """The same from every slot of the responses: more observations, so a narrower interval."""
    rates: tuple[Estimate | None, ...]
    """Per draft position, the share of served rounds in which it was accepted."""
    conditional: tuple[Estimate | None, ...]
    """The same among the rounds in which all earlier drafts were accepted."""
    conditional_everywhere: tuple[Estimate | None, ...]
    """The same among the slots, served or not, at which all earlier drafts were right."""
    sampled: tuple[Estimate | None, ...]
    """Per draft position, the mean of min(p, q) summed over tokens; empty when not measured."""
    sampled_length: Estimate | None
    taken: tuple[Estimate | None, ...]
    """Per draft position, the mean probability that the target gives the drafter's best token; empty likewise."""
    taken_length: Estimate | None
    agreement: Estimate | None
    """Share of response tokens that are the target's own most likely ones."""


def summarise(counts: Sequence[TextCount]) -> Acceptance:
    """The figures over `counts`, which all have the same number of drafted tokens."""
    steps = len(counts[0].tally.accepted) if counts else 0
    rounds = [count.tally.rounds for count in counts]
    slots = [count.tally.slots for count in counts]
    reached = [[count.reached[step] for count in counts] for step in range(steps)]
    sampling = all(count.overlap for count in counts)
    overlap = [([c.overlap[step] for c in counts], reached[step]) for step in range(steps)] if sampling else []
    taken = [([c.taken[step] for c in counts], reached[step]) for step in range(steps)] if sampling else []
    return Acceptance(
        texts=len(counts),
        measured=sum(map(bool, rounds)),
        rounds=sum(rounds),
        slots=sum(slots),
        offered=tuple(sum(count.offered[step] for count in counts) for step in range(steps)),
        reached=tuple(map(sum, reached)),
        length=ratio([sum(count.tally.accepted) for count in counts], rounds, then=_with_bonus),
        length_everywhere=ratio(everywhere(counts), slots, then=_with_bonus),
        rates=tuple(ratio([count.tally.accepted[step] for count in counts], rounds) for step in range(steps)),
        conditional=tuple(
            ratio([count.tally.accepted[step] for count in counts], [count.offered[step] for count in counts])
            for step in range(steps)
        ),
        conditional_everywhere=tuple(
            ratio([count.tally.slots_accepted[step] for count in counts], reached[step]) for step in range(steps)
        ),
        sampled=tuple(ratio(*pair) for pair in overlap),
        sampled_length=product_of_ratios(overlap),
        taken=tuple(ratio(*pair) for pair in taken),
        taken_length=product_of_ratios(taken),
        agreement=ratio([count.agreeing for count in counts], [count.response for count in counts]),
    )


def everywhere(counts: Sequence[TextCount]) -> list[int]:
    """Per text, the accepted drafts summed over every slot."""
    return [sum(count.tally.slots_accepted) for count in counts]


def by_category(counts: Sequence[TextCount]) -> dict[str, Acceptance]:
    """The figures of each category, in the order of their names; empty when no text has one."""
    names = sorted({count.category for count in counts})
    if names in ([], [""]):
        return {}
    return {name: summarise([count for count in counts if count.category == name]) for name in names}


def _with_bonus(accepted: float) -> float:
    return accepted + 1
