"""`eaglekit recipe`: the command that serves this drafter with its target."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from eaglekit.cli.options import meaning_options
from eaglekit.cli.output import console, guarded, json_option, print_report
from eaglekit.cli.wrapping import wrapped
from eaglekit.report import Fact, Finding, Refusal, Report, Severity, Table
from eaglekit.report.model import printable

if TYPE_CHECKING:
    from eaglekit.checkpoint import Checkpoint
    from eaglekit.drafter import Spec
    from eaglekit.engines.recipes import Recipe

SERVERS = ("vllm", "sglang", "trtllm", "tokenspeed", "llama.cpp")
"""For help that imports nothing; a test holds them against the table."""


@click.command("recipe")
@click.argument("path")
@click.option("--engine", "engines", multiple=True, type=click.Choice(SERVERS), help="Only for this server.")
@click.option("--draft-tokens", type=click.IntRange(1, 64), default=3, show_default=True, help="Drafts per round.")
@click.option("--as", "published", metavar="ORG/NAME", help="The Hub id to write for the drafter, in place of PATH.")
@meaning_options
@json_option
@guarded("recipe", "path")
def command(
    path: str,
    *,
    engines: tuple[str, ...],
    draft_tokens: int,
    published: str | None,
    target: str | None,
    as_json: bool,
    **meaning: Any,
) -> None:
    """Print the command that serves a drafter with its target.

    PATH is a folder or a Hub id, which is pinned to the commit that was read. Only where the newest known version of
    a server reads this very file as it was trained is there a command, with the oldest version for which the same is
    true; else there are the reasons. What is not a command is printed behind a #, so that the output can be pasted as
    it is. The target is --target, or the one that the file names. Exit code 1 when a server that was named with
    --engine has no command, or none has.

    \b
    Examples:
      eaglekit recipe ./drafter --target ./target
      eaglekit recipe ./drafter --engine vllm --target meta-llama/Llama-3.1-8B-Instruct --as me/drafter
      eaglekit recipe ORG/NAME@v1 --set target_name=ORG/TARGET --draft-tokens 5
    """
    from eaglekit.checkpoint.hub_id import parse_hub_id
    from eaglekit.cli.loading import given_from, open_input, open_target
    from eaglekit.dialects.reading import read
    from eaglekit.dialects.target_checks import embedding_is_copy, fit
    from eaglekit.engines.inspection import artefact_of
    from eaglekit.engines.recipes import recipes

    opened = open_target(target)
    given = given_from(target=opened, **meaning)
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
    failed = not any(recipe.text for recipe in made) or any(
        not recipe.text for recipe in made if recipe.engine in engines
    )
    if failed:
        report = report.with_findings(_without(recipe) for recipe in made if not recipe.text)
    _print(report, made, as_json=as_json)
    if failed:
        raise SystemExit(1)


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


def _print(report: Report, made: tuple[Recipe, ...], *, as_json: bool) -> None:
    """The report as JSON, or text that a shell takes as it is: commands, and everything else behind a #."""
    if as_json:
        print_report(report, as_json=True)
        return
    click.echo("\n\n".join(_section(recipe) for recipe in made))
    told = [finding for finding in report.findings if finding.severity is not Severity.NOTE]
    if told:
        from eaglekit.report.terminal import show_findings

        show_findings(told, console(sys.stderr))


def _section(recipe: Recipe) -> str:
    known = recipe.since or "no command"
    told = [f"{recipe.title}, {known}: {recipe.verdict.value}", *recipe.notes]
    # A note may hold the name of a tensor, and a name a line break: it must not end the comment.
    comments = [wrapped(printable(line).replace("\n", " "), sys.stdout, "# ", "#   ") for line in told]
    return "\n".join([*comments, *([recipe.text] if recipe.text else [])])


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
