"""The engines as tables that people read: for `eaglekit engines` and for the documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eaglekit.engines.requests import known_engine
from eaglekit.engines.rules import Behaviour, Capability, Confirmation, Engine, Feature
from eaglekit.engines.tables import ENGINES
from eaglekit.report import Table


def engines_table() -> Table:
    """One row per engine: name, title, the versions that are known, where they were read."""
    rows = tuple(
        (engine.name, engine.title, str(engine.versions[0]), str(engine.versions[-1]), engine.releases[-1].source)
        for engine in ENGINES.values()
    )
    return Table("engines", "Engines whose reading of a checkpoint is known", _COLUMNS, rows)


_COLUMNS = ("engine", "title", "oldest", "newest", "read in")


def capabilities_table(name: str) -> Table:
    """Every row of one engine: feature, class, versions, behaviour, source, how confirmed. Raises `Refusal`."""
    engine = known_engine(name)
    columns = ("feature", "drafter", "target", "versions", "behaviour", "where or which", "source", "confirmed")
    rows = tuple(_cells(engine, row) for row in sorted(engine.rows, key=lambda row: row.feature.value))
    return Table(f"engine-{name}", f"What {engine.title} does", columns, rows)


ACCEPTED = frozenset(
    {
        Feature.TARGETS,
        Feature.LAYER_NAMES,
        Feature.ACTIVATION,
        Feature.SPECULATORS_TYPES,
        Feature.SPECULATORS_CLASSES,
        Feature.ROPE_SCALING,
        Feature.MODEL_TYPES,
    }
)
"""Features whose values are what an engine takes, also where it refuses everything else."""


def _cells(engine: Engine, row: Capability) -> tuple[str, ...]:
    drafter, target = row.drafter.replace("*", "any"), row.family or "any"
    values = ", ".join(row.values)
    listed = row.behaviour is Behaviour.REJECTED and row.values and row.feature in ACCEPTED
    behaviour = "anything but these is refused" if listed else row.behaviour.value
    confirmed = engine.confirmation(row)
    on = f" ({engine.trials.version})" if confirmed is Confirmation.RUN and engine.trials else ""
    known = f"{confirmed.value}{on}"
    return (row.feature.value, drafter, target, str(row.span), behaviour, values, row.source, known)


def as_markdown(table: Table, *, markup: bool = False) -> str:
    """A table in Markdown, without its title; ends with a line break. `markup`: the cells are Markdown already."""
    ends = _BAR if markup else _MARKUP
    lines = [_line(row, ends) for row in (table.columns, ["---"] * len(table.columns), *table.rows)]
    return "\n".join(lines) + "\n"


DATES = """\
A version such as 2026.07 is no release: of an engine whose behaviour was read in its sources, it is the month of them.
"""


def engine_markdown(engine: Engine) -> str:
    """One engine's hint, what was tried on it, and its rows, as Markdown for the documentation; no title."""
    hint = f"{engine.hint[0].upper()}{engine.hint[1:]}.\n\n" if engine.hint else ""
    return f"{hint}{_trials(engine)}{as_markdown(capabilities_table(engine.name))}"


def _trials(engine: Engine) -> str:
    if engine.trials is None:
        return ""
    untried = "".join(f"\n- {feature.value}: {why}." for feature, why in engine.trials.untried.items())
    families = {row.family for row in engine.rows if row.family and engine.trials.version in row.span}
    if others := sorted(families - engine.trials.families):
        untried += f"\n- rows for targets of one family ({', '.join(others)}): no such target is among those tried."
    rows = "Every row" if "*" in engine.trials.drafters else f"Every row for {' and '.join(engine.trials.drafters)}"
    tried = f"{rows} that holds at {engine.trials.version} is tried on {engine.trials.on} by `{engine.trials.suite}`"
    return f"{tried}, except:\n{untried}\n\n" if untried else f"{tried}.\n\n"


def _line(cells: Sequence[object], ends: re.Pattern[str]) -> str:
    return "| " + " | ".join(ends.sub(r"\\\g<0>", str(cell)) for cell in cells) + " |"


_BAR = re.compile(r"\|")
"""What would end a cell."""
_MARKUP = re.compile(r"[|*]")
"""The same, and what would make a pattern such as `*.weight` the start of emphasis."""
