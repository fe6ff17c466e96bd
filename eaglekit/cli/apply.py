"""`eaglekit apply`: carry out a saved plan, if its source is still what it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from eaglekit.cli.convert import SHOWN, carry_out, write_options
from eaglekit.cli.output import guarded, json_option, print_report, progress_bar


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
    from eaglekit.cli.loading import open_local, open_plan_target
    from eaglekit.plan.apply import Wishes
    from eaglekit.plan.saved import load, verify

    plan = load(plan_file)
    plan = replace(plan, report=replace(plan.report, command="apply"))
    source = open_local(plan.source.label, quiet=as_json)
    library = open_plan_target(plan, quiet=as_json)
    with progress_bar("check the source", source.size_bytes, quiet=as_json) as tell:
        verify(plan, source, library, progress=tell)
    if dry_run or dst is None:
        print_report(plan.full_report(), as_json=as_json, headline=plan.summary(), facts=SHOWN)
        return
    carry_out(plan, dst, source, library, Wishes(durable=not no_fsync, manifest=not no_manifest), as_json=as_json)
