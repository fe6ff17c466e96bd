"""What engines will make of a plan's result: answers to `--for`, and the table and hints that people read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from eaglekit.checkpoint import Tensor
from eaglekit.drafter import Spec
from eaglekit.engines.evaluate import readings, select
from eaglekit.engines.findings import request_findings
from eaglekit.engines.inspection import engine_table
from eaglekit.engines.model import Artefact, Reading, Request, Verdict
from eaglekit.engines.tables import ENGINES
from eaglekit.plan.model import Plan, TensorStep
from eaglekit.plan.options import Options
from eaglekit.report import Fact, Finding, Severity


def answers(
    config: Mapping[str, Any], steps: Iterable[TensorStep], spec: Spec, options: Options, *, trained_embedding: bool
) -> list[Finding]:
    """For each engine that was asked for: errors where it would misread or reject the result, notes where it loses.

    `trained_embedding` says that the drafter's embedding is known to differ from the target's: an engine that puts the
    target's in its place then runs another function.
    """
    severity = Severity.WARNING if options.allow_degraded else Severity.ERROR
    found = readings(_artefact(config, steps, spec), {request.engine for request in options.requests})
    findings = request_findings([select(found, request) for request in options.requests], severity=severity)
    lost = "engine-embedding-replaced"
    return [replace(f, severity=severity) if trained_embedding and f.code == lost else f for f in findings]


def with_outlook(plan: Plan) -> Plan:
    """The plan with every engine's reading and how to serve in its report. A loaded plan has them already."""
    if plan.spec is None:
        return plan
    steps = (step for steps in plan.files.values() for step in steps)
    found = readings(_artefact(plan.config, steps, plan.spec))
    report = replace(
        plan.report,
        facts=(*plan.report.facts, *_serving(found)),
        tables=(*plan.report.tables, engine_table(found, "What engines will make of it")),
    )
    return replace(plan, report=report, spec=None)


def _artefact(config: Mapping[str, Any], steps: Iterable[TensorStep], spec: Spec) -> Artefact:
    tensors = {step.name: Tensor(step.name, step.dtype, step.shape, "", 0, step.size_bytes) for step in steps}
    return Artefact(config, tensors, spec)


def _serving(found: list[Reading]) -> Iterable[Fact]:
    """How to start each engine whose newest version reads what is written, where that takes a word."""
    for engine in ENGINES.values():
        newest = select(found, Request(engine.name, None))
        if engine.hint and newest.verdict in (Verdict.READS, Verdict.DEGRADED) and not newest.unknown:
            yield Fact(f"serve with {engine.title}", engine.hint, f"rule: {engine.releases[-1].source}")
