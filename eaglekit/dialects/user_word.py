"""What the user's word does to what a file says: it may complete it silently, and overrule it only aloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.binding import match
from eaglekit.dialects.clues import ABSENT, at, strip
from eaglekit.dialects.config_reading import Known
from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.families import family_of
from eaglekit.dialects.given import Given
from eaglekit.dialects.measuring import config_name
from eaglekit.drafter.parts import Part
from eaglekit.drafter.spec import jsonable
from eaglekit.report import Finding, Severity

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
    yield from _family_overruled(given, said)
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


def _family_overruled(given: Given, said: Mapping[str, Known]) -> Iterator[Finding]:
    """The family decides how SGLang reads layer ids: three sources of it must not differ unnoticed."""
    stated = said["target_family"].value if "target_family" in said else None
    target, word = given.target_facts.get("target_family"), given.target_family
    if _differ(target, word):
        message = f"--target is a {target} model, --target-family says {word}"
        yield replace(_overruled(message, str(word), str(target)), severity=Severity.ERROR)
    elif _differ(stated, target):
        yield Finding(
            "target-size",
            f"the drafter is made for a {stated} target, this target is a {target} model",
            place=said["target_family"].origin.place,
            got=str(stated),
            expected=str(target),
            hint="give the target this drafter was trained for",
        )
    elif _differ(stated, word):
        yield _overruled(f"the file says its target is {stated}, --target-family says {word}", str(word), str(stated))


def _differ(first: str | None, second: str | None) -> bool:
    """Whether two model types are known and belong to different families."""
    if first is None or second is None:
        return False
    one, two = family_of(first), family_of(second)
    return one is not None and two is not None and one is not two


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
