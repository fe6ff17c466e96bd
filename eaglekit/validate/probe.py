"""Which reading of the layer ids fits: the drafter measured under each, and what the numbers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.clues import at
from eaglekit.dialects.families import BOUNDARY, OUTPUT_OF
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.drafter import Spec
from eaglekit.drafter.aux_layers import check, default_boundaries, default_is_usable
from eaglekit.report import Finding, Table
from eaglekit.validate.acceptance import TextCount, everywhere, summarise
from eaglekit.validate.acceptance_report import shown
from eaglekit.validate.intervals import Estimate, difference

IDS = "eagle_aux_hidden_state_layer_ids"
LISTS = (IDS, f"eagle_config.{IDS}")
STATED = "as stated"


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to take the layer ids."""

    name: str
    boundaries: tuple[int, ...]

    @property
    def option(self) -> str:
        """What says it on the command line."""
        return "--aux-layers " + ",".join(map(str, self.boundaries))


def shifted(spec: Spec, target_layers: int | None) -> list[Reading]:
    """The layers that a drafter states, and the same one block lower and higher: the two classic mistakes."""
    steps = {STATED: 0, "one block lower": -1, "one block higher": 1}
    return _possible(
        [Reading(name, tuple(k + step for k in spec.aux_layers)) for name, step in steps.items()], spec, target_layers
    )


def doubted(checkpoint: Checkpoint, given: Given, spec: Spec, target_layers: int | None) -> list[Reading]:
    """Every reading of a file that leaves its layers open: each list in each convention, else the default layers."""
    found = []
    for convention in (BOUNDARY, OUTPUT_OF):
        attempt = read(checkpoint, replace(given, aux_convention=convention.name))
        if attempt.drafter is not None and attempt.drafter.spec.aux_layers:
            found.append(Reading(f"as {convention.name} ids", attempt.drafter.spec.aux_layers))
    if not found:
        found = list(_from_lists(checkpoint.config, target_layers))
    if not found and target_layers is not None and default_is_usable(target_layers):
        default = default_boundaries(target_layers)
        found = [
            Reading("the default layers", default),
            Reading("one block below the default", tuple(k - 1 for k in default)),
            Reading("one block above the default", tuple(k + 1 for k in default)),
        ]
    return _possible(found, spec, target_layers)


def _from_lists(config: Mapping[str, Any], target_layers: int | None) -> Sequence[Reading]:
    """Two lists that disagree, each in each convention."""
    readings = []
    for place in LISTS:
        ids = at(config, place)
        if isinstance(ids, list) and ids and all(type(k) is int for k in ids):
            for rule in (BOUNDARY, OUTPUT_OF):
                readings.append(Reading(f"{place} as {rule.name} ids", rule.decode(tuple(ids), target_layers)))
    return readings


def _possible(readings: Sequence[Reading], spec: Spec, target_layers: int | None) -> list[Reading]:
    """Without impossible ones, and without a second name for the same layers."""
    kept: dict[tuple[int, ...], Reading] = {}
    for reading in readings:
        if not check(reading.boundaries, target_layers=target_layers, num_aux_states=spec.num_aux_states):
            kept.setdefault(reading.boundaries, reading)
    return list(kept.values())


@dataclass(frozen=True, slots=True)
class Probed:
    """One reading and what was counted under it, in the same texts as under the others."""

    reading: Reading
    counts: tuple[TextCount, ...]

    @property
    def length(self) -> Estimate | None:
        """The acceptance length from every slot."""
        return summarise(self.counts).length_everywhere


def table(probed: Sequence[Probed]) -> Table:
    """Every reading with its acceptance length and what says it."""
    rows = tuple((p.reading.name, str(list(p.reading.boundaries)), shown(p.length), p.reading.option) for p in probed)
    return Table(
        "layer-readings",
        "Acceptance length, every slot, under each reading of the layers",
        ("reading", "boundaries", "acceptance length", "say"),
        rows,
    )


def verdict(probed: Sequence[Probed]) -> list[Finding]:
    """Which reading fits best, when the difference to every other one is beyond chance."""
    ranked = sorted(probed, key=lambda p: p.length.value if p.length is not None else 0.0, reverse=True)
    if len(ranked) < 2:
        return []
    best, second = ranked[0], ranked[1]
    gap = difference(_ratio(best), _ratio(second))
    figures = "; ".join(f"{p.reading.name} {list(p.reading.boundaries)}: {shown(p.length)}" for p in ranked)
    if gap is None or gap.low is None or gap.low <= 0:
        return [
            Finding(
                "layers-undecided",
                f"the readings of the layers are not told apart by {len(best.counts)} texts",
                place="aux_layers",
                got=figures,
                expected="one reading that is better beyond chance",
                hint="give more text (--prompts, --limit), or ask whoever trained the drafter",
            )
        ]
    if best.reading.name == STATED:
        return []
    doubtful = all(p.reading.name != STATED for p in probed)
    return [
        Finding(
            "layers-probed" if doubtful else "layers-off",
            f"the drafter fits boundaries {list(best.reading.boundaries)} ({best.reading.name}): acceptance length "
            f"{shown(best.length)}, and {shown(second.length)} on {list(second.reading.boundaries)}",
            place="aux_layers",
            got=figures,
            expected=f"{best.reading.option}",
            hint=f"run it again with {best.reading.option}; eaglekit convert with the same option writes it down",
        )
    ]


def _ratio(probed: Probed) -> tuple[list[int], list[int]]:
    return everywhere(probed.counts), [count.tally.slots for count in probed.counts]
