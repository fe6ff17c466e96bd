"""`eaglekit verify`: what a published drafter claims, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from eaglekit.api.files import refuse_taken
from eaglekit.cli.computing_options import device_of
from eaglekit.cli.options import stacked
from eaglekit.cli.output import guarded, json_option, print_report, say, work_bar
from eaglekit.cli.validate import FILE, report_options, write_report

material_options = stacked(
    click.option("--target", metavar="PATH", help="The target, a folder or Hub id, when the report does not name one."),
    click.option("--prompts", type=FILE, help="The prompt file of the report, when prompts.jsonl is not published."),
    click.option("--capture", type=FILE, help="The capture that the report was made with."),
    click.option("--baseline", metavar="PATH", help="The drafter that the report was made beside."),
)
where_options = stacked(
    click.option("--gpu", is_flag=True, help="Compute on CUDA; an error where there is none."),
    click.option("--device", metavar="D", help="cpu, cuda or cuda:N; cpu when nothing is said."),
    click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), help="As in the report when nothing is said."),
    click.option("--memory-limit", metavar="SIZE", help="Most that running the target may take, e.g. 12GB."),
)


@click.command("verify")
@click.argument("path")
@material_options
@where_options
@report_options
@json_option
@guarded("verify", "path")
def command(path: str, *, as_json: bool, report_file: Path | None, html_file: Path | None, **wishes: Any) -> None:
    """Measure again what a published drafter claims.

    PATH is a Hub id or a folder that was pulled. Every byte is compared with SHA256SUMS first. Then the protocol in
    report.json is followed with the same settings, texts and target, each known by its digest, and every claim is told
    to hold, not to hold, or not to be repeatable here. The rule: docs/verify.md. Exit code 1 when a claim does not
    hold, when the card says something else than its report, or when nothing could be repeated.

    \b
    Examples:
      eaglekit verify acme/llama-eagle3.1
      eaglekit verify ./drafter --target ./target --prompts answers.jsonl
      eaglekit verify ./drafter --gpu --html verified.html
    """
    if wishes["prompts"] is not None and wishes["capture"] is not None:
        raise click.UsageError("--capture stands in place of --prompts: give one of them.")
    if wishes["gpu"] and wishes["device"] not in (None, "cuda"):
        raise click.UsageError("--gpu is --device cuda: give one of them.")
    refuse_taken([report_file, html_file])
    if html_file is not None:
        from eaglekit.report.html.needs import need

        need("jinja2", "matplotlib")
    from eaglekit.api.verifying import verified

    again, report = verified(path, {**wishes, "device": device_of(wishes)}, bar=work_bar(quiet=as_json))
    write_report(report, report_file, html_file)
    shown = [fact.name for fact in report.facts if fact.name != "rule"]
    if as_json:
        print_report(report, as_json=True)
    else:
        from dataclasses import replace

        print_report(replace(report, charts=()), as_json=False, tables=["claims"], facts=shown, measurements=[])
        if again:
            say(f"\nnext: {again}")
        say(f"\nverify: {report.result['sentence']}")
    if not report.ok:
        raise SystemExit(1)
