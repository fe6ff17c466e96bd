"""`eaglekit validate`: whether a drafter is right, and what it is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from eaglekit.cli.computing_options import computing_options, device_of
from eaglekit.cli.engine_options import engine_options, find_wish, refuse_engine_combinations
from eaglekit.cli.options import FiniteRange, measured_meaning_options, stacked
from eaglekit.cli.output import guarded, json_option, print_report, say
from eaglekit.cli.report_files import refuse_taken, write_new
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
    _refuse_combinations(wishes)
    refuse_engine_combinations(wishes)
    refuse_taken([report_file, html_file])
    from eaglekit.cli.extras import missing_extras, require_extras

    asked = [f"--{name.replace('_', '-')}" for name in COMPUTING if wishes[name]]
    if asked:
        require_extras(asked[0])
    if wishes["gpu"] or wishes["device"] is not None:
        require_extras("--gpu" if wishes["gpu"] else "--device")
    if html_file is not None:
        from eaglekit.report.html.needs import need

        need("jinja2", "matplotlib")
    engine = find_wish(wishes)
    from eaglekit.validate.binding import without_paths
    from eaglekit.validate.check import check

    task, typed = _task(path, quiet=as_json, **{**wishes, "engine": engine})
    report = without_paths(check(task, missing=missing_extras()), [path, *typed])
    write_report(report, report_file, html_file)
    tables = [table.name for table in report.tables if table.name not in HIDDEN_TABLES]
    # What stands in a table too is not said twice.
    measured = [m.name for m in report.measurements if " at d" not in m.name]
    print_report(report, as_json=as_json, tables=tables, facts=SHOWN, measurements=measured)
    if not as_json:
        say(_in_short(report))
    if not report.ok:
        raise SystemExit(1)


COMPUTING = ("prompts", "capture", "generate", "baseline", "min_acceptance_length", "probe_layers", "engine")
"""Options that ask for something to be computed."""
SHOWN = (
    "weights", "dialect", "written by", "aux_layers", "fusion_norm", "feedback", "residual", "vocabulary map", "texts",
    "arithmetic", "sampled acceptance", "function beside the baseline", "logits beside the baseline",
    "state growth over depth", "baseline: state growth over depth", "served by", "drafts in the engine",
)  # fmt: skip
"""Facts for people; `--json` and the report have all of them."""
HIDDEN_TABLES = frozenset({"tensors", "dropped-keys", "engines"})


def _refuse_combinations(wishes: dict[str, Any]) -> None:
    """Raise a usage error for options that contradict each other or lack what they need."""
    if wishes["prompts"] is not None and wishes["capture"] is not None:
        raise click.UsageError("--capture stands in place of --prompts: give one of them.")
    if wishes["prompts"] is not None and wishes["target"] is None:
        raise click.UsageError("--prompts needs --target: the texts are run through it.")
    if wishes["generate"] is not None and wishes["prompts"] is None:
        raise click.UsageError("--generate needs --prompts.")
    if wishes["gpu"] and wishes["device"] not in (None, "cuda"):
        raise click.UsageError("--gpu is --device cuda: give one of them.")
    if wishes["prompts"] is None:
        unused = [option for option, idle in IDLE_WITHOUT_PROMPTS.items() if wishes[option] not in (None, idle)]
        if unused:
            raise click.UsageError(f"--{unused[0].replace('_', '-')} needs --prompts: no target is run without them.")
    if wishes["limit"] is not None and wishes["prompts"] is None and wishes["capture"] is None:
        raise click.UsageError("--limit needs --prompts or --capture.")
    most = wishes["draft_tokens"] + 1
    if wishes["min_acceptance_length"] is not None and wishes["min_acceptance_length"] > most:
        raise click.UsageError(f"--min-acceptance-length is out of reach: {most - 1} draft tokens make at most {most}.")


IDLE_WITHOUT_PROMPTS = {"memory_limit": None, "activations": "w4a16"}
"""Options about running a target -> the value that asks for nothing."""


def _task(path: str, *, quiet: bool, **wishes: Any) -> tuple[Any, list[str]]:
    """Everything opened, and the paths that were typed."""
    from eaglekit.cli.loading import given_from, open_local, open_target
    from eaglekit.cli.output import work_bar
    from eaglekit.cli.target_files import local_target, memory_limit
    from eaglekit.dialects.target import read_target
    from eaglekit.validate.task import Task

    meaning = {name: wishes[name] for name in MEANING}
    limit, target_text, baseline = memory_limit(wishes["memory_limit"]), wishes["target"], wishes["baseline"]
    target = open_target(target_text)
    if target is not None and wishes["prompts"] is not None:
        target = read_target(local_target(target_text, quiet=quiet))
    given = given_from(target=target, **meaning)
    typed = [str(text) for text in (target_text, baseline, wishes["prompts"], wishes["capture"]) if text is not None]
    task = Task(
        drafter=open_local(path, quiet=quiet),
        given=given,
        target=target,
        baseline=open_local(baseline, quiet=quiet) if baseline is not None else None,
        keep_embedding=wishes["embedding"] == "keep",
        device=device_of(wishes),
        memory_limit_bytes=limit,
        bar=work_bar(quiet=quiet),
        **{name: wishes[name] for name in TAKEN},
    )
    return task, typed


MEANING = ("aux_layers", "aux_convention", "settings", "target_family", "dialect", "drops")
TAKEN = (
    "prompts", "capture", "generate", "limit", "draft_tokens", "depth", "temperature", "min_acceptance_length",
    "probe_layers", "dtype", "activations", "engine",
)  # fmt: skip


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
