"""`eaglekit diff`: two drafters by role and meaning."""

from __future__ import annotations

from typing import Any

import click

from eaglekit.cli.options import meaning_options
from eaglekit.cli.output import guarded, json_option, print_report, work_bar


@click.command("diff")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@meaning_options
@json_option
@guarded("diff", "first")
def command(first: str, second: str, *, target: str | None, as_json: bool, **meaning: Any) -> None:
    """Compare two drafters by role and meaning.

    A and B are folders or Hub ids in any two dialects. Tensors are the same, renamed, cast, permuted, different or
    missing; the configs are compared by what they mean. The options state what the files do not say; a fact that a
    file written by eaglekit states itself needs no option. Exit code 1 when the two do not compute the same.

    \b
    Examples:
      eaglekit diff ./drafter ./drafter-3.1 --aux-layers 2,18,33
      eaglekit diff ./epoch-1 ./epoch-2 --json
    """
    from eaglekit.api.looking import diff

    report = diff(first, second, target=target, progress=work_bar(quiet=as_json), **meaning)
    print_report(report, as_json=as_json)
    if not report.ok:
        raise SystemExit(1)
