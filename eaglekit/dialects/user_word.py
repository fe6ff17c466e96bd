"""What the user's word does to what a file says: it may complete it silently, and overrule it only aloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.binding import match
from eaglekit.dialects.clues import ABSENT, at, strip
from eaglekit.dialects.config_reading import Known
from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.given import Given
from eaglekit.dialects.measuring import config_name
from eaglekit.drafter.parts import Part
from eaglekit.drafter.spec import jsonable
from eaglekit.report import Finding

SILENT_PARTS = frozenset({Part.TARGET_MASK})
"""Parts whose loss loses nothing: the map says the same."""


def unknown_drops(checkpoint: Checkpoint, given: Given) -> Iterator[Finding]:
    """A `--drop` that names nothing is a slip of the pen."""
    for name in given.drops:
        if name not in checkpoint.tensors and at(checkpoint.config, name) is ABSENT:
            yield Finding(
                "drop-unknown",
                f"--drop {name} names no config key or tensor of this checkpoint",
                place="--drop",
                got=name,
                expected="a dotted config key or a tensor name",
                hint="eaglekit inspect PATH --tensors lists them",
            )


def overruled(checkpoint: Checkpoint, dialect: Dialect, given: Given, said: Mapping[str, Known]) -> Iterator[Finding]:
    """A warning for every fact that the file states and the user states otherwise or drops."""
    for fact, value in given.facts.items():
        if fact in said and said[fact].value != value:
            was, now = jsonable(said[fact].value), jsonable(value)
            yield _overruled(f"the file says {config_name(fact)} {was}, --set says {now}", str(now), str(was))
    keys = {key.path for key in dialect.keys}
    for name in given.drops:
        value = at(checkpoint.config, name)
        if name in keys and value not in (ABSENT, None):
            yield _overruled(
                f"--drop {name} leaves out what the file states: {str(value)[:80]}", "no key", str(value)[:80]
            )
        role = match(strip(name, dialect.strips), dialect) if name in checkpoint.tensors else None
        if role is not None and role.part is Part.DRAFT_TO_TARGET and _mapped(said):
            yield Finding(
                "drop-map",
                f"--drop {name} would lose which target token each row of the head stands for",
                place="--drop",
                got=name,
                expected="the map the head was trained with",
                hint="leave it in; --sort-vocabulary sorts map and head together",
            )
        elif role is not None and role.part not in SILENT_PARTS:
            yield _overruled(f"--drop {name} leaves out the {role}", "no tensor", str(role))


def _mapped(said: Mapping[str, Known]) -> bool:
    drafted, full = said.get("draft_vocab_size"), said.get("vocab_size")
    return drafted is None or full is None or drafted.value != full.value


def _overruled(message: str, got: str, expected: str) -> Finding:
    return Finding(
        "overruled",
        message,
        place="command line",
        got=got,
        expected=expected,
        hint="the user's word counts, and the provenance says so; leave the option out to keep what the file says",
    )


def layers_overruled(given: Given, stored: tuple[int, ...] | None, decided: tuple[int, ...]) -> Iterator[Finding]:
    """A warning when `--aux-layers` names other states than the file's list can mean under either convention."""
    if not isinstance(given.aux_layers, tuple) or stored is None:
        return
    if decided not in (stored, tuple(k + 1 for k in stored)):
        yield _overruled(
            f"the file's layer ids are {list(stored)}, --aux-layers says {list(decided)}", str(decided), str(stored)
        )
