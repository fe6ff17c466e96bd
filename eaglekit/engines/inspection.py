"""The report of `inspect`: what a checkpoint is, where each fact comes from, what every engine makes of it as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import Read, read
from eaglekit.dialects.target import Target
from eaglekit.dialects.target_checks import fit
from eaglekit.drafter import Spec
from eaglekit.engines.evaluate import readings, select
from eaglekit.engines.findings import request_findings
from eaglekit.engines.model import Artefact, Reading, Request, Verdict
from eaglekit.report import Fact, Finding, Refusal, Report, Severity, Table
from eaglekit.report.model import shortened


def inspect(
    checkpoint: Checkpoint, given: Given, target: Target | None = None, requests: Sequence[Request] = ()
) -> Report:
    """Everything known about a checkpoint. What is wrong is in the findings; only a stranger raises `Refusal`.

    With `requests` the findings also hold what stands against these engines reading the file as it is.
    """
    base = Report("inspect", checkpoint.source.label, facts=tuple(_folder_facts(checkpoint)))
    try:
        outcome = read(checkpoint, given)
    except Refusal as refusal:
        raise Refusal(*checkpoint.findings, *refusal.findings, report=base) from None
    findings: list[Finding] = [*checkpoint.findings, *outcome.findings]
    spec = outcome.drafter.spec if outcome.drafter is not None else None
    if target is not None and outcome.drafter is not None:
        # The file as it is keeps its own position table; only the checks are wanted here.
        findings += fit(outcome, target)[1]
    facts = [
        *base.facts,
        Fact("dialect", outcome.dialect.name, "; ".join(outcome.recognition.evidence)),
        Fact("spelling of", outcome.dialect.title),
    ]
    tables = [_tensors(outcome)]
    if outcome.drafter is not None and spec is not None:
        facts += [Fact(name, value, origin) for name, value, origin in outcome.drafter.facts()]
        found = readings(artefact_of(checkpoint, spec, given, target))
        tables.insert(0, engine_table(found))
        findings += request_findings([select(found, request) for request in requests], severity=Severity.ERROR)
    tables.append(
        Table("dropped-keys", "Config keys that say nothing about the function", ("key", "why"), outcome.dropped_keys)
    )
    return replace(
        base, facts=tuple(facts), findings=tuple(shortened(list(dict.fromkeys(findings)))), tables=tuple(tables)
    )


def artefact_of(checkpoint: Checkpoint, spec: Spec, given: Given, target: Target | None = None) -> Artefact:
    """A checkpoint as engines meet it beside `target`; `spec` is what it was read as, with what `given` says."""
    return Artefact(checkpoint.config, checkpoint.tensors, _beside(spec, target), _seen_ids(spec, given))


def _beside(spec: Spec, target: Target | None) -> Spec:
    """`spec` with the vocabulary that the target has, whatever the drafter's config says of it."""
    return spec if target is None else spec.replacing(vocab_size=target.vocab_size)


def _seen_ids(spec: Spec, given: Given) -> tuple[int, ...] | None:
    """The ids that a stored map of absolute ids names to those who take its entries for offsets."""
    if spec.target_ids is None or given.facts.get("map") != "absolute":
        return None
    return tuple(row + token for row, token in enumerate(spec.target_ids))


def engine_table(found: Iterable[Reading], title: str = "What engines make of it as it is") -> Table:
    """A row for every engine and run of versions: verdict, and the reasons."""
    rows = tuple(
        (
            reading.engine,
            str(reading.span),
            OPEN if reading.unknown and reading.verdict is Verdict.READS else reading.verdict.value,
            "\n".join([*(effect.text for effect in reading.effects), *(f"not known: {u}" for u in reading.unknown)]),
        )
        for reading in found
    )
    return Table("engines", title, ENGINE_COLUMNS, rows)


OPEN = "not known"
"""Shown instead of a verdict that stands on something nobody knows."""
ENGINE_COLUMNS = ("engine", "versions", "verdict", "because")


def _folder_facts(checkpoint: Checkpoint) -> Iterable[Fact]:
    size_bytes = sum(tensor.size_bytes for tensor in checkpoint.tensors.values())
    identity: dict[str, Any] = dict(checkpoint.source.identity())
    if "commit" in identity:
        yield Fact("repository", identity["repo"])
        yield Fact("commit", identity["commit"])
    yield Fact(
        "weights",
        f"{len(checkpoint.tensors)} tensors, {size_bytes / 1e6:,.1f} MB, {checkpoint.layout}",
        ", ".join(checkpoint.weight_files[:3]),
    )


def _tensors(outcome: Read) -> Table:
    bound = outcome.drafter.tensors if outcome.drafter is not None else {}
    roles = {tensor.name: str(role) for role, tensor in bound.items()}
    why = dict(outcome.dropped_tensors)
    rows = tuple(
        (name, tensor.dtype, str(list(tensor.shape)), roles.get(name) or why.get(name, "-"))
        for name, tensor in outcome.checkpoint.tensors.items()
    )
    return Table("tensors", "Tensors", ("name", "dtype", "shape", "role"), rows)
