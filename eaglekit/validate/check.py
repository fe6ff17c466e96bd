"""`check`: stage after stage, each only when the one before found no error, and one report about all of them.

Importing this does not import torch: the stages that compute do, when they are reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.lookup import library_identity
from eaglekit.drafter import Drafter
from eaglekit.plan.diff import read_on_its_own
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.model import shortened
from eaglekit.target.faults import within_memory
from eaglekit.validate import computing
from eaglekit.validate.baseline import Beside, compare
from eaglekit.validate.binding import bind_drafter, moments, refuse_changed, settings, tool
from eaglekit.validate.found import Found
from eaglekit.validate.probe import Reading, doubted, shifted
from eaglekit.validate.stages import BEHAVIOUR, CAPTURE, NUMBERS, PROBE, SERVED, STRUCTURE
from eaglekit.validate.structure import Structure, examine
from eaglekit.validate.task import Task


@dataclass(frozen=True)
class Judged:
    """The outcome of the first stage."""

    drafter: Structure
    baseline: Structure | None
    beside: Beside | None


def check(task: Task, *, missing: Sequence[str] = ()) -> Report:
    """The report on one validation. `missing` names packages that computing needs and that are not installed.

    Raises `Refusal` when the drafter is none at all, or was changed while it was judged.
    """
    before = moments(task.drafter)
    found = Found()
    judged = _structure(task, found)
    _stages(task, judged, found, missing)
    if task.engine is not None:
        found.stages.left_out("the stages before it did not give figures", SERVED)
    _gate(task, found)
    refuse_changed(task.drafter, before)
    report = judged.drafter.report
    return replace(
        report,
        facts=(*report.facts, *found.facts),
        findings=tuple(shortened(list(dict.fromkeys(found.findings)))),
        tables=(found.stages.table(), *found.tables, *report.tables),
        measurements=tuple(found.measurements),
        charts=tuple(found.charts),
        result=_binding(task, judged, found),
    )


def _structure(task: Task, found: Found) -> Judged:
    """The first stage, over the drafter and its baseline."""
    drafter = examine(task.drafter, task.given, task.target, keep_embedding=task.keep_embedding)
    found.findings += drafter.report.findings
    baseline, beside = None, None
    if task.baseline is not None:
        baseline = _baseline(task, task.baseline)
        reading = read_on_its_own(task.baseline, task.given)
        found.findings += [replace(finding, place=f"baseline: {finding.place}") for finding in baseline.report.errors]
        if drafter.clean and baseline.clean:
            beside = compare(drafter.reading, reading, task.target)
            found.facts += beside.facts
            found.findings += beside.findings
            found.tables += beside.tables
    about = "files, config, maps" + (", and the target's" if task.target is not None else "; no target was given")
    found.stages.ended(STRUCTURE, about, len(found.errors))
    return Judged(drafter, baseline, beside)


def _baseline(task: Task, checkpoint: Checkpoint) -> Structure:
    """The baseline as it says itself, and with what the options say where that leaves it unclear.

    They are about the drafter: put on its baseline as well, they could make two drafters look like one.
    """
    silent = replace(task.given, aux_layers=None, aux_convention=None, facts={}, dialect=None, drops=())
    with suppress(Refusal):
        alone = examine(checkpoint, silent, task.target, keep_embedding=task.keep_embedding)
        if alone.clean:
            return alone
    return examine(checkpoint, task.given, task.target, keep_embedding=task.keep_embedding)


def _stages(task: Task, judged: Judged, found: Found, missing: Sequence[str]) -> None:
    """The stages that compute, as far as the one before allows."""
    if missing:
        why = f"{', '.join(missing)} not installed: pip install 'eaglekit[validate]'"
        found.findings.append(_absent(missing))
        found.stages.left_out(why, CAPTURE, NUMBERS, BEHAVIOUR)
        return
    with within_memory():
        _computing(task, judged, found)


def _computing(task: Task, judged: Judged, found: Found) -> None:
    """The stages behind the first, with everything they need installed."""
    stages = found.stages
    if not found.errors:
        readings = _readings(task, judged.drafter)
        computing.numbers_and_behaviour(task, judged.drafter, judged.baseline, judged.beside, readings, found)
        return
    if judged.drafter.layers_in_doubt and judged.drafter.drafter is not None:
        _doubtful(task, judged.drafter.drafter, found)
    stages.left_out("the structure has errors", CAPTURE, NUMBERS, BEHAVIOUR)


def _doubtful(task: Task, drafter: Drafter, found: Found) -> None:
    """The probe of a drafter whose file leaves only its layers open."""
    readings = doubted(task.drafter, task.given, drafter.spec, drafter.spec.target_layers)
    if not task.has_texts:
        found.stages.left_out("measuring can decide it: add --target and --prompts, or --capture", PROBE)
    elif len(readings) < 2:
        found.stages.left_out("there are no two readings of the layers that this target allows", PROBE)
    else:
        computing.doubtful_layers(task, drafter, readings, found)


def _readings(task: Task, structure: Structure) -> list[Reading]:
    """The readings that `--probe-layers` asks for."""
    if not task.probe_layers or structure.drafter is None:
        return []
    spec = structure.drafter.spec
    return shifted(spec, spec.target_layers)


def _absent(missing: Sequence[str]) -> Finding:
    return Finding(
        "extras-absent",
        f"only the structure was checked: {', '.join(missing)} not installed",
        place="environment",
        got=", ".join(missing),
        expected="the packages of eaglekit[validate]",
        hint="pip install 'eaglekit[validate]'",
    )


def _gate(task: Task, found: Found) -> None:
    """The finding of a gate that was not passed, or not reached."""
    wanted, length = task.min_acceptance_length, found.acceptance_length
    if wanted is None:
        return
    if length is None:
        found.findings.append(
            Finding(
                "acceptance-unmeasured",
                f"an acceptance length of at least {wanted:g} was asked for, and none was measured",
                place="--min-acceptance-length",
                got="not measured",
                expected=f"at least {wanted:g}",
                hint="the stages above tell what stood in the way",
            )
        )
    elif length < wanted:
        found.findings.append(
            Finding(
                "acceptance-below",
                f"the acceptance length is {length:.3f}, below {wanted:g}",
                place="--min-acceptance-length",
                got=f"{length:.3f}",
                expected=f"at least {wanted:g}",
                hint="acceptance by position and by category shows where it is lost",
            )
        )


def _binding(task: Task, judged: Judged, found: Found) -> dict[str, object]:
    """What the report is bound to."""
    bound: dict[str, object] = {"stages": found.stages.as_json(), "drafter": bind_drafter(task.drafter, task.bar)}
    if task.baseline is not None:
        bound["baseline"] = bind_drafter(task.baseline, task.bar)
    if task.target is not None:
        bound["target"] = library_identity(task.target.library)
    spec = judged.drafter.drafter.spec if judged.drafter.drafter is not None else None
    return {**bound, **found.origin, "settings": settings(task, spec), "tool": tool()}
