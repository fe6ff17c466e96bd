"""The report of measured speed: figures, tables and charts, and what makes them worth less than they seem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eaglekit.report import Fact, Finding, Measurement, Refusal, Report, Table
from eaglekit.report.model import Chart, Series
from eaglekit.serving.benching import PLAIN, SIDES, SPECULATING, Benched, Load, Run
from eaglekit.validate.acceptance_report import LENGTH
from eaglekit.validate.speed import Level, alike, levels
from eaglekit.validate.speed_findings import few, findings, once, too_short

RATE = "tokens/s"
RATIO = "times"


@dataclass(frozen=True)
class Subject:
    """What was measured, as the report names it."""

    name: str
    commands: Mapping[str, str]
    """Side -> the command of its server, without folders; empty for servers that ran already."""
    result: Mapping[str, Any]
    """What the report is bound to."""
    findings: tuple[Finding, ...] = ()


def report(subject: Subject, load: Load, benched: Benched) -> Report:
    """Everything that was measured. Raises `Refusal` when no answer could be timed."""
    found = list(levels(benched))
    if not found:
        raise Refusal(too_short(load))
    whole = [level for level in found if level.category is None]
    return Report(
        "bench",
        subject.name,
        facts=tuple(_facts(load, benched)),
        findings=(*subject.findings, *benched.findings, *findings(load, benched)),
        tables=(*_tables(found), _commands(subject.commands), _runs(benched)),
        measurements=(*map(_speed_up, whole), *(measured for level in whole for measured in _measurements(level))),
        charts=tuple(_charts(found)),
        result={**subject.result, "load": load_of(load)},
    )


def planned(subject: Subject, load: Load) -> Report:
    """What would be measured."""
    return Report(
        "bench", subject.name, facts=tuple(_load_facts(load)), findings=(*subject.findings, *few(load), *once(load)),
        tables=(_commands(subject.commands),), result={**subject.result, "load": load_of(load)},
    )  # fmt: skip


def load_of(load: Load) -> dict[str, Any]:
    """A load as the report is bound to it."""
    return {
        "concurrency": list(load.concurrencies),
        "repeats": load.repeats,
        "ignore_eos": load.ignore_end,
        "requests": load.requests,
        "prompts": {category: len(prompts) for category, prompts in load.prompts.items()},
        "most_output_tokens": load.most_output_tokens,
    }


def _facts(load: Load, benched: Benched) -> Iterator[Fact]:
    yield Fact("served by", benched.servers[SPECULATING].title, "read: the server")
    if benched.servers[PLAIN].title != benched.servers[SPECULATING].title:
        yield Fact("baseline served by", benched.servers[PLAIN].title, "read: the server")
    yield Fact("draft tokens", benched.servers[SPECULATING].draft_tokens, "read: the server")
    yield from _load_facts(load)
    same = alike(benched)
    yield Fact("answers alike", f"{same.pairs - same.other} of {same.pairs}", "derived: greedy answers of both servers")


def _load_facts(load: Load) -> Iterator[Fact]:
    told = load_of(load)
    yield Fact("prompts", sum(told["prompts"].values()), "read: --prompts")
    if set(load.prompts) != {""}:
        yield Fact("categories", {name or "-": count for name, count in told["prompts"].items()}, "read: --prompts")
    end = "each so long" if load.ignore_end else "to their own end"
    yield Fact("most tokens of an answer", f"{told['most_output_tokens']}, {end}", "given: options")
    yield Fact("concurrency", told["concurrency"], "given: options")
    yield Fact("rounds", load.repeats, "given: options")
    yield Fact("requests", load.requests, "derived: prompts, concurrency, rounds, two servers")


COLUMNS = (
    "concurrency", "plain, per user", "speculating, per user", "speed-up", "95 % by prompts", "by round", "in all",
    "acceptance length",
)  # fmt: skip


def _tables(found: Sequence[Level]) -> Iterator[Table]:
    title = "Tokens per second that one user gets, and the speed-up"
    yield Table("speed", title, COLUMNS, tuple(_row(level) for level in found if level.category is None))
    each = tuple((level.category or "-", *_row(level)) for level in found if level.category is not None)
    if each:
        yield Table("speed-by-category", f"{title}, by category", ("category", *COLUMNS), each)
    yield Table(
        "latency", "What a user waits for, in milliseconds",
        ("concurrency", "plain, first token", "speculating, first token", "plain, others", "speculating, others"),
        tuple(
            (level.concurrency, *(f"{1e3 * side.first_s:.1f}" for side in (level.plain, level.speculating)),
             *(f"{1e3 / side.per_user:.2f}" for side in (level.plain, level.speculating)))
            for level in found if level.category is None
        ),
    )  # fmt: skip


def _row(level: Level) -> tuple[Any, ...]:
    estimate, length = level.speed_up, level.acceptance_length
    interval = "-" if estimate.low is None or estimate.high is None else f"{estimate.low:.2f} to {estimate.high:.2f}"
    return (
        level.concurrency, f"{level.plain.per_user:.1f}", f"{level.speculating.per_user:.1f}", f"{estimate.value:.2f}",
        interval, f"{min(level.by_round):.2f} to {max(level.by_round):.2f}", f"{level.speed_up_in_all:.2f}",
        "-" if length is None else f"{length:.2f}",
    )  # fmt: skip


def _commands(commands: Mapping[str, str]) -> Table:
    return Table("servers", "The servers", ("server", "command"), tuple(commands.items()))


def _runs(benched: Benched) -> Table:
    """Every run as it was, for whoever wants other figures of it."""
    columns = (
        "server", "round", "concurrency", "category", "requests", "output_tokens", "wall_s", "later_tokens", "later_s",
        "first_s", "drafts", "accepted",
    )  # fmt: skip
    return Table("runs", "Every run", columns, tuple(_run(run) for run in benched.runs))


def _run(run: Run) -> tuple[Any, ...]:
    counted = run.counters
    return (
        run.side, run.repeat + 1, run.concurrency, run.category, len(run.replies),
        sum(len(reply.tokens) for reply in run.replies), round(run.wall_s, 6),
        sum(reply.later_tokens for reply in run.replies), round(sum(reply.later_s for reply in run.replies), 6),
        round(sum(reply.first_s for reply in run.replies), 6),
        counted.drafts if counted is not None else None, counted.accepted if counted is not None else None,
    )  # fmt: skip


def _speed_up(level: Level) -> Measurement:
    """What people look for first."""
    estimate = level.speed_up
    count = len(level.by_round)
    rounds = f"{count} round{'s' if count > 1 else ''}, {min(level.by_round):.3f} to {max(level.by_round):.3f}"
    return Measurement(
        f"speed-up per user at concurrency {level.concurrency}", estimate.value, RATIO,
        f"prompts; median of {rounds}; interval by drawing prompts", estimate.low, estimate.high, estimate.count,
    )  # fmt: skip


def _measurements(level: Level) -> Iterator[Measurement]:
    at = f"at concurrency {level.concurrency}"
    yield Measurement(
        f"speed-up of all users {at}", level.speed_up_in_all, RATIO, "output tokens of all users over time"
    )
    for side, figures in zip(SIDES, (level.speculating, level.plain), strict=True):
        yield Measurement(
            f"rate per user {at}, {side}", figures.per_user, RATE, "tokens; behind the first; median of rounds",
            count=figures.tokens,
        )  # fmt: skip
        yield Measurement(
            f"time to first token {at}, {side}", figures.first_s, "s", "requests; their median", count=figures.requests
        )
    if level.counters is not None and level.acceptance_length is not None:
        note = "rounds as the engine counts them; bonus included"
        yield Measurement(f"acceptance length {at}", level.acceptance_length, LENGTH, note, count=level.counters.drafts)


def _charts(found: Sequence[Level]) -> Iterator[Chart]:
    whole = [level for level in found if level.category is None]
    yield Chart(
        "speed-up", "Speed-up per user", "concurrency", "times the rate without speculation",
        (_series("speed-up", [(str(level.concurrency), level) for level in whole]),), kind="bar",
    )  # fmt: skip
    concurrencies = list(dict.fromkeys(level.concurrency for level in found if level.category is not None))
    if concurrencies:
        yield Chart(
            "speed-up-by-category", "Speed-up per user by category", "category", "times the rate without speculation",
            tuple(
                _series(f"concurrency {one}", [(level.category or "-", level) for level in found
                                               if level.category is not None and level.concurrency == one])
                for one in concurrencies
            ),
            kind="bar",
        )  # fmt: skip


def _series(name: str, points: Sequence[tuple[str, Level]]) -> Series:
    estimates = [level.speed_up for _, level in points]
    lows = [one.low for one in estimates if one.low is not None]
    highs = [one.high for one in estimates if one.high is not None]
    sure = len(lows) == len(highs) == len(estimates)
    return Series(
        name, tuple(label for label, _ in points), tuple(one.value for one in estimates),
        tuple(lows) if sure else (), tuple(highs) if sure else (),
    )  # fmt: skip
