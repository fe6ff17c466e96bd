"""What an engine drafted and counted, beside the reference on the same text: where they part, and by how much.

n tokens of prompt and answer, T = n - 1 slots, S drafted tokens. A round starts with L known tokens, which is slot
L - 2 of the reference; its draft s stands for text position L - 1 + s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from eaglekit.serving.outcome import Answer, Round
from eaglekit.target.texts import agreed

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

NEAR: Mapping[str, float] = MappingProxyType({"float32": 1e-4, "float16": 0.005, "bfloat16": 0.04})
"""How near two logits are, as a part of their size, when rounding may decide between them. float32: two programs
differed by 5e-6 over 4508 drafts of models 64 to 128 wide, times twenty for sums a hundred times as long. bfloat16:
beside float32 it drafted otherwise at gaps of up to 0.02, 65 times in 9439 drafts of the trained fixtures; twice that.
float16 has three bits more."""

Score = Callable[[int, int, Sequence[int]], list[float | None]]
"""Slot, draft step and tokens -> the reference's logits; None for a token that it cannot draft."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token and its logits on both sides, as far as they are known."""

    token: int
    engine: float | None
    reference: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """The first draft of one round in which engine and reference part."""

    identity: str
    position: int
    """Of the text, that the draft stands for."""
    step: int
    """1 for the first draft of the round."""
    engine: Candidate | None
    """What the engine drafted; None where only its counters are known, and they tell that it was another token."""
    reference: Candidate
    tie: bool
    """Whether both candidates are so near on both sides that rounding decides."""

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"text {self.identity}, position {self.position}, draft {self.step}"


@dataclass(frozen=True, slots=True)
class Predicted:
    """What the engine must have counted over one text, if it drafts like the reference."""

    drafts: int
    least: tuple[int, ...]
    """Per draft position, the rounds in which it was accepted."""
    most: tuple[int, ...]
    """The same, when all that no text tells of was accepted: drafts that reach past the end of an answer."""


@dataclass(frozen=True, slots=True)
class TextServed:
    """One text, compared."""

    identity: str
    rounds: int
    """Rounds that were compared."""
    steps_compared: tuple[int, ...]
    """Per draft position, the rounds in which both sides drafted it after the same tokens."""
    steps_same: tuple[int, ...]
    differences: tuple[Difference, ...]
    predicted: Predicted


def compare_text(
    answer: Answer, prompt: Sequence[int], drafts: NDArray[numpy.int64], score: Score, dtypes: tuple[str, str]
) -> TextServed:
    """One answer of an engine beside the reference's drafts [S, T] from every slot of the same text."""
    tokens = [*prompt, *answer.tokens]
    beyond = beyond_the_end(answer, prompt)
    if answer.rounds is not None and beyond is None:
        # What was seen is not this text: it was seen wrongly, and its counters still stand.
        answer = replace(answer, rounds=None)
    compared, same = [0] * len(drafts), [0] * len(drafts)
    differences: list[Difference] = []
    rounds = list(seen_rounds(answer, len(prompt), len(tokens)))
    for one in rounds:
        mine = [int(token) for token in drafts[:, one.length - 2]]
        together, right = min(len(one.drafts), len(mine)), agreed(one.drafts, mine)
        step = right if right < together else None
        upto = together if step is None else step + 1
        for place in range(upto):
            compared[place] += 1
            same[place] += place != step
        if step is not None:
            differences.append(_difference(answer.identity, one, step, mine, score, dtypes))
    if answer.rounds is None and answer.accepted is not None:
        rounds_counted, differences = _by_acceptance(answer, prompt, drafts, score, dtypes)
    else:
        rounds_counted = len(rounds)
    predicted = predict([int(t) for t in beyond or tokens], len(prompt), len(tokens), drafts)
    return TextServed(answer.identity, rounds_counted, tuple(compared), tuple(same), tuple(differences), predicted)


def beyond_the_end(answer: Answer, prompt: Sequence[int]) -> tuple[int, ...] | None:
    """The text as the drafter was given it, with what lies past the end; None where that is not the same text."""
    tokens = (*prompt, *answer.tokens)
    if answer.known is None or answer.known[: len(tokens)] != tokens:
        return None
    return answer.known


def seen_rounds(answer: Answer, prompt_length: int, length: int) -> Iterator[Round]:
    """The rounds of an answer within its text: behind the pieces of a prompt that was read in several."""
    for one in answer.rounds or ():
        if prompt_length < one.length <= length:
            yield one


def predict(known: Sequence[int], prompt_length: int, length: int, drafts: NDArray[numpy.int64]) -> Predicted:
    """The counts of serving a text of `length` tokens; `known` goes on past its end as far as the engine told."""
    steps, count = len(drafts), 0
    least, most = [0] * steps, [0] * steps
    start = prompt_length + 1
    while start < length:
        mine = drafts[:, start - 2]
        count += 1
        right = 0
        while right < steps and start + right < len(known) and known[start + right] == mine[right]:
            right += 1
        # Where the text is over and every draft was right so far, the others may have been right as well.
        open_ended = start + right >= len(known)
        for place in range(steps):
            least[place] += place < right
            most[place] += place < right or open_ended
        start += right + 1
    return Predicted(count, tuple(least), tuple(most))


def near(values: Sequence[float | None], dtype: str) -> bool:
    """Whether two logits are so near that the order of a sum decides between them."""
    if len(values) != 2 or None in values:
        return False
    first, second = (float(value or 0.0) for value in values)
    return abs(first - second) <= NEAR.get(dtype, NEAR["bfloat16"]) * max(1.0, abs(first), abs(second))


def _difference(
    identity: str, one: Round, step: int, mine: Sequence[int], score: Score, dtypes: tuple[str, str]
) -> Difference:
    theirs, ours = one.drafts[step], mine[step]
    reference = score(one.length - 2, step, [theirs, ours])
    best = dict(one.best[step]) if step < len(one.best) else {}
    engine = [best.get(theirs), best.get(ours)]
    tie = near(reference, coarser(dtypes)) and (not best or near(engine, coarser(dtypes)))
    return Difference(
        identity, one.length + step, step + 1, Candidate(theirs, engine[0], reference[0]),
        Candidate(ours, engine[1], reference[1]), tie,
    )  # fmt: skip


def _by_acceptance(
    answer: Answer, prompt: Sequence[int], drafts: NDArray[numpy.int64], score: Score, dtypes: tuple[str, str]
) -> tuple[int, list[Difference]]:
    """Rounds and differences where only the number of accepted drafts of each round is known."""
    tokens, start, rounds = [*prompt, *answer.tokens], len(prompt) + 1, 0
    differences = []
    for accepted in answer.accepted or ():
        if start >= len(tokens):
            break
        rounds += 1
        mine = [int(token) for token in drafts[:, start - 2]]
        known = tokens[start : start + len(mine)]
        right = agreed(known, mine)
        step = min(accepted, right)
        # A round that was right to the end of the text: what came behind, the text does not tell.
        if accepted != right and step < len(known):
            theirs = known[step] if accepted > right else None
            wanted = [known[step], mine[step]] if accepted > right else [mine[step]]
            found = score(start - 2, step, wanted)
            engine = Candidate(theirs, None, found[0]) if theirs is not None else None
            differences.append(
                Difference(
                    answer.identity, start + step, step + 1, engine, Candidate(mine[step], None, found[-1]),
                    engine is not None and near(found, coarser(dtypes)),
                )
            )  # fmt: skip
        start += accepted + 1
    return rounds, differences


def coarser(dtypes: Sequence[str]) -> str:
    """The dtype of two that leaves more open; an unknown one counts as the coarsest."""
    return max(dtypes, key=lambda name: NEAR.get(name, NEAR["bfloat16"]))
