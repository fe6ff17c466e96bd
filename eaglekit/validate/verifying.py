"""What is said at the end of a verification: every claim with its verdict, and one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eaglekit.report import Fact, Finding, Report, Severity, Table
from eaglekit.report.model import shortened
from eaglekit.validate.claims import RULE, Claim, Outcome, Verdict, near
from eaglekit.validate.protocol import Protocol

COLUMNS = ("claim", "claimed", "measured now", "verdict", "why")
NAMED = 3
"""Errors that the last sentence names."""
SHOWN = 8
"""Names that one warning lists."""


@dataclass(frozen=True)
class Repeated:
    """A protocol, what it gave here, and what stood in the way."""

    protocol: Protocol
    measured: Report | None
    """The validation that was made here, as far as it got."""
    outcomes: tuple[Outcome, ...]
    elsewhere: tuple[str, ...]
    """In what the arithmetic differs from the report's."""
    same_tool: bool
    """Whether versions of everything that computes are those of the report."""
    again: str = ""
    """The command that would repeat it, with every option that something is missing for."""

    @property
    def figures(self) -> tuple[Outcome, ...]:
        """The outcomes of what the report measures; its tables and charts show the same again."""
        return tuple(outcome for outcome in self.outcomes if outcome.claim.place == "measurements")

    @property
    def nothing(self) -> bool:
        """Whether no figure at all was measured again."""
        return all(outcome.verdict is Verdict.NOT_REPEATED for outcome in self.figures)

    def sentence(self) -> str:
        """The outcome in one sentence."""
        counts = Counter(outcome.verdict for outcome in self.figures)
        others = [outcome for outcome in self.outcomes if outcome not in self.figures]
        wrong = sum(outcome.verdict is Verdict.FAILS for outcome in others)
        total = len(self.figures)
        if not counts[Verdict.HOLDS] + counts[Verdict.FAILS]:
            return f"none of {total} measured figures could be repeated here, so none of them is confirmed"
        parts = [f"{counts[Verdict.HOLDS]} of {total} measured figures hold"]
        if counts[Verdict.FAILS]:
            parts.append(f"{counts[Verdict.FAILS]} do{'es' if counts[Verdict.FAILS] == 1 else ''} not hold")
        if counts[Verdict.NOT_REPEATED]:
            one = counts[Verdict.NOT_REPEATED] == 1
            parts.append(f"{counts[Verdict.NOT_REPEATED]} {'was' if one else 'were'} not repeated here")
        if wrong:
            parts.append(f"{wrong} other statement{'s do' if wrong > 1 else ' does'} not hold")
        return ", ".join(parts)


def verification(subject: str, repeated: Repeated, facts: Sequence[Fact], findings: Sequence[Finding]) -> Report:
    """The report on a verification. `facts` and `findings` are about where the files came from, and the card."""
    found = [*findings, *_findings(repeated)]
    measured = repeated.measured
    return Report(
        "verify",
        subject,
        facts=(*facts, *_facts(repeated)),
        findings=tuple(shortened(list(dict.fromkeys(found)))),
        tables=(Table("claims", "Claims", COLUMNS, tuple(_rows(repeated))),),
        measurements=measured.measurements if measured is not None else (),
        charts=measured.charts if measured is not None else (),
        result={
            "claims": [outcome.as_json() for outcome in repeated.outcomes],
            "summary": {
                verdict.value: sum(outcome.verdict is verdict for outcome in repeated.outcomes) for verdict in Verdict
            },
            "sentence": repeated.sentence() + _errors_besides(found),
            "rule": RULE,
            "measured": dict(measured.result) if measured is not None else None,
        },
    )


def _facts(repeated: Repeated) -> Iterator[Fact]:
    protocol, settings = repeated.protocol, repeated.protocol.settings
    decided = {name: settings[name] for name in ("draft_tokens", "depth", "temperature", "generate", "limit")}
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in decided.items() if value is not None)
    yield Fact("protocol", told, "read: report.json result.settings")
    claimed = f"{protocol.dtype} on {protocol.device}"
    told = "the same" if not repeated.elsewhere else "; ".join(repeated.elsewhere)
    yield Fact("arithmetic", f"claimed with {claimed}; here: {told}", "read: report.json result.arithmetic")
    yield Fact("rule", RULE, "rule: docs/verify.md")


def _errors_besides(findings: Sequence[Finding]) -> str:
    """The errors that are about something else than a claim that was measured again, for the end of a sentence."""
    told = ("verify-claim-fails", "verify-nothing-repeated")
    errors = [f for f in dict.fromkeys(findings) if f.severity is Severity.ERROR and f.code not in told]
    if not errors:
        return ""
    named = "; ".join(f"{finding.message} ({finding.code})" for finding in errors[:NAMED])
    more = f"; and {len(errors) - NAMED} more" if len(errors) > NAMED else ""
    return f"; {len(errors)} error{'s' if len(errors) > 1 else ''}: {named}{more}"


def _rows(repeated: Repeated) -> Iterator[tuple[str, str, str, str, str]]:
    """A row for every measurement, unless none was repeated, and for whatever else does not hold."""
    for outcome in repeated.outcomes:
        claim = outcome.claim
        figure = claim.place == "measurements" and not repeated.nothing
        if figure or outcome.verdict is Verdict.FAILS:
            name = claim.name if claim.place == "measurements" else f"{claim.place}: {claim.name}"
            now = shown(outcome.now) if outcome.now is not None else "-"
            yield name, shown(claim), now, outcome.verdict.value, outcome.why


def shown(claim: Claim) -> str:
    """A claim as a table shows it."""
    if isinstance(claim.value, bool) or not isinstance(claim.value, (int, float)):
        text = str(claim.value)
        return text if len(text) <= 100 else f"{text[:97]}..."
    interval = claim.interval
    return f"{claim.value:.4g}" + (f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval is not None else "")


def _findings(repeated: Repeated) -> Iterator[Finding]:
    for outcome in repeated.outcomes:
        if outcome.verdict is Verdict.FAILS:
            yield _fails(outcome)
    if repeated.nothing:
        yield _nothing(repeated)
    yield from _not_repeated([] if repeated.nothing else repeated.outcomes)
    measured = repeated.measured
    if measured is None:
        return
    yield from (finding for finding in measured.findings if finding.severity is Severity.ERROR)
    yield from _otherwise_read(measured)
    yield from _other_texts(repeated, measured.result)
    if repeated.elsewhere:
        yield _elsewhere(repeated)
    elif repeated.same_tool:
        yield from _moved(repeated.figures)


def _fails(outcome: Outcome) -> Finding:
    claim = outcome.claim
    return Finding(
        "verify-claim-fails",
        f"{claim.name} does not hold: {outcome.why}",
        place=f"report.json: {claim.place}",
        got=shown(outcome.now) if outcome.now is not None else "nothing of this name",
        expected=shown(claim),
        hint="the files are those of the report: its figures are not what they give here",
    )


def _nothing(repeated: Repeated) -> Finding:
    figures = repeated.figures
    why = figures[0].why if figures else "the report measures nothing"
    return Finding(
        "verify-nothing-repeated",
        f"no figure of the report was repeated: {why}",
        place="report.json",
        got="nothing measured",
        expected="the figures of the report, measured again",
        hint=f"nothing is confirmed; with what is missing: {repeated.again}"
        if repeated.again
        else "nothing is confirmed: give what is missing, then run the command again",
    )


def _not_repeated(outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    """One warning for each reason."""
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.verdict is Verdict.NOT_REPEATED:
            reasons.setdefault(outcome.why, []).append(outcome.claim.name)
    for why, names in reasons.items():
        yield Finding(
            "verify-not-repeated",
            f"{len(names)} claim{'s were' if len(names) > 1 else ' was'} not repeated here: {why}",
            place="report.json",
            got=", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""),
            expected="the same measured again",
            hint="they are neither confirmed nor refuted",
        )


def _otherwise_read(measured: Report) -> Iterator[Finding]:
    """The report was made with options against the file: an engine reads the file."""
    for finding in measured.findings:
        if finding.code == "overruled":
            yield Finding(
                "verify-read-otherwise",
                f"the report was made with options that contradict the file: {finding.message}",
                place="report.json: settings",
                got=finding.got,
                expected=finding.expected,
                hint="its figures are not those of the file as engines read it",
            )


def _other_texts(repeated: Repeated, result: Mapping[str, Any]) -> Iterator[Finding]:
    """The same file gave other texts here."""
    claimed, got = repeated.protocol.texts, result.get("texts", {}).get("digest")
    if claimed is None or got is None or claimed == got:
        return
    answered = repeated.protocol.settings["generate"] is not None
    yield Finding(
        "verify-texts-other",
        "the target answered otherwise here than for the report"
        if answered
        else "the prompts became other texts here than for the report",
        place="texts",
        got=str(got),
        expected=claimed,
        hint="one near tie changes the rest of an answer: figures are compared by their intervals"
        if answered
        else "the target's tokenizer or chat template is another one",
        severity=Severity.NOTE if answered else Severity.ERROR,
    )


def _elsewhere(repeated: Repeated) -> Finding:
    return Finding(
        "verify-arithmetic-other",
        f"it is computed otherwise here than for the report: {', '.join(repeated.elsewhere)}",
        place="arithmetic",
        hint="figures may differ within their intervals; --device and --dtype choose",
    )


def _moved(figures: Sequence[Outcome]) -> Iterator[Finding]:
    """Figures that hold, though nothing explains why they are not the same."""
    moved = [
        outcome
        for outcome in figures
        if outcome.verdict is Verdict.HOLDS
        and outcome.now is not None
        and not near(outcome.claim.value, outcome.now.value)
    ]
    if moved:
        first = moved[0]
        assert first.now is not None  # noqa: S101 - selected so
        yield Finding(
            "verify-claim-moved",
            f"{len(moved)} figure{'s are' if len(moved) > 1 else ' is'} another one than claimed, with the same files, "
            f"texts, arithmetic and versions: {', '.join(outcome.claim.name for outcome in moved[:SHOWN])}",
            place="report.json: measurements",
            got=shown(first.now),
            expected=shown(first.claim),
            hint="within its interval, but the same run gives the same number: ask the publisher",
        )
