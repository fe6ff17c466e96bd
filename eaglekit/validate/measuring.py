"""The stages that compute, over everything that is judged: numbers, then behaviour, and the probe of the layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from eaglekit.checkpoint import Checkpoint
from eaglekit.drafter import Drafter
from eaglekit.drafter.parts import Part
from eaglekit.reference.loading import load
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.report import Finding
from eaglekit.target.captured import Capture
from eaglekit.validate.acceptance import TextCount
from eaglekit.validate.drift import DepthSums
from eaglekit.validate.material import Material
from eaglekit.validate.numbers import (
    Input,
    broken_outputs,
    broken_states,
    broken_weights,
    captured_inputs,
    probe_inputs,
    stand_in_parts,
)
from eaglekit.validate.observing import Wanted, observe, states_of
from eaglekit.validate.probe import Probed, Reading
from eaglekit.validate.task import Task


@dataclass(frozen=True)
class Side:
    """One of the drafters that are measured side by side, its weights in memory."""

    name: str
    """`drafter` or `baseline`."""
    read: Drafter
    loaded: ReferenceDrafter


def load_side(name: str, read: Drafter, checkpoint: Checkpoint, material: Material, task: Task) -> Side:
    """One drafter in memory. Raises `Refusal` when it shares a table of its target, and neither is at hand."""
    settings = material.settings
    shared = dict(material.shared)
    if task.target is None and material.capture is None:
        shared = {**stand_in_parts(read.spec), **shared}
    loaded = load(read, checkpoint, shared=shared, device=settings.torch_device(), dtype=settings.compute_dtype)
    return Side(name, read, loaded)


def lent(side: Side, task: Task) -> list[str]:
    """The parts that were made up for a drafter which shares them, because no target is at hand."""
    if task.target is not None:
        return []
    spec = side.read.spec
    has = {Part.EMBEDDING: spec.own_embedding, Part.HEAD: spec.own_head}
    return [part.value for part, own in has.items() if not own]


def inputs_for(sides: Sequence[Side], capture: Capture | None) -> list[Input]:
    """What the second stage computes on: captured states, or made-up ones when there are none."""
    drafters = [side.loaded for side in sides]
    return captured_inputs(capture, drafters) if capture is not None else probe_inputs(drafters)


def broken(sides: Sequence[Side], inputs: Sequence[Input], capture: Capture | None, steps: int) -> list[Finding]:
    """Everything that is not finite: captured states, weights by role, outputs."""
    findings = broken_states(capture) if capture is not None else []
    for side in sides:
        found = broken_weights(side.loaded, side.read)
        # Outputs of broken weights, or on broken states, would only say the same again.
        found = found or findings or broken_outputs(side.loaded, inputs, steps)
        findings += [_of(side, finding) for finding in found if finding not in findings]
    return findings


def _of(side: Side, finding: Finding) -> Finding:
    return finding if side.name == "drafter" else replace(finding, place=f"{side.name}: {finding.place}")


@dataclass(frozen=True)
class Behaviour:
    """What one drafter did over all texts."""

    counts: tuple[TextCount, ...]
    drift: tuple[tuple[DepthSums, ...], ...]
    findings: tuple[Finding, ...]


def behave(sides: Sequence[Side], capture: Capture, material: Material, task: Task) -> Mapping[str, Behaviour]:
    """Every drafter over every captured text that has a response."""
    texts = [text for text in capture.texts if text.text.prompt_length < len(text.text.tokens)]
    wanted = Wanted(task.draft_tokens, task.depth, task.temperature, material.target_logits)
    found = {}
    with task.bar("draft", len(texts) * len(sides), "texts") as tell:
        for side in sides:
            seen = []
            for text in texts:
                seen.append(observe(side.loaded, text, states_of(side.loaded, capture, text), wanted))
                tell(1)
            broken_at = next((one.broken for one in seen if one.broken is not None), None)
            found[side.name] = Behaviour(
                tuple(one.count for one in seen),
                tuple(one.drift for one in seen),
                () if broken_at is None else (_of(side, broken_at),),
            )
    return found


def probe(side: Side, readings: Sequence[Reading], capture: Capture, task: Task) -> list[Probed]:
    """One drafter under each reading of its layers, over the same texts."""
    texts = [text for text in capture.texts if text.text.prompt_length < len(text.text.tokens)]
    probed = []
    with task.bar("probe the layers", len(readings) * len(texts), "texts") as tell:
        for reading in readings:
            drafter = replace(side.loaded, spec=side.read.spec.replacing(aux_layers=reading.boundaries))
            counts = []
            for text in texts:
                states = states_of(drafter, capture, text)
                counts.append(observe(drafter, text, states, Wanted(task.draft_tokens)).count)
                tell(1)
            probed.append(Probed(reading, tuple(counts)))
    return probed
