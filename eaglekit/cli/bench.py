"""`eaglekit bench`: what a drafter is worth in tokens per second, beside its target alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from eaglekit.api.files import refuse_taken
from eaglekit.cli.engine_options import ENGINES, start_options
from eaglekit.cli.options import served_meaning_options, stacked
from eaglekit.cli.output import guarded, json_option, print_report, say
from eaglekit.cli.validate import report_options, write_report
from eaglekit.report import Report

FILE = click.Path(path_type=Path, dir_okay=False)

load_options = stacked(
    click.option(
        "--prompts", type=FILE, required=True, help="JSONL or JSON of prompts, with categories or without (rows: "
        "docs/validate.md).",
    ),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N prompts of each category."),
    click.option(
        "--concurrency", default="1,4,16", show_default=True, metavar="N,N,...", help="Users that ask at a time."
    ),
    click.option(
        "--repeats", type=click.IntRange(1, 100), default=3, show_default=True, help="Rounds; each asks both servers."
    ),
    click.option(
        "--output-tokens", type=click.IntRange(1), default=256, show_default=True, help="Most tokens of an answer."
    ),
    click.option("--ignore-eos", is_flag=True, help="Make every answer that long, past its own end."),
)  # fmt: skip
server_options = stacked(
    click.option("--engine", type=click.Choice(ENGINES), default="vllm", show_default=True, help="What serves."),
    click.option(
        "--draft-tokens", type=click.IntRange(1, 64), default=3, show_default=True, help="Drafts per round."
    ),
    start_options,
    click.option(
        "--endpoint", metavar="URL", help="A server with the drafter that runs already, in place of PATH; its key in "
        "VLLM_API_KEY.",
    ),
    click.option("--baseline-endpoint", metavar="URL", help="The server without it; needed with --endpoint."),
)  # fmt: skip


@click.command("bench")
@click.argument("path", required=False)
@load_options
@server_options
@served_meaning_options
@report_options
@click.option("--dry-run", is_flag=True, help="Print the two commands and the number of requests, and start nothing.")
@json_option
@guarded("bench", "path")
def command(
    path: str | None, *, as_json: bool, dry_run: bool, report_file: Path | None, html_file: Path | None, **wishes: Any
) -> None:
    """Measure what a drafter is worth in tokens per second.

    PATH is a folder or a Hub id. Two vLLM servers are started one after the other, with what `eaglekit recipe` says
    and with the target alone, and asked the same prompts, streamed and greedy, at each concurrency; in the next round
    the other one comes first. Told are the tokens per second that one user gets on both, their ratio with its spread,
    and the acceptance length, by category too. How each figure is made: docs/bench.md.

    \b
    Examples:
      eaglekit bench ./drafter --target ./target --prompts questions.jsonl
      eaglekit bench ./drafter --target ./target --prompts speed-bench.jsonl --limit 16 --html bench.html
      eaglekit bench ./drafter --target ./target --prompts questions.jsonl --tensor-parallel-size 4 --dry-run
      eaglekit bench --prompts ids.jsonl --endpoint http://HOST:8000 --baseline-endpoint http://HOST:8001
    """
    _refuse_combinations(path, wishes, dry_run=dry_run, files=report_file is not None or html_file is not None)
    refuse_taken([report_file, html_file])
    if html_file is not None:
        from eaglekit.report.html.needs import need

        need("jinja2", "matplotlib")
    from eaglekit.cli.bench_opening import measured, planned
    from eaglekit.validate.binding import without_paths

    if dry_run:
        plan = planned(path, wishes)
        print_report(plan, as_json=as_json, tables=())
        if not as_json:
            click.echo(_pasteable(plan))
        return
    typed = [str(text) for text in (path, wishes["target"], wishes["prompts"]) if text is not None]
    report = without_paths(measured(path, wishes, quiet=as_json), typed)
    write_report(report, report_file, html_file)
    print_report(report, as_json=as_json, tables=SHOWN_TABLES, measurements=())
    if not as_json:
        say(_in_short(report))


SHOWN_TABLES = ("speed", "speed-by-category", "latency")
"""Tables for people; `--json` and the report have every run."""
ABOUT_SERVERS = {
    "engine_python": "--engine-python", "engine_arguments": "--engine-arg",
    "tensor_parallel_size": "--tensor-parallel-size", "pipeline_parallel_size": "--pipeline-parallel-size",
}  # fmt: skip


def _refuse_combinations(path: str | None, wishes: Mapping[str, Any], *, dry_run: bool, files: bool) -> None:
    """Raise a usage error for options that contradict each other or lack what they need."""
    endpoint, baseline = wishes["endpoint"], wishes["baseline_endpoint"]
    if (endpoint is None) != (baseline is None):
        there, missing = ("--endpoint", "--baseline-endpoint") if baseline is None else (
            "--baseline-endpoint", "--endpoint")  # fmt: skip
        raise click.UsageError(f"{there} needs {missing}: a speed-up is told of two servers.")
    if endpoint is not None:
        given = [option for name, option in ABOUT_SERVERS.items() if wishes[name]]
        if given:
            raise click.UsageError(
                f"{given[0]} is about servers that are started here: --endpoint names one that runs."
            )
        if path is not None:
            raise click.UsageError("PATH is a drafter to be served: --endpoint names a server that has one.")
    elif path is None:
        raise click.UsageError("PATH is missing: the drafter to be served, unless --endpoint names a server.")
    elif wishes["target"] is None:
        raise click.UsageError("--target is missing: the model that the drafter is served with.")
    if dry_run and files:
        raise click.UsageError("-o and --html are of no use with --dry-run: nothing is measured.")


def _pasteable(plan: Report) -> str:
    """The commands as a shell takes them: a table would break them where a line ends."""
    return "".join(f"\n# {side}\n{text}\n" for table in plan.tables for side, text in table.rows)


def _in_short(report: Report) -> str:
    """The speed-ups, as the last line of a report."""
    told = [m for m in report.measurements if m.name.startswith("speed-up per user")]
    each = ", ".join(f"{m.value:.2f} {m.name.removeprefix('speed-up per user ')}" for m in told)
    return f"\nspeed-up per user: {each}"
