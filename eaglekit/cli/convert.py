"""`eaglekit convert`: plan a conversion, and carry it out."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eaglekit.cli.options import all_engines_option, meaning_options, stacked
from eaglekit.cli.output import guarded, json_option, print_report, progress_bar, say, shorten_engines, work_bar
from eaglekit.cli.wrapping import wrapped

if TYPE_CHECKING:
    from eaglekit.api.deciding import Decided, Wanted
    from eaglekit.plan.apply import Wishes

write_options = stacked(
    click.option("--no-manifest", is_flag=True, help="Do not hash files on the way; writes no SHA256SUMS."),
    click.option("--no-fsync", is_flag=True, help="Leave flushing to the system, as cp does: faster, not crash-safe."),
)


@click.command("convert")
@click.argument("src")
@click.argument("dst", type=click.Path(path_type=Path), required=False)
@click.option(
    "--to", default="portable", show_default=True, metavar="DIALECT", help="Layout to write: eaglekit dialects."
)
@click.option(
    "--for", "requests", multiple=True, metavar="ENGINE[@VERSION]", help="An engine that must read it rightly."
)
@click.option("--allow-degraded", is_flag=True, help="Warn, instead of refusing, where a --for engine misreads it.")
@meaning_options
@click.option("--dtype", type=click.Choice(["bfloat16", "float16", "float32"]), help="Cast every floating tensor.")
@click.option("--force-overflow", is_flag=True, help="Write infinities where a cast overflows.")
@click.option("--sort-vocabulary", is_flag=True, help="Sort d2t together with the head's rows: the same function.")
@click.option(
    "--embedding",
    type=click.Choice(["auto", "keep", "drop", "copy"]),
    default="auto",
    help="Keep the drafter's embedding, leave it out to share the target's, or copy the target's.",
)
@click.option(
    "--head",
    type=click.Choice(["auto", "copy", "embedding"]),
    default="auto",
    help="Copy the target's head into a drafter without one; `embedding` when the target has none either.",
)
@click.option("--max-shard-size", metavar="SIZE", help="Split the weights into files of at most this size, e.g. 2GB.")
@all_engines_option
@click.option("--dry-run", is_flag=True, help="Show the plan and write nothing; DST may be left out.")
@click.option("-o", "--plan-file", type=click.Path(path_type=Path, dir_okay=False), help="Save the plan for `apply`.")
@write_options
@json_option
@guarded("convert", "src")
def command(src: str, *, dst: Path | None, as_json: bool, dry_run: bool, plan_file: Path | None, **wishes: Any) -> None:
    """Write a drafter as EAGLE 3.1, for every engine or for one.

    SRC is a folder or a Hub id, DST a folder that does not exist yet. The function stays the same: an EAGLE-3 drafter
    becomes a 3.1-format file with its flags off and its layers stated, an EAGLE 3.1 drafter keeps its norms.

    \b
    Examples:
      eaglekit convert ./drafter ./out --target ./target
      eaglekit convert ./drafter ./out --target-family qwen3 --aux-layers 2,18,33
      eaglekit convert ./drafter ./out --to vllm --for vllm@0.24
      eaglekit convert ./drafter --target ./target --dry-run -o plan.json
    """
    if plan_file is not None and not plan_file.name:
        raise click.UsageError("-o needs the name of a file.")
    if dst is None and not dry_run and plan_file is None:
        raise click.UsageError(
            "DST is missing: give a folder to write, or --dry-run, or -o plan.json to save the plan."
        )
    from eaglekit.api.deciding import decide
    from eaglekit.plan.apply import Wishes

    decided = decide(src, _wanted(wishes), bar=work_bar(quiet=as_json))
    if dry_run or plan_file is not None:
        decided = decided.seen()
    plan = decided.plan
    if plan_file is not None:
        from eaglekit.plan.saved import save

        with progress_bar("digest of the source", decided.source.size_bytes, quiet=as_json) as tell:
            plan = save(plan, plan_file, decided.source, decided.library, progress=tell)
        say(f"plan saved to {plan_file}: eaglekit apply {plan_file} DST")
    engines = None if wishes["all_engines"] else tuple(wishes["requests"])
    if dry_run or dst is None:
        report = plan.full_report()
        shown = report if as_json or engines is None else shorten_engines(report, engines)
        print_report(shown, as_json=as_json, headline=plan.summary(), facts=SHOWN)
        return
    how = Wishes(durable=not wishes["no_fsync"], manifest=not wishes["no_manifest"])
    write(replace(decided, plan=plan), dst, how, as_json=as_json, engines=engines)


SHOWN = ("dialect", "aux_layers", "fusion_norm", "feedback", "residual", "rope")
"""The facts a person wants to see beside a plan; `inspect` and `--json` have all of them."""


MEANING = ("aux_layers", "aux_convention", "settings", "target_family", "dialect", "drops")
_WRITING = ("no_manifest", "no_fsync", "all_engines")


def _wanted(wishes: dict[str, Any]) -> Wanted:
    """The options about what is to be written."""
    from eaglekit.api.deciding import Wanted
    from eaglekit.api.stating import Stated

    rest = {name: wishes[name] for name in wishes if name not in (*MEANING, *_WRITING, "requests")}
    stated = Stated(**{name: wishes[name] for name in MEANING})
    return Wanted(stated=stated, engines=wishes["requests"], **rest)


def write(decided: Decided, dst: Path, how: Wishes, *, as_json: bool, engines: tuple[str, ...] | None = ()) -> None:
    """Carry out a plan with a bar, and print what was written; of engines the usual ones and those named, or all."""
    from eaglekit.api.deciding import carry_out

    def beside() -> None:
        if not as_json:
            importlib.import_module("eaglekit.report.terminal")

    plan, applied = carry_out(decided, dst, how, bar=work_bar(quiet=as_json), beside=beside)
    report = plan.full_report(applied)
    shown = ["plan-config", "plan-left", "engines"]
    told_report = report if as_json or engines is None else shorten_engines(report, engines)
    print_report(told_report, as_json=as_json, headline=plan.summary(), tables=shown, facts=SHOWN)
    if not as_json:
        files = len(applied.files)
        say(f"\nwritten: {dst} ({files} files, {plan.size_bytes / 1e6:,.1f} MB)")
        say(f"check:   eaglekit inspect {dst}")
        for fact in report.facts:
            if fact.name.startswith("serve with"):
                say(wrapped(f"{fact.name}: {fact.value}", sys.stderr))
