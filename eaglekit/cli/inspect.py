"""`eaglekit inspect`: what is this, in which spelling, what would each engine make of it."""

from __future__ import annotations

from typing import Any

import click

from eaglekit.cli.options import all_engines_option, meaning_options
from eaglekit.cli.output import guarded, json_option, print_report, shorten_engines


@click.command("inspect")
@click.argument("path")
@click.option(
    "--for", "requests", multiple=True, metavar="ENGINE[@VERSION]", help="An engine that must read it as it is."
)
@meaning_options
@all_engines_option
@click.option("--tensors", "show_tensors", is_flag=True, help="List every tensor with its role.")
@json_option
@guarded("inspect", "path")
def command(
    path: str,
    *,
    requests: tuple[str, ...],
    target: str | None,
    all_engines: bool,
    show_tensors: bool,
    as_json: bool,
    **meaning: Any,
) -> None:
    """Tell what a checkpoint is and what engines make of it.

    PATH is a folder or a Hub id with an optional revision (ORG/NAME@v1). Of a Hub id only the config and the headers
    are fetched. Nothing is written. Exit code 1 when something is wrong with the drafter itself, or when an engine
    named with --for would not read it as it is.

    \b
    Examples:
      eaglekit inspect ./drafter
      eaglekit inspect lightseekorg/kimi-k2.6-eagle3.1-mla --json
      eaglekit inspect ./drafter --target ./target
      eaglekit inspect ./drafter --for vllm@0.32 --for sglang
    """
    from eaglekit.api.looking import inspect

    report = inspect(path, engines=requests, target=target, **meaning)
    tables = ["engines", *(["tensors", "dropped-keys"] if show_tensors else [])]
    shown = report if as_json or all_engines else shorten_engines(report, requests)
    print_report(shown, as_json=as_json, tables=tables)
    if not report.ok:
        raise SystemExit(1)
