"""The stages behind the first, in their order. torch is imported by what is called here, not by importing this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eaglekit.drafter import Drafter
from eaglekit.report import Fact, Finding, Measurement, Refusal
from eaglekit.validate import acceptance_report, drift_report
from eaglekit.validate.acceptance import by_category, everywhere, summarise
from eaglekit.validate.acceptance_report import Judged, measurement
from eaglekit.validate.baseline import Beside
from eaglekit.validate.drift import summarise as summarise_drift
from eaglekit.validate.found import Found
from eaglekit.validate.intervals import Estimate, difference
from eaglekit.validate.probe import Reading, table, verdict
from eaglekit.validate.stages import BEHAVIOUR, CAPTURE, NUMBERS, PROBE
from eaglekit.validate.structure import Structure
from eaglekit.validate.task import Task
from eaglekit.validate.verdicts import acceptance_findings

if TYPE_CHECKING:
    from eaglekit.serving.wish import Wish
    from eaglekit.target.captured import Capture
    from eaglekit.validate.material import Material
    from eaglekit.validate.measuring import Behaviour, Side
    from eaglekit.validate.numbers import Parity

NOTHING_TO_MEASURE_ON = "nothing to measure on: --prompts FILE with --target, or --capture FILE"


def numbers_and_behaviour(
    task: Task,
    drafter: Structure,
    baseline: Structure | None,
    beside: Beside | None,
    readings: Sequence[Reading],
    found: Found,
) -> None:
    """Capture where there is something to capture, then numbers, then behaviour, then the probe that was asked for."""
    chosen = [("drafter", drafter, task.drafter)]
    if baseline is not None and task.baseline is not None:
        chosen.append(("baseline", baseline, task.baseline))
    drafters = [structure.drafter for _, structure, _ in chosen if structure.drafter is not None]
    boundaries = {k for one in drafters for k in one.spec.aux_layers} | {k for r in readings for k in r.boundaries}
    material = _material(task, drafters, sorted(boundaries), found)
    if material is None:
        return
    from eaglekit.validate.measuring import load_side

    sides: list[Side] = []
    for name, structure, checkpoint in chosen:
        if structure.drafter is None:
            continue
        try:
            sides.append(load_side(name, structure.drafter, checkpoint, material, task))
        except Refusal as refusal:
            whose = "" if name == "drafter" else f"{name}: "
            found.findings += [replace(finding, place=f"{whose}{finding.place}") for finding in refusal.findings]
            found.stages.failed(NUMBERS, f"the {name} cannot be computed")
            found.stages.left_out("the numbers have errors", BEHAVIOUR)
            return
    if not _numbers(task, sides, material, beside, found):
        found.stages.left_out("the numbers have errors", BEHAVIOUR)
    elif material.capture is None:
        found.stages.left_out(NOTHING_TO_MEASURE_ON, CAPTURE, BEHAVIOUR)
    else:
        if _behaviour(task, sides, material, material.capture, found):
            if task.engine is not None:
                _served(task, task.engine, sides[0], material, found)
            _probe(task, sides[0], readings, material.capture, found)


def doubtful_layers(task: Task, drafter: Drafter, readings: Sequence[Reading], found: Found) -> None:
    """Measures a drafter whose file leaves its layers open, under every reading of them."""
    from eaglekit.validate.measuring import load_side

    material = _material(task, [drafter], sorted({k for r in readings for k in r.boundaries}), found)
    if material is None or material.capture is None:
        return
    try:
        side = load_side("drafter", drafter, task.drafter, material, task)
    except Refusal as refusal:
        found.findings += refusal.findings
        found.stages.failed(PROBE, "the drafter cannot be computed")
        return
    _probe(task, side, readings, material.capture, found)


def _material(task: Task, drafters: Sequence[Drafter], boundaries: Sequence[int], found: Found) -> Material | None:
    """Texts and tables; None with findings when they cannot be had."""
    from eaglekit.validate.material import gather

    stage = CAPTURE if task.has_texts else NUMBERS
    try:
        material = gather(task, [drafter.spec for drafter in drafters], boundaries)
    except Refusal as refusal:
        found.findings += refusal.findings
        found.stages.failed(stage, "what is needed to measure cannot be had")
        found.stages.left_out(f"the stage {stage} has errors", NUMBERS, BEHAVIOUR)
        return None
    found.findings += material.findings
    found.origin = material.origin
    arithmetic = material.origin["arithmetic"]
    found.facts.append(Fact("arithmetic", f"{arithmetic['dtype']} on {arithmetic['device']}", "given: the options"))
    if material.capture is not None:
        texts = material.capture.texts
        tokens = sum(len(text.text.tokens) for text in texts)
        about = f"{len(texts)} texts, {tokens:,} tokens, boundaries {', '.join(map(str, material.capture.boundaries))}"
        found.stages.passed(CAPTURE, about + (" (read from the file)" if task.capture is not None else ""))
        found.facts.append(Fact("texts", f"{len(texts)} texts, {tokens:,} tokens", "read: the texts that were run"))
        if material.target_logits is None:
            why = "not measured: the target's head is not at hand, add --target"
            found.facts.append(Fact("sampled acceptance", why))
    return material


def _numbers(task: Task, sides: Sequence[Side], material: Material, beside: Beside | None, found: Found) -> bool:
    """The second stage; whether it found no error."""
    from eaglekit.validate.measuring import broken, inputs_for, lent
    from eaglekit.validate.numbers import parity

    inputs = inputs_for(sides, material.capture)
    steps = max(task.draft_tokens, task.depth)
    before = len(found.errors)
    found.findings += broken(sides, inputs, material.capture, steps)
    if len(found.errors) == before and len(sides) > 1 and comparable(sides):
        outcome = parity(sides[1].loaded, sides[0].loaded, inputs, steps)
        if outcome is not None and outcome.rows:
            where = f"largest difference at {outcome.place}" if outcome.place else "every row equal"
            rows = f"rows of logits, one for every slot and draft step; {where}"
            about = "measured: both on the same inputs, each step fed with the baseline's drafts"
            equal = f"{outcome.equal_rows} of {outcome.rows} rows bit for bit, largest difference {outcome.largest:.3g}"
            found.facts.append(Fact("logits beside the baseline", equal, about))
            found.measurements += measurement(
                "drafts equal to the baseline's", _share(outcome.same_drafts, outcome.rows), "share", outcome.rows, rows
            )
            if beside is not None and beside.claimed and not outcome.exact:
                found.findings.append(_no_parity(outcome))
    errors = len(found.errors) - before
    on = "made-up states, the same every time" if material.capture is None else f"{len(inputs)} captured texts"
    made_up = lent(sides[0], task) if material.capture is None else []
    stand_in = f"; a stand-in for the target's {' and '.join(made_up)}" if made_up else ""
    found.stages.ended(NUMBERS, f"computed on {on}{stand_in}" if errors else f"finite on {on}{stand_in}", errors)
    return not errors


def comparable(sides: Sequence[Side]) -> bool:
    """Whether two drafters are for targets of one size, so that one input suits both."""
    first, second = (side.read.spec for side in sides[:2])
    return (first.vocab_size, first.target_hidden_size) == (second.vocab_size, second.target_hidden_size)


def _share(part: int, whole: int) -> Estimate:
    return Estimate(part / whole, None, None, whole)


def _no_parity(outcome: Parity) -> Finding:
    differing = outcome.rows - outcome.equal_rows
    return Finding(
        "baseline-parity",
        f"{differing} of {outcome.rows} rows of logits differ between two files of the same bytes and meaning",
        place=outcome.place,
        got=f"largest difference {outcome.largest:.3g}",
        expected="equal bit for bit",
        hint="please report it with the output of --json",
    )


def _behaviour(task: Task, sides: Sequence[Side], material: Material, capture: Capture, found: Found) -> bool:
    """The third stage; whether there are figures."""
    from eaglekit.validate.measuring import behave

    before = len(found.errors)
    seen = behave(sides, capture, material, task)
    broken = [finding for behaviour in seen.values() for finding in behaviour.findings]
    if broken:
        found.findings += broken
        found.stages.failed(BEHAVIOUR, "not every number is finite, and figures over the others would mean nothing")
        return False
    judged = tuple(Judged(name, summarise(b.counts), by_category(b.counts)) for name, b in seen.items())
    total = judged[0].total
    found.findings += acceptance_findings(total)
    found.acceptance_length = total.length.value if total.length is not None else None
    for side in judged:
        found.measurements += acceptance_report.measurements(side, task.temperature)
        found.tables += acceptance_report.tables(side)
    found.measurements += acceptance_report.agreement(total)
    found.charts += acceptance_report.charts(judged)
    if "baseline" in seen:
        found.measurements += _gap(seen["drafter"], seen["baseline"], total.slots)
    _drift(seen, found)
    errors = len(found.errors) - before
    about = f"{total.measured} of {total.texts} texts, {total.rounds:,} served rounds, {total.slots:,} slots"
    found.stages.ended(BEHAVIOUR, about, errors)
    return True


def _served(task: Task, wish: Wish, side: Side, material: Material, found: Found) -> None:
    """The drafter in a real engine."""
    from eaglekit.validate.served import serve

    assert material.capture is not None  # noqa: S101 - there are figures
    serve(task, wish, side, material, material.capture, found)


def _gap(drafter: Behaviour, baseline: Behaviour, slots: int) -> Sequence[Measurement]:
    """How much longer the drafter's acceptance is than the baseline's, paired by text."""
    first, second = (
        (everywhere(one.counts), [count.tally.slots for count in one.counts]) for one in (drafter, baseline)
    )
    name = "acceptance length, every slot, less the baseline's"
    gap = difference(first, second)
    return list(
        measurement(name, gap, acceptance_report.LENGTH, slots, "slots; paired: the same texts in every resample")
    )


def _drift(seen: Mapping[str, Behaviour], found: Found) -> None:
    sides = {name: summarise_drift(behaviour.drift) for name, behaviour in seen.items()}
    found.facts += drift_report.facts(sides)
    found.findings += drift_report.findings(sides)
    found.measurements += drift_report.measurements(sides)
    found.tables += drift_report.tables(sides)
    found.charts += drift_report.charts(sides)


def _probe(task: Task, side: Side, readings: Sequence[Reading], capture: Capture, found: Found) -> None:
    """The drafter under each reading of its layers that the capture allows."""
    from eaglekit.validate.measuring import probe

    possible = [reading for reading in readings if set(reading.boundaries) <= set(capture.boundaries)]
    if len(possible) < len(readings):
        found.findings.append(_not_captured([r for r in readings if r not in possible], capture.boundaries))
    if len(possible) < 2:
        if readings:
            found.stages.left_out("fewer than two readings could be measured", PROBE)
        return
    probed = probe(side, possible, capture, task)
    findings, before = verdict(probed), len(found.errors)
    found.tables.append(table(probed))
    found.findings += findings
    best = f"{len(possible)} readings; the stated layers fit best"
    found.stages.ended(PROBE, findings[0].message if findings else best, len(found.errors) - before)


def _not_captured(readings: Sequence[Reading], boundaries: Sequence[int]) -> Finding:
    return Finding(
        "readings-not-captured",
        f"{len(readings)} readings of the layers need states that the capture does not hold",
        place="aux_layers",
        got=f"boundaries {list(boundaries)}",
        expected="; ".join(str(list(reading.boundaries)) for reading in readings),
        hint="give --target and --prompts in place of the capture, or capture these boundaries too",
    )
