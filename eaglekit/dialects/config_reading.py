"""Config keys into facts: the world is closed, so every key is read, fixed, dropped by a row, or a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eaglekit.dialects.clues import ABSENT, at
from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.keys import Fixed, WrongValue
from eaglekit.drafter import Origin
from eaglekit.report import Finding

ANY_TEXT = "*"


@dataclass(frozen=True, slots=True)
class Known:
    """A fact with its origin."""

    value: Any
    origin: Origin


@dataclass
class ConfigFacts:
    """What a config says under a dialect."""

    facts: dict[str, Known] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    """Dotted key and reason."""


DECIDED_BY_TENSORS = frozenset({"dtype"})
"""Facts for which two disagreeing keys do not matter: the tensors decide."""


def read_config(config: Mapping[str, Any], dialect: Dialect, drops: tuple[str, ...] = ()) -> ConfigFacts:
    """Every fact the config states, every key left behind with its reason, and what is wrong."""
    result = ConfigFacts()
    readings: dict[str, list[tuple[str, Any]]] = {}
    for key in dialect.keys:
        value = at(config, key.path)
        if value is ABSENT or key.path in drops:
            continue
        try:
            stated = key.codec.reads(value)
        except WrongValue as problem:
            result.findings.append(_wrong_value(f"{dialect.config_place} {key.path}", value, str(problem)))
            continue
        for fact, meaning in stated.items():
            readings.setdefault(fact, []).append((key.path, meaning))
    for fact, found in readings.items():
        values = [value for _, value in found]
        if fact not in DECIDED_BY_TENSORS and any(value != values[0] for value in values):
            result.findings.append(_conflict(found, dialect))
        result.facts[fact] = Known(values[0], Origin("read", f"{dialect.config_place} {found[0][0]}"))
    _close(config, dialect, drops, result)
    return result


def _close(config: Mapping[str, Any], dialect: Dialect, drops: tuple[str, ...], result: ConfigFacts) -> None:
    """Account for every leaf that no `Key` row read."""
    read = {key.path for key in dialect.keys}
    inner = {path[: match.start()] for path in _all_paths(dialect) for match in re.finditer(r"\.", path)}
    fixed = {row.path: row for row in dialect.fixed}
    for path, value in _leaves(config, read, inner):
        if path in drops:
            result.dropped.append((path, "dropped by the user with --drop"))
            continue
        if path in read:
            continue
        if path in fixed:
            row = fixed[path]
            if _accepts(row.allowed, value):
                result.dropped.append((path, row.why))
            else:
                result.findings.append(_unsupported(path, value, row, dialect))
            continue
        reason = _drop_reason(path, dialect)
        if reason is None and value is None:
            reason = "null says nothing"
        if reason is not None:
            result.dropped.append((path, reason))
        else:
            result.findings.append(_unknown(path, value, dialect))


def _accepts(allowed: tuple[Any, ...], value: Any) -> bool:
    if allowed == (ANY_TEXT,):
        return isinstance(value, str)
    # 1 == True in Python; in JSON they are different values.
    return any(value == entry and isinstance(value, bool) == isinstance(entry, bool) for entry in allowed)


def _all_paths(dialect: Dialect) -> Iterator[str]:
    yield from (key.path for key in dialect.keys)
    yield from (row.path for row in dialect.fixed)
    yield from (row.path.removesuffix(".*") + "._" for row in dialect.dropped_keys if row.path.endswith(".*"))


def _leaves(config: Mapping[str, Any], read: set[str], inner: set[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted path and value of everything below which no row looks further."""
    for name, value in config.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and path in inner and path not in read:
            yield from _leaves(value, read, inner, f"{path}.")
        else:
            yield path, value


def _drop_reason(path: str, dialect: Dialect) -> str | None:
    for row in dialect.dropped_keys:
        if path == row.path or (row.path.endswith(".*") and path.startswith(row.path[:-1])):
            return row.why
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _wrong_value(place: str, value: Any, expected: str) -> Finding:
    return Finding(
        "config-wrong-value",
        f"config key {place.partition(' ')[2]} cannot be {_short(value)}",
        place=place,
        got=_short(value),
        expected=expected,
        hint="correct the key in a copy of the folder, or get the file from its trainer again",
    )


def _conflict(found: list[tuple[str, Any]], dialect: Dialect) -> Finding:
    shown = "; ".join(f"{path} = {_short(value)}" for path, value in found)
    return Finding(
        "config-conflict",
        f"config keys disagree: {shown}",
        place=f"{dialect.config_place} " + ", ".join(path for path, _ in found),
        got=shown,
        expected="one meaning under all spellings",
        hint="find out which one the drafter was trained with, and state it with --set or in a copy of the config",
    )


def _unsupported(path: str, value: Any, row: Fixed, dialect: Dialect) -> Finding:
    return Finding(
        "config-unsupported",
        f"config key {path} = {_short(value)} means another network than any EAGLE-3 drafter here",
        place=f"{dialect.config_place} {path}",
        got=_short(value),
        expected=" or ".join(_short(entry) for entry in row.allowed) + f" ({row.why})",
        hint=f"if the key was only copied along, say --drop {path}",
    )


def _unknown(path: str, value: Any, dialect: Dialect) -> Finding:
    return Finding(
        "config-key-unknown",
        f"no row of dialect {dialect.name} knows config key {path}",
        place=f"{dialect.config_place} {path}",
        got=_short(value),
        expected="a key that is read, or dropped for a named reason",
        hint=f"if it does not change what the drafter computes, say --drop {path}",
    )
