"""What a real engine did, as findings, a table and measurements beside the reference's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eaglekit.report import Fact, Finding, Measurement, Severity, Table
from eaglekit.serving.counters import Counters
from eaglekit.serving.outcome import Answer
from eaglekit.target.texts import Text
from eaglekit.validate.acceptance_report import LENGTH, SHARE, measurement
from eaglekit.validate.intervals import Estimate, ratio
from eaglekit.validate.served_asking import Asked
from eaglekit.validate.served_counts import Candidate, Difference, TextServed, coarser, near

PREFIX = "vllm: "
ROUNDED_SHARE = 0.02
"""Rounds in sixteen-bit arithmetic that two right programs may draft otherwise beyond near ties: a router that sends
one token to another expert changes its states, and no tie between drafts shows that."""


@dataclass(frozen=True)
class Answered:
    """One answer of the engine, beside the response that was given."""

    answer: Answer
    text: Text
    """Prompt and answer."""
    parted: int | None
    """Position of the first token that differs; None when one is the beginning of the other."""
    given: int | None = None
    """The token that the given response has there."""
    is_own: bool = False
    """Whether that is the reference target's own most likely token."""
    logits: tuple[float, float] | None = None
    """The reference target's, of the engine's token and of the given one."""


@dataclass(frozen=True)
class Served:
    """An engine's run, compared."""

    asked: Asked
    draft_tokens: int
    aux_layers: tuple[int, ...]
    """The boundaries that the reference reads."""
    dtypes: tuple[str, str]
    """Of the reference and of the engine."""
    answered: tuple[Answered, ...]
    compared: tuple[TextServed, ...]

    @property
    def exact(self) -> bool:
        """Whether both sides compute in float32, where only near ties may turn."""
        return coarser(self.dtypes) == "float32"

    @property
    def watched(self) -> bool:
        """Whether drafts were seen."""
        return any(sum(text.steps_compared) for text in self.compared)

    @property
    def rounds(self) -> int:
        """Rounds that were compared."""
        return sum(text.rounds for text in self.compared)

    @property
    def differences(self) -> list[Difference]:
        """All of them, in the order of texts and rounds."""
        return [one for text in self.compared for one in text.differences]


def facts(served: Served) -> Iterator[Fact]:
    """What served, and how it was started."""
    origin = served.asked.origin
    where = f" on {origin['device']}, {origin['dtype']}" if "device" in origin else ", a server that runs already"
    yield Fact("served by", served.asked.title + where, "read: the engine")
    if "arguments" in origin:
        yield Fact("engine arguments", json.dumps(origin["arguments"], sort_keys=True), "given: the options")
    if served.asked.unwatched:
        yield Fact("drafts in the engine", f"counted, not seen: {served.asked.unwatched}")


def findings(served: Served) -> Iterator[Finding]:
    """Everything in which engine and reference part."""
    yield from served.asked.findings
    yield from _layers(served)
    yield from _drafts(served)
    yield from _counters(served)
    yield from _answers(served)
    left = len(served.answered) - len(served.compared)
    if left:
        yield Finding(
            "served-not-compared",
            f"{left} of {len(served.answered)} answers are other texts than the captured ones, and were not compared",
            place="texts",
            got=f"{left} without states of the target",
            expected="states of every text",
            hint="give --target and --prompts in place of the capture: then the target is run over the answers",
        )


def _layers(served: Served) -> Iterator[Finding]:
    theirs = served.asked.boundaries
    if theirs is not None and served.aux_layers and theirs != served.aux_layers:
        yield Finding(
            "served-layers-differ",
            f"{served.asked.title} gives the drafter the states at boundaries {list(theirs)}, the reference those at "
            f"{list(served.aux_layers)}",
            place="aux_layers",
            got=str(list(theirs)),
            expected=str(list(served.aux_layers)),
            hint="the file says something else to the engine than to the reference: eaglekit convert writes it for "
            "both; --aux-layers states what is meant",
        )


def _drafts(served: Served) -> Iterator[Finding]:
    differences = served.differences
    ties, real = [one for one in differences if one.tie], [one for one in differences if not one.tie]
    if real:
        few = not served.exact and len(real) <= ROUNDED_SHARE * served.rounds
        yield Finding(
            "served-drafts-differ",
            f"{served.asked.title} drafts otherwise than the reference in {len(real)} of {served.rounds} rounds; the "
            f"first is at {real[0].place}: {_told(real[0], served.asked.title)}",
            place=real[0].place,
            got=_candidates(real[0], "engine"),
            expected=_candidates(real[0], "reference"),
            hint="few enough for sixteen-bit arithmetic; --dtype float32 on both sides would tell" if few
            else _where_to_look(served, real),
            severity=Severity.WARNING if few else None,
        )  # fmt: skip
    if ties:
        yield Finding(
            "served-drafts-tie",
            f"in {len(ties)} of {served.rounds} rounds two tokens are so near that rounding decides, and it decided "
            f"otherwise; the first is at {ties[0].place}: {_told(ties[0], served.asked.title)}",
            place=ties[0].place,
            got=_candidates(ties[0], "engine"),
            expected=_candidates(ties[0], "reference"),
            hint="nothing to do",
        )


def _told(one: Difference, title: str) -> str:
    """Both drafts with both sides' logits, as far as they are known."""
    mine = one.reference
    if one.engine is None:
        return f"the reference drafts {mine.token} and {title} another token"
    return (
        f"{title} drafts {one.engine.token} ({_logit(one.engine.engine)}, and {_logit(mine.engine)} for {mine.token}), "
        f"the reference {mine.token} ({_logit(mine.reference)}, and {_logit(one.engine.reference)} for "
        f"{one.engine.token})"
    )


def _candidates(one: Difference, side: str) -> str:
    """The two tokens with their logits on one side, its own first."""
    if side == "engine" and one.engine is None:
        return "another token"
    listed = [one.engine, one.reference] if side == "engine" else [one.reference, one.engine]
    return ", ".join(f"token {c.token}: {_logit(_on(c, side))}" for c in listed if c is not None)


def _on(candidate: Candidate, side: str) -> float | None:
    return candidate.engine if side == "engine" else candidate.reference


def _logit(value: float | None) -> str:
    return "no logit known" if value is None else f"logit {value:.6g}"


def _where_to_look(served: Served, real: Sequence[Difference]) -> str:
    first = sum(text.steps_same[0] for text in served.compared if text.steps_compared)
    compared = sum(text.steps_compared[0] for text in served.compared if text.steps_compared)
    if compared and first == compared and min(one.step for one in real) > 1:
        return (
            "every first draft is the same, so what is fed back differs: norm_output, or the position of later drafts"
        )
    return (
        "the input differs: the layers, fc_norm or another norm, rope, the map, or another target; eaglekit inspect "
        "tells what vLLM makes of the file"
    )


def _counters(served: Served) -> Iterator[Finding]:
    """The finding of counters that the reference's drafts cannot have made."""
    counted = served.asked.counters
    shared = any(one.code == "endpoint-other-traffic" for one in served.asked.findings)
    if counted is None or shared or len(served.compared) < len(served.answered):
        return
    low, high = predicted(served)
    off = [
        f"{name} {got}, and {_span(least, most)} by the reference"
        for name, got, least, most in _rows(counted, low, high, served.draft_tokens)
        if not least <= got <= most
    ]
    if not off or (served.watched and served.differences):
        return
    gap = max(abs(counted.accepted - bound.accepted) for bound in (low, high)) / max(1, high.accepted)
    few = not served.exact and gap <= ROUNDED_SHARE and counted.drafts
    yield Finding(
        "served-counters-differ",
        f"{served.asked.title} counts otherwise than the reference's drafts would have it: {'; '.join(off)}",
        place="counters",
        got=off[0].partition(", and ")[0],
        expected=off[0].partition(", and ")[2],
        hint="its drafts were not seen: with one GPU or CPU, without --endpoint, the first that differs is shown"
        if not served.watched
        else "its drafts are the reference's, so the counters are of other requests as well",
        severity=Severity.WARNING if few else None,
    )


def _answers(served: Served) -> Iterator[Finding]:
    other = [one for one in served.answered if one.parted is not None]
    if not other:
        return
    first = other[0]
    tie = first.logits is not None and near(first.logits, coarser(served.dtypes))
    own = [one for one in other if one.is_own]
    beyond = [one for one in own if one.logits is None or not near(one.logits, coarser(served.dtypes))]
    told = "" if first.logits is None else (
        f"; the reference's target gives {first.logits[0]:.6g} to the engine's token and {first.logits[1]:.6g} to the "
        f"given one" + (", a near tie" if tie else "")
    )  # fmt: skip
    spoken = first.answer.tokens[first.parted - first.text.prompt_length] if first.parted is not None else None
    yield Finding(
        "served-answers-differ",
        f"{served.asked.title} answers {len(other)} of {len(served.answered)} prompts otherwise than the "
        f"given responses; first text {first.text.identity}, position {first.parted}: {spoken} in place of "
        f"{first.given}{told}",
        place=f"text {first.text.identity}, position {first.parted}",
        got=f"token {spoken}",
        expected=f"token {first.given}",
        hint="the target itself computes otherwise in the engine: compare the two targets before the drafters"
        if beyond
        else "compared was what the engine answered; responses that were sampled, or written by another model, do this",
        severity=Severity.WARNING if beyond else Severity.NOTE,
    )


def predicted(served: Served) -> tuple[Counters, Counters]:
    """Least and most that an engine counts when it drafts like the reference."""
    rounds = sum(text.predicted.drafts for text in served.compared)
    bounds = []
    for name in ("least", "most"):
        each = [getattr(text.predicted, name) for text in served.compared]
        positions = tuple(sum(column) for column in zip(*each, strict=True)) or (0,) * served.draft_tokens
        bounds.append(Counters(rounds, rounds * served.draft_tokens, sum(positions), positions))
    return bounds[0], bounds[1]


def _rows(counted: Counters, low: Counters, high: Counters, steps: int) -> Iterator[tuple[str, int, int, int]]:
    yield "drafts", counted.drafts, low.drafts, high.drafts
    yield "draft tokens", counted.draft_tokens, low.draft_tokens, high.draft_tokens
    yield "accepted tokens", counted.accepted, low.accepted, high.accepted
    for place in range(min(steps, len(counted.accepted_per_position))):
        yield (
            f"accepted at draft {place + 1}", counted.accepted_per_position[place],
            low.accepted_per_position[place], high.accepted_per_position[place],
        )  # fmt: skip


def _span(least: float, most: float, form: str = "d") -> str:
    return format(least, form) if least == most else f"{least:{form}} to {most:{form}}"


def tables(served: Served) -> Iterator[Table]:
    """The engine's counters beside the reference's."""
    counted, whole = served.asked.counters, len(served.compared) == len(served.answered)
    rows: list[tuple[str, str, str]] = []
    if counted is not None:
        low, high = predicted(served)
        rows += [(name, str(got), _span(least, most) if whole else "-") for name, got, least, most in _rows(
            counted, low, high, served.draft_tokens)]  # fmt: skip
        lengths = [one.acceptance_length for one in (counted, low, high)]
        own, least, most = (f"{value:.4f}" if value is not None else "-" for value in lengths)
        rows.append(("acceptance length", own, (least if least == most else f"{least} to {most}") if whole else "-"))
    if served.watched:
        for place in range(served.draft_tokens):
            compared, same = (
                sum(getattr(text, name)[place] for text in served.compared) for name in ("steps_compared", "steps_same")
            )
            rows.append((f"draft {place + 1} after the same tokens", str(compared), f"the same {same} times"))
    if rows:
        title = f"Counted by {served.asked.title}, and by the reference on the engine's own answers"
        yield Table("served", title, ("counter", "vLLM", "reference"), tuple(rows))


def measurements(served: Served) -> Iterator[Measurement]:
    """The engine's figures, with intervals where it tells them by text."""
    counted, steps = served.asked.counters, served.draft_tokens
    if counted is not None and counted.drafts:
        each = [one.answer.counters for one in served.answered]
        parts = [one for one in each if one is not None]
        told = len(parts) == len(each)
        rounds = [one.drafts for one in parts]
        note = f"rounds as the engine counts them, last ones included; greedy; {steps} draft tokens, bonus included"
        length = ratio([one.accepted for one in parts], rounds, then=lambda mean: mean + 1) if told else None
        length = length or _plain(1 + counted.accepted / counted.drafts)
        yield from measurement(f"{PREFIX}acceptance length", length, LENGTH, counted.drafts, note)
        for place, accepted in enumerate(counted.accepted_per_position):
            rate = ratio([one.accepted_per_position[place] for one in parts], rounds) if told else None
            rate = rate or _plain(accepted / counted.drafts)
            name = f"{PREFIX}acceptance rate at draft {place + 1}"
            yield from measurement(name, rate, SHARE, counted.drafts, "rounds as the engine counts them")
    if served.rounds:
        same = 1 - len(served.differences) / served.rounds
        what = "every draft is the same" if served.watched else "as many drafts are accepted"
        name = f"{PREFIX}rounds like the reference's"
        yield from measurement(name, _plain(same), SHARE, served.rounds, f"rounds; {what}")


def _plain(value: float) -> Estimate:
    return Estimate(value, None, None, 1)
