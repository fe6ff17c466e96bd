"""`eaglekit apply`: carry out a saved plan, if its source is still what it was."""

from __future__ import annotations

from pathlib import Path

import click

from eaglekit.cli.convert import SHOWN, write, write_options
from eaglekit.cli.output import guarded, json_option, print_report, work_bar


@click.command("apply")
@click.argument("plan_file", metavar="PLAN", type=click.Path(path_type=Path))
@click.argument("dst", type=click.Path(path_type=Path), required=False)
@click.option("--dry-run", is_flag=True, help="Check the plan against its source and show it; write nothing.")
@write_options
@json_option
@guarded("apply", "plan_file")
def command(
    plan_file: Path, *, dst: Path | None, dry_run: bool, no_manifest: bool, no_fsync: bool, as_json: bool
) -> None:
    """Carry out a saved plan.

    PLAN was written by `eaglekit convert -o`; DST is a folder that does not exist yet. The source, and the target where
    tensors are copied from it, must be byte for byte what they were when the plan was made.

    \b
    Examples:
      eaglekit convert ./drafter --target ./target -o plan.json
      eaglekit apply plan.json ./out
    """
    if dst is None and not dry_run:
        raise click.UsageError("DST is missing: give a folder to write, or --dry-run.")
    from eaglekit.api.deciding import reopened
    from eaglekit.plan.apply import Wishes

    decided = reopened(plan_file, bar=work_bar(quiet=as_json))
    if dry_run or dst is None:
        print_report(decided.plan.full_report(), as_json=as_json, headline=decided.plan.summary(), facts=SHOWN)
        return
    write(decided, dst, Wishes(durable=not no_fsync, manifest=not no_manifest), as_json=as_json)
