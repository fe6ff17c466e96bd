"""`eaglekit recipe`: the command that serves this drafter with its target."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from eaglekit.cli.options import meaning_options
from eaglekit.cli.output import console, guarded, json_option, print_report
from eaglekit.cli.wrapping import wrapped
from eaglekit.report import Report, Severity
from eaglekit.report.model import printable

if TYPE_CHECKING:
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
    from eaglekit.api.recipes import served
    from eaglekit.api.stating import Stated

    report, made = served(path, target, Stated(**meaning), engines, draft_tokens, published)
    _print(report, made, as_json=as_json)
    if not report.ok:
        raise SystemExit(1)


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
