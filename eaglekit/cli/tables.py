"""`eaglekit engines` and `eaglekit dialects`: the tables that rule everything else."""

from __future__ import annotations

import click

from eaglekit.cli.output import guarded, json_option, print_report
from eaglekit.report import Report


@click.command("engines")
@click.argument("name", required=False)
@json_option
@guarded("engines", "name")
def engines(name: str | None, *, as_json: bool) -> None:
    """List the engines and what each honours.

    With NAME, every row of one engine with its source.

    \b
    Examples:
      eaglekit engines
      eaglekit engines vllm
    """
    from eaglekit.engines.listing import capabilities_table, engines_table
    from eaglekit.engines.requests import known_engine

    table = engines_table() if name is None else capabilities_table(known_engine(name, "NAME").name)
    print_report(Report("engines", name or "", tables=(table,)), as_json=as_json)


@click.command("dialects")
@click.argument("name", required=False)
@json_option
@guarded("dialects", "name")
def dialects(name: str | None, *, as_json: bool) -> None:
    """List the spellings that are read and written.

    With NAME, every tensor name and config key of one dialect.

    \b
    Examples:
      eaglekit dialects
      eaglekit dialects portable
    """
    from eaglekit.dialects.listing import dialect_tables

    print_report(Report("dialects", name or "", tables=dialect_tables(name)), as_json=as_json)
