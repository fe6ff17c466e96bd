"""`eaglekit validate`: whether a drafter is right, and what it is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from eaglekit.api.files import refuse_taken, write_new
from eaglekit.cli.computing_options import computing_options, device_of
from eaglekit.cli.engine_options import engine_options
from eaglekit.cli.options import FiniteRange, measured_meaning_options, stacked
from eaglekit.cli.output import guarded, json_option, print_report, say, work_bar
from eaglekit.report import Report

FILE = click.Path(path_type=Path, dir_okay=False)

text_options = stacked(
    click.option(
        "--prompts",
        type=FILE,
        help="JSONL or JSON of prompts with the target's responses (rows: docs/validate.md); needs --target.",
    ),
    click.option(
        "--generate", type=click.IntRange(1), metavar="N", help="Let the target answer, with at most N tokens each."
    ),
    click.option(
        "--capture",
        type=FILE,
        help="A file that eaglekit capture wrote, in place of --prompts; add "
        "--target for what a drafter shares with it, and for the sampled figures.",
    ),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N texts."),
)
measure_options = stacked(
    click.option(
        "--draft-tokens", type=click.IntRange(1, 64), default=3, show_default=True, help="Drafts per round: "
        "num_speculative_tokens of vLLM, --speculative-num-steps of SGLang.",
    ),
    click.option("--depth", type=click.IntRange(1, 64), default=8, show_default=True, help="Drafts to watch drift in."),
    click.option(
        "--temperature", type=FiniteRange(0.01, 100), default=1.0, show_default=True,
        help="Of the sampled figures; greedy ones are always there.",
    ),
    click.option("--baseline", metavar="PATH", help="Another drafter: the source of a conversion, or a rival."),
    click.option(
        "--min-acceptance-length", type=FiniteRange(1, 65), metavar="X", help="Exit with 1 below this, bonus included."
    ),
    click.option("--probe-layers", is_flag=True, help="Measure with its layers one block lower and higher too."),
    click.option(
        "--embedding", type=click.Choice(["auto", "keep"]), default="auto", help="keep: an embedding unlike the "
        "target's is right.",
    ),
)  # fmt: skip
report_options = stacked(
    click.option("-o", "--report", "report_file", type=FILE, help="Write the report as JSON, to a new file."),
    click.option("--html", "html_file", type=FILE, help="Write the report as one page with charts, to a new file."),
)


@click.command("validate")
@click.argument("path")
@text_options
@measure_options
@computing_options
@engine_options
@measured_meaning_options
@report_options
@json_option
@guarded("validate", "path")
def command(path: str, *, as_json: bool, report_file: Path | None, html_file: Path | None, **wishes: Any) -> None:
    """Tell whether a drafter is right, and what it is worth.

    PATH is a folder or a Hub id. Three stages, each only when the one before found no error: structure (files, config,
    maps, and the target's), numbers (finite outputs, parity with --baseline), behaviour (acceptance length and drift on
    the target's own responses). With --engine vllm a fourth one, served: a real vLLM must load the drafter, draft the
    same tokens and count what the reference predicts. How each figure is made: docs/validate.md. Exit code 1 when
    something is wrong.

    \b
    Examples:
      eaglekit validate ./drafter --target ./target
      eaglekit validate ./drafter --target ./target --prompts answers.jsonl --gpu --html report.html
      eaglekit validate ./drafter --target ./target --prompts questions.jsonl --generate 256
      eaglekit validate ./drafter --target ./target --capture states.safetensors --min-acceptance-length 2.5
      eaglekit validate ./drafter --target ./target --prompts answers.jsonl --engine vllm
      eaglekit validate ./drafter --target ./target --prompts answers.jsonl --engine vllm --endpoint http://HOST:8000
      eaglekit validate ./converted --baseline ./source --target ./target --prompts answers.jsonl -o report.json
    """
    from eaglekit.api.judging import judge, refuse_combinations, refuse_missing

    if wishes["gpu"] and wishes["device"] not in (None, "cuda"):
        raise click.UsageError("--gpu is --device cuda: give one of them.")
    refuse_combinations(wishes)
    refuse_taken([report_file, html_file])
    placed = "--gpu" if wishes["gpu"] else "--device" if wishes["device"] is not None else None
    refuse_missing(wishes, placed=placed)
    if html_file is not None:
        from eaglekit.report.html.needs import need

        need("jinja2", "matplotlib")
    report = judge(path, {**wishes, "device": device_of(wishes)}, bar=work_bar(quiet=as_json))
    write_report(report, report_file, html_file)
    tables = [table.name for table in report.tables if table.name not in HIDDEN_TABLES]
    # What stands in a table too is not said twice.
    measured = [m.name for m in report.measurements if " at d" not in m.name]
    print_report(report, as_json=as_json, tables=tables, facts=SHOWN, measurements=measured)
    if not as_json:
        say(_in_short(report))
    if not report.ok:
        raise SystemExit(1)


SHOWN = (
    "weights", "dialect", "spelling of", "aux_layers", "fusion_norm", "feedback", "residual", "vocabulary map", "texts",
    "arithmetic", "sampled acceptance", "function beside the baseline", "logits beside the baseline",
    "state growth over depth", "baseline: state growth over depth", "served by", "drafts in the engine",
)  # fmt: skip
"""Facts for people; `--json` and the report have all of them."""
HIDDEN_TABLES = frozenset({"tensors", "dropped-keys", "engines"})


def _in_short(report: Report) -> str:
    """The outcome and the one figure that people look for, as the last line of a long report."""
    length = next((m for m in report.measurements if m.name == "acceptance length"), None)
    figure = "no acceptance length was measured"
    if length is not None:
        interval = f" [{length.low:.3f}, {length.high:.3f}]" if None not in (length.low, length.high) else ""
        figure = f"acceptance length {length.value:.3f}{interval}"
    count = len(report.errors)
    if not count:
        return f"\nvalidate found no error; {figure}"
    told = f"{count} error{'s' if count != 1 else ''}"
    return f"\nvalidate found {told}; {figure}. The story behind one: eaglekit explain {report.errors[0].code}"


def write_report(report: Report, report_file: Path | None, html_file: Path | None) -> None:
    """The report as files, each whole or not at all."""
    if report_file is not None:
        from eaglekit.report.json_text import dumps

        write_new(report_file, dumps(report.as_json()))
        say(f"report written to {report_file}")
    if html_file is not None:
        from eaglekit.report.html import render

        write_new(html_file, render(report))
        say(f"page written to {html_file}")
