"""`recipe`: the command that serves a drafter with its target, where there is one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from eaglekit.api.arguments import AuxConvention, Server, refuse_values
from eaglekit.api.misuse import refusing
from eaglekit.api.opening import open_input, open_target
from eaglekit.api.stating import Layers, PathOrId, Settings, Stated, path_or_none, path_text, texts
from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.hub_id import parse_hub_id
from eaglekit.dialects.reading import read
from eaglekit.dialects.target_checks import embedding_is_copy, fit
from eaglekit.drafter import Spec
from eaglekit.engines.inspection import artefact_of
from eaglekit.engines.recipes import Recipe, recipes
from eaglekit.report import Fact, Finding, Refusal, Report, Severity, Table


def recipe(
    path: PathOrId,
    *,
    engines: Server | Sequence[Server] = (),
    draft_tokens: int = 3,
    published: str | None = None,
    target: PathOrId | None = None,
    target_family: str | None = None,
    aux_layers: Layers | None = None,
    aux_convention: AuxConvention | None = None,
    dialect: str | None = None,
    settings: Settings = (),
    drops: str | Sequence[str] = (),
) -> Report:
    """The commands that serve a drafter with its target: `eaglekit recipe`; they stand in `result["recipes"]`.

    `published` is the Hub id to write for the drafter. Where there is no command, the findings say why.
    """
    servers = texts(engines)
    refuse_values("recipe", {"aux_convention": aux_convention, "engines": servers, "draft_tokens": draft_tokens})
    stated = Stated(aux_layers, aux_convention, settings, target_family, dialect, drops)
    text = path_text(path)
    with refusing("recipe", text):
        return served(text, path_or_none(target), stated, servers, draft_tokens, published)[0]


def served(
    path: str,
    target: str | None,
    stated: Stated,
    engines: Sequence[str],
    draft_tokens: int,
    published: str | None,
) -> tuple[Report, tuple[Recipe, ...]]:
    """The report, and the recipes that it is about. Raises `Refusal`."""
    opened = open_target(target)
    given = stated.given(opened)
    checkpoint = open_input(path)
    outcome = read(checkpoint, given)
    spec = outcome.drafter_or_refuse().spec
    findings = [*checkpoint.findings, *outcome.findings, *(fit(outcome, opened)[1] if opened is not None else ())]
    named = target or spec.target_name
    if named is None:
        findings.append(_no_target(path))
    base = Report("recipe", path, findings=tuple(dict.fromkeys(findings)))
    if named is None or not base.ok:
        raise Refusal(report=base)
    made = recipes(
        artefact_of(checkpoint, spec, given, opened),
        drafter=str(parse_hub_id(published)) if published is not None else _pinned(checkpoint, _in_full(path)),
        target=_in_full(named),
        draft_tokens=draft_tokens,
        engines=engines or None,
        target_context=opened.max_position_embeddings if opened is not None else None,
        embedding_is_copy=embedding_is_copy(findings),
    )
    report = _report(base, made, spec, named)
    missing = [recipe for recipe in made if not recipe.text]
    if len(missing) == len(made) or any(recipe.engine in engines for recipe in missing):
        report = report.with_findings(map(_without, missing))
    return report, made


def _in_full(name: str) -> str:
    """The name with the user's folder for a leading ~, which no shell expands inside quotes."""
    return os.path.expanduser(name) if name.startswith("~") else name  # noqa: PTH111 - Path raises for unknown users


def _pinned(checkpoint: Checkpoint, path: str) -> str:
    """The Hub id with the commit that was read, or the folder as it was typed."""
    identity = dict(checkpoint.source.identity())
    return f"{identity['repo']}@{identity['commit']}" if "commit" in identity else path


def _report(base: Report, made: tuple[Recipe, ...], spec: Spec, target: str) -> Report:
    columns = ("engine", "minimum", "verdict", "text", "notes")
    rows = tuple(
        (recipe.engine, str(recipe.minimum or ""), recipe.verdict.value, recipe.text, "\n".join(recipe.notes))
        for recipe in made
    )
    facts = (Fact("target", target), Fact("parallel drafting", spec.parallel_drafting))
    table = Table("recipes", "How it is served", columns, rows)
    return replace(base, facts=facts, tables=(table,), result={"recipes": [recipe.as_json() for recipe in made]})


def _without(recipe: Recipe) -> Finding:
    return Finding(
        "recipe-withheld",
        f"there is no command that serves this file with {recipe.title} as it is: {recipe.notes[0]}",
        place=recipe.engine,
        got=recipe.verdict.value,
        expected="reads",
        hint=recipe.notes[-1],
        severity=Severity.ERROR,
    )


def _no_target(path: str) -> Finding:
    return Finding(
        "recipe-target-unknown",
        "nothing says which target this drafter is served with",
        place=path,
        expected="a folder or Hub id",
        hint="add --target PATH_OR_ID, or --set target_name=ORG/NAME where only the name is to be written",
    )
