"""`eaglekit capture`: run a target over texts once, and keep what drafters are measured on."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import click

from eaglekit.cli.computing_options import computing_options, device_of
from eaglekit.cli.engine_options import ENGINES, start_options
from eaglekit.cli.output import guarded, json_option, print_report, progress_bar, say, work_bar

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("capture")
@click.argument("target")
@click.option(
    "--prompts",
    type=FILE,
    required=True,
    help="JSONL or JSON of prompts with the target's responses (rows: docs/validate.md).",
)
@click.option(
    "--generate", type=click.IntRange(1), metavar="N", help="Let the target answer, with at most N tokens each."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N texts.")
@click.option("--aux-layers", metavar="K,K,K", help="Layers to capture as boundary indices, or the word 'default'.")
@click.option("--drafter", metavar="PATH", help="Capture the layers that this drafter reads.")
@click.option("-o", "--output", type=FILE, metavar="CAPTURE", help="The file to write.")
@click.option("--overwrite", is_flag=True, help="Replace the file when it exists.")
@computing_options
@click.option("--engine", type=click.Choice(ENGINES), help="Let a real engine run the target, on one device or many.")
@start_options
@click.option("--dry-run", is_flag=True, help="Open everything, say what it would take, and run nothing.")
@json_option
@guarded("capture", "target")
def command(target: str, *, as_json: bool, dry_run: bool, output: Path | None, overwrite: bool, **wishes: Any) -> None:
    """Run a target over texts once, and keep what drafters are measured on.

    TARGET is a folder or a Hub id, in BF16 or quantised. It is read block by block: memory is needed for one block (of
    a mixture of experts, for some experts of it) and for the states of the texts. The file holds the states at the
    layers asked for, the final states and the target's own next token, and serves any number of drafters. With
    --engine vllm a real vLLM runs the target, spread as it is told to be, and the file is the same.

    \b
    Examples:
      eaglekit capture ./target --prompts answers.jsonl --aux-layers 2,18,33 -o states.safetensors
      eaglekit capture ./target --prompts answers.jsonl --drafter ./drafter -o states.safetensors --gpu
      eaglekit capture ./target --prompts questions.jsonl --generate 256 --aux-layers default -o states.safetensors
      eaglekit capture ./target --prompts answers.jsonl --drafter ./drafter --dry-run --memory-limit 8GB
      eaglekit capture ./target --prompts answers.jsonl --drafter ./drafter -o states.safetensors --engine vllm
    """
    _refuse_combinations(output, dry_run, wishes)
    from eaglekit.api.extras import require_extras

    require_extras("capture")
    engine = None
    if wishes["engine"] is not None:
        from eaglekit.api.engines import find_started
        from eaglekit.serving.extraction import OURS_TOO

        engine = find_started(wishes, OURS_TOO)
    from eaglekit.cli.target_files import memory_limit

    limit = memory_limit(wishes["memory_limit"])
    from eaglekit.target.capture_file import refuse_taken
    from eaglekit.target.faults import within_memory
    from eaglekit.target.settings import DTYPES, Settings

    if output is not None and not dry_run:
        refuse_taken(output, overwrite=overwrite)
    dtype = wishes["dtype"]
    settings = Settings(
        device=device_of(wishes),
        dtype=DTYPES[dtype] if dtype is not None else None,
        activations=wishes["activations"],
        memory_limit_bytes=limit,
    )
    settings.torch_device()
    with within_memory():
        if engine is not None:
            _run_engine(target, wishes, settings, engine, None if dry_run else output, overwrite, as_json)
            return
        _run(target, wishes, settings, None if dry_run else output, overwrite=overwrite, as_json=as_json)


def _run(
    target: str, wishes: dict[str, Any], settings: Any, output: Path | None, *, overwrite: bool, as_json: bool
) -> None:
    """Everything opened, and the capture made and written; without an output only told what it would take."""
    from eaglekit.cli.target_files import local_target
    from eaglekit.target.capture_file import write_capture
    from eaglekit.target.capturing import capture, prepare, report

    source = local_target(target, quiet=as_json)
    layers = _layers(source, wishes)
    ready = prepare(source, wishes["prompts"], layers, settings, new_tokens=wishes["generate"], limit=wishes["limit"])
    if output is None:
        print_report(report(ready), as_json=as_json)
        return
    start = perf_counter()
    with progress_bar(f"run {target}", ready.model.size_bytes, quiet=as_json) as tell:
        made = capture(ready, progress=tell)
    seconds = perf_counter() - start
    size_bytes = write_capture(made, output, overwrite=overwrite)
    print_report(report(ready, made, seconds=seconds, size_bytes=size_bytes), as_json=as_json)
    _say_written(target, output, size_bytes, as_json)


def _run_engine(
    target: str, wishes: dict[str, Any], settings: Any, engine: Any, output: Path | None, overwrite: bool, as_json: bool
) -> None:
    """The same by a real engine: everything opened, then captured and written as it comes."""
    from eaglekit.cli.target_files import local_target
    from eaglekit.serving.capture_report import report
    from eaglekit.serving.capturing import capture_with, job_of
    from eaglekit.target.capturing import prepare

    source = local_target(target, quiet=as_json)
    layers = _layers(source, wishes)
    ready = prepare(source, wishes["prompts"], layers, settings, new_tokens=wishes["generate"], limit=wishes["limit"])
    if output is None:
        print_report(report(ready, engine, job_of(ready, engine)), as_json=as_json)
        return
    start = perf_counter()
    with work_bar(quiet=as_json)(f"run {target} in {engine.title}", len(ready.asked), "texts") as tell:
        made = capture_with(ready, engine, output, overwrite=overwrite, heard=tell)
    size_bytes, seconds = output.stat().st_size, perf_counter() - start
    print_report(
        report(ready, engine, job_of(ready, engine), made, seconds=seconds, size_bytes=size_bytes), as_json=as_json
    )
    _say_written(target, output, size_bytes, as_json)


def _say_written(target: str, output: Path, size_bytes: int, as_json: bool) -> None:
    if not as_json:
        use = f"eaglekit validate DRAFTER --target {target} --capture {output}"
        say(f"\nwritten: {output} ({size_bytes / 1e6:,.1f} MB)   use: {use}")


def _refuse_combinations(output: Path | None, dry_run: bool, wishes: dict[str, Any]) -> None:
    """Raise a usage error for options that contradict each other or lack what they need."""
    from eaglekit.api.engines import ABOUT_STARTING, options_given

    if (wishes["aux_layers"] is None) == (wishes["drafter"] is None):
        raise click.UsageError("Give the layers to capture: --aux-layers or --drafter, one of the two.")
    if output is None and not dry_run:
        raise click.UsageError("-o is missing: give the file to write, or --dry-run.")
    if wishes["gpu"] and wishes["device"] not in (None, "cuda"):
        raise click.UsageError("--gpu is --device cuda: give one of them.")
    if wishes["engine"] is None:
        if given := options_given(ABOUT_STARTING, wishes):
            raise click.UsageError(f"{given[0]} needs --engine vllm.")
        return
    own = options_given(("gpu", "device", "memory_limit"), wishes)
    if wishes["activations"] != "w4a16":
        own.append("--activations")
    if own:
        raise click.UsageError(f"{own[0]} is about a target that is run here: with --engine vLLM decides that.")


def _layers(source: Any, wishes: dict[str, Any]) -> tuple[int, ...] | str:
    """The layers that are asked for, stated or read from a drafter."""
    from eaglekit.dialects.given import Given, parse_aux_layers

    if wishes["drafter"] is None:
        return parse_aux_layers(wishes["aux_layers"])
    from eaglekit.cli.loading import open_input
    from eaglekit.dialects.reading import read
    from eaglekit.dialects.target import read_target
    from eaglekit.dialects.target_checks import given_with

    given = given_with(Given(), read_target(source))
    return tuple(read(open_input(wishes["drafter"]), given).drafter_or_refuse().spec.aux_layers)
