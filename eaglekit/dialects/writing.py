"""A `Drafter` through a dialect into a layout: the config to write and a name for every tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eaglekit.dialects import rope_keys
from eaglekit.dialects.binding import names_of
from eaglekit.dialects.dialect import Dialect, kind_of
from eaglekit.dialects.families import Inexpressible
from eaglekit.dialects.gguf_keys import unfit
from eaglekit.dialects.keys import OMIT
from eaglekit.dialects.tables import DIALECTS
from eaglekit.drafter import Spec
from eaglekit.drafter.parts import Part, Role
from eaglekit.drafter.sizes import roles_of
from eaglekit.report import Finding, Refusal

OWN_BLOCK = "eaglekit"


@dataclass(frozen=True, slots=True)
class Layout:
    """What a folder in a dialect holds."""

    dialect: Dialect
    config: Mapping[str, Any]
    names: Mapping[Role, tuple[str, ...]]
    """Role -> the names it is written under: usually one."""


def writable(name: str) -> Dialect:
    """The dialect of that name, if it can be written. Raises `Refusal`."""
    dialect = DIALECTS.get(name)
    if dialect is not None and dialect.writable:
        return dialect
    choices = ", ".join(d.name for d in DIALECTS.values() if d.writable)
    code = "dialect-name" if dialect is None else "dialect-not-written"
    message = f"there is no dialect {name!r}" if dialect is None else f"dialect {name} is read, never written"
    raise Refusal(
        Finding(code, message, place="--to", got=name, expected=choices, hint="eaglekit dialects tells them apart")
    )


def impossible(spec: Spec, dialect: Dialect) -> list[Finding]:
    """Everything about this drafter that the dialect cannot say, each with the nearest thing that is possible."""
    findings = [
        Finding(
            "dialect-cannot-hold",
            f"{dialect.title}: {limit.reason}",
            place=f"--to {dialect.name}",
            hint=f"nearest: {limit.instead}",
        )
        for limit in dialect.limits
        if limit.applies(spec)
    ]
    if not findings and _class_of(spec, dialect) is None:
        findings.append(
            Finding(
                "dialect-cannot-hold",
                f"{dialect.title} has no class for this kind of drafter ({kind_of(spec)})",
                place=f"--to {dialect.name}",
                got=kind_of(spec),
                expected=" or ".join(dialect.classes),
                hint="nearest: --to vllm",
            )
        )
    return findings


def write(spec: Spec, dialect: Dialect, *, mark: bool = True) -> Layout:
    """The layout of a drafter in a dialect. Raises `Refusal` with everything that it cannot say.

    `mark` adds our own block to the config, which tells the next reader what was meant.
    """
    findings = impossible(spec, dialect)
    spec = as_written(spec, dialect)
    config: dict[str, Any] = {}
    for key in dialect.keys:
        if not key.write or (not mark and key.path.split(".")[0] == OWN_BLOCK):
            continue
        try:
            value = key.codec.writes(spec)
        except Inexpressible as problem:
            findings.append(_inexpressible(str(problem), dialect, spec))
            continue
        except Refusal as refusal:
            findings += refusal.findings
            continue
        if value is not OMIT:
            _put(config, key.path, value)
            if dialect.container == "gguf" and (why := unfit(value)):
                findings.append(_unfit(dialect, key.path, value, why))
    if findings:
        raise Refusal(*_once(findings))
    for row in dialect.fixed:
        if row.write:
            _put(config, row.path, row.allowed[0])
    architecture, model_type = _class_of(spec, dialect) or ("", "")
    if architecture:
        config["architectures"] = [architecture]
    if model_type:
        config["model_type"] = model_type
    if mark:
        _put(config, f"{OWN_BLOCK}.dialect", dialect.name)
    return Layout(dialect, config, _names(spec, dialect))


def as_written(spec: Spec, dialect: Dialect) -> Spec:
    """The spec as the dialect stores it: without an embedding where it keeps none, with yarn's numbers all stated."""
    return replace(
        spec,
        own_embedding=spec.own_embedding and dialect.writes_embedding,
        rope=rope_keys.stated(spec.rope) if dialect.states_yarn else spec.rope,
    )


def _names(spec: Spec, dialect: Dialect) -> dict[Role, tuple[str, ...]]:
    roles = list(roles_of(spec))
    if spec.target_ids is None and dialect.writes_identity_map:
        roles.append(Role(Part.DRAFT_TO_TARGET))
    if dialect.writes_mask and (spec.target_ids is not None or dialect.writes_identity_map):
        roles.append(Role(Part.TARGET_MASK))
    names: dict[Role, tuple[str, ...]] = {}
    missing = []
    for role in roles:
        found = names_of(role, dialect)
        if not found:
            missing.append(role)
        names[role] = tuple(found)
    if missing:
        shown = ", ".join(map(str, missing))
        raise Refusal(
            Finding(
                "dialect-cannot-hold",
                f"{dialect.title} has no name for: {shown}",
                place=f"--to {dialect.name}",
                got=shown,
                expected="a part this layout names",
                hint="nearest: --to portable or --to vllm",
            )
        )
    return names


def _class_of(spec: Spec, dialect: Dialect) -> tuple[str, str] | None:
    kind = kind_of(spec)
    return dialect.classes.get(kind) or dialect.classes.get(kind.split()[0])


def _inexpressible(problem: str, dialect: Dialect, spec: Spec) -> Finding:
    shown = ", ".join(map(str, spec.aux_layers))
    return Finding(
        "aux-inexpressible",
        f"aux layers [{shown}] have no spelling in dialect {dialect.name}: {problem}",
        place=f"--to {dialect.name}",
        got=shown,
        expected="boundaries its reader can capture",
        hint="nearest: --to vllm, which captures every boundary",
    )


def _unfit(dialect: Dialect, path: str, value: Any, why: str) -> Finding:
    return Finding(
        "dialect-cannot-hold",
        f"{dialect.title} has no value for {path}: {why}",
        place=f"--to {dialect.name}",
        got=str(value)[:80],
        expected="what llama.cpp reads: counts and ids in 32 bits, numbers in single precision, Unicode text",
        hint="correct the number in a copy of the config if it is a mistake; nearest: --to vllm",
    )


def _once(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _put(config: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for name in parents:
        config = config.setdefault(name, {})
    config[last] = value
