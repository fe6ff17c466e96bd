"""Readings as findings, for plans that refuse and for reports that warn."""

from __future__ import annotations

from collections.abc import Iterable

from eaglekit.engines.model import Effect, Reading, Span, Verdict
from eaglekit.engines.tables import ENGINES
from eaglekit.report import Finding, Severity


def as_findings(readings: Iterable[Reading], *, severity: Severity) -> list[Finding]:
    """One finding for each effect of each engine, with the versions it holds for.

    `severity` is for what makes a checkpoint misread or rejected; what merely degrades it is a note.
    """
    spans: dict[tuple[str, Effect], list[Span]] = {}
    for reading in readings:
        for effect in reading.effects:
            spans.setdefault((reading.engine, effect), []).append(reading.span)
    return [_finding(name, effect, _joined(found), severity) for (name, effect), found in spans.items()]


def _finding(name: str, effect: Effect, spans: list[Span], severity: Severity) -> Finding:
    engine = ENGINES[name]
    versions = " and ".join(str(span) for span in spans)
    subject = engine.title if versions == str(Span()) else f"{engine.title} {versions}"
    return Finding(
        effect.code,
        f"{subject}{effect.text.removeprefix(engine.title)}",
        place=name,
        got=effect.verdict.value,
        expected=Verdict.READS.value,
        hint=f"known from {effect.source}; `eaglekit explain {effect.code}` tells the story",
        severity=Severity.NOTE if effect.verdict is Verdict.DEGRADED else severity,
    )


def _joined(spans: list[Span]) -> list[Span]:
    """Spans with those that touch made one."""
    joined: list[Span] = []
    for span in spans:
        if joined and joined[-1].until is not None and joined[-1].until == span.since:
            joined[-1] = Span(joined[-1].since, span.until)
        else:
            joined.append(span)
    return joined


def request_findings(requested: Iterable[Reading], *, severity: Severity) -> list[Finding]:
    """What stands against engines that somebody wants to serve with; what nobody knows stands against them too."""
    findings: list[Finding] = []
    for reading in requested:
        bad = reading.verdict in (Verdict.MISREADS, Verdict.REJECTS)
        findings += as_findings([reading], severity=severity if bad else Severity.NOTE)
        findings += [_open(reading, sentence, severity) for sentence in reading.unknown]
    return findings


def _open(reading: Reading, sentence: str, severity: Severity) -> Finding:
    return Finding(
        "engine-not-known",
        f"what {ENGINES[reading.engine].title} makes of it is open: {sentence}",
        place=reading.engine,
        got="not known",
        expected=Verdict.READS.value,
        hint="where the target decides, add --target PATH_OR_ID or --set target_layers=N; else measure",
        severity=severity,
    )
