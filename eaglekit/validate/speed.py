"""What speculation is worth in time: rates per user on both sides, and their ratio with its spread.

M prompts, N rounds. A user's rate is the tokens behind the first piece of an answer over the time they took, the
inverse of what others call time per output token; of several answers it is the sum over the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from eaglekit.serving.benching import PLAIN, SPECULATING, Benched, Run
from eaglekit.serving.counters import Counters
from eaglekit.target.texts import agreed
from eaglekit.validate.intervals import Estimate, ends, weights
from eaglekit.validate.served_asking import total

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Side:
    """One server's figures at one concurrency; each the median over rounds."""

    per_user: float
    """Tokens per second that one user gets, behind the first."""
    in_all: float
    """Tokens per second that all users get, waiting for prompts included."""
    first_s: float
    """Seconds to the first token, of the median request."""
    requests: int
    """In one round."""
    tokens: int
    """Of all answers of all rounds."""


@dataclass(frozen=True)
class Level:
    """Both servers at one concurrency, on one category or on all."""

    category: str | None
    """None for all of them together; empty for prompts without one."""
    concurrency: int
    plain: Side
    speculating: Side
    speed_up: Estimate
    """Ratio of the rates per user: the median over rounds, with an interval from drawing prompts."""
    by_round: tuple[float, ...]
    """The same ratio round by round."""
    speed_up_in_all: float
    """Ratio of what all users get together, the median over rounds."""
    counters: Counters | None
    """Of the server that speculates, all rounds."""

    @property
    def acceptance_length(self) -> float | None:
        """Tokens per target step, bonus included; None where nothing was counted."""
        return self.counters.acceptance_length if self.counters is not None else None


def levels(benched: Benched) -> Iterator[Level]:
    """Every concurrency, first over all categories and then each; what has no rate is left out."""
    concurrencies = list(dict.fromkeys(run.concurrency for run in benched.runs))
    categories = list(dict.fromkeys(run.category for run in benched.runs))
    groups: list[tuple[str | None, list[str]]] = [
        (None, categories),
        *((name, [name]) for name in categories if len(categories) > 1),
    ]
    for name, members in groups:
        for concurrency in concurrencies:
            runs = [run for run in benched.runs if run.concurrency == concurrency and run.category in members]
            level = _level(name, concurrency, runs)
            if level is not None:
                yield level


def _level(category: str | None, concurrency: int, runs: Sequence[Run]) -> Level | None:
    by_round: dict[str, dict[int, list[Run]]] = {PLAIN: {}, SPECULATING: {}}
    for run in runs:
        by_round[run.side].setdefault(run.repeat, []).append(run)
    plain, speculating = by_round[PLAIN], by_round[SPECULATING]
    estimated = speed_up(plain, speculating)
    if estimated is None:
        return None
    estimate, rounds = estimated
    sides = {name: _side(parts) for name, parts in by_round.items()}
    together = [_in_all(speculating[one]) / _in_all(plain[one]) for one in sorted(plain)]
    counted = [run.counters for run in runs if run.side == SPECULATING and run.counters is not None]
    return Level(
        category,
        concurrency,
        sides[PLAIN],
        sides[SPECULATING],
        estimate,
        rounds,
        median(together),
        total(counted) if counted else None,
    )


def speed_up(
    plain: Mapping[int, Sequence[Run]], speculating: Mapping[int, Sequence[Run]]
) -> tuple[Estimate, tuple[float, ...]] | None:
    """The ratio of rates: its median over rounds with the 95 % interval, and the rounds; None when nothing was timed.

    Each resample draws the same prompts for both servers and for every round, so what is easy to draft is so on both
    sides of the interval; what differs from round to round is told by the rounds themselves.
    """
    import numpy

    (a, b), (c, d) = _sums(speculating), _sums(plain)
    # Like with like: a prompt that one server's answer leaves without a time counts for neither.
    both = (a > 0) & (c > 0)
    if not both.any():
        return None
    prompts_timed, rounds_timed = both.any(axis=1), both.any(axis=0)
    a, b, c, d = (numpy.where(both, one, 0)[prompts_timed][:, rounds_timed] for one in (a, b, c, d))
    tops = [one.sum(axis=0) for one in (a, b, c, d)]
    rounds = tuple(float(value) for value in (tops[0] / tops[1]) / (tops[2] / tops[3]))
    prompts = len(a)
    if prompts < 2:
        return Estimate(median(rounds), None, None, prompts), rounds
    drawn = weights(prompts)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        ratios = (drawn @ a / (drawn @ b)) / (drawn @ c / (drawn @ d))
    low, high = ends(numpy.nanmedian(ratios, axis=1))
    return Estimate(median(rounds), low, high, prompts), rounds


def _sums(rounds: Mapping[int, Sequence[Run]]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """Tokens and seconds behind the first piece of every answer, each [M, N]."""
    import numpy

    replies = [[reply for run in rounds[one] for reply in run.replies] for one in sorted(rounds)]
    tokens = numpy.asarray([[reply.later_tokens for reply in row] for row in replies], "<f8").T
    seconds = numpy.asarray([[reply.later_s for reply in row] for row in replies], "<f8").T
    return tokens, seconds


def _side(rounds: Mapping[int, Sequence[Run]]) -> Side:
    replies = {one: [reply for run in parts for reply in run.replies] for one, parts in rounds.items()}
    sums = [(sum(one.later_tokens for one in row), sum(one.later_s for one in row)) for row in replies.values()]
    return Side(
        per_user=median(tokens / seconds for tokens, seconds in sums if seconds),
        in_all=median(_in_all(parts) for parts in rounds.values()),
        first_s=median(median(reply.first_s for reply in row) for row in replies.values()),
        requests=max(map(len, replies.values())),
        tokens=sum(len(reply.tokens) for row in replies.values() for reply in row),
    )


def _in_all(runs: Sequence[Run]) -> float:
    """Tokens per second of categories that follow each other."""
    return sum(len(reply.tokens) for run in runs for reply in run.replies) / sum(run.wall_s for run in runs)


@dataclass(frozen=True)
class Alike:
    """The answers of both servers side by side."""

    pairs: int
    other: int
    """Pairs in which the two part."""
    first: str
    """Where the first of them parts; empty without one."""


def alike(benched: Benched) -> Alike:
    """Whether both servers answered the same: a pair per prompt, concurrency and round."""
    found: dict[tuple[int, int, str], dict[str, Run]] = {}
    for run in benched.runs:
        found.setdefault((run.repeat, run.concurrency, run.category), {})[run.side] = run
    pairs, told = 0, []
    for (_, concurrency, _), sides in found.items():
        for plain, other in zip(sides[PLAIN].replies, sides[SPECULATING].replies, strict=True):
            pairs += 1
            if plain.tokens != other.tokens:
                at = agreed(plain.tokens, other.tokens)
                told.append(f"prompt {plain.identity} at concurrency {concurrency}, token {at + 1} of the answer")
    return Alike(pairs, len(told), told[0] if told else "")
