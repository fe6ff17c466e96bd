"""One voice: data on stdout, speech on stderr, one JSON document with `--json`, also on failure."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, NoReturn

import click

from eaglekit.api.misuse import Misuse
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.json_text import dumps

DEBUG = "EAGLEKIT_DEBUG"


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` is among raw arguments: for errors that come before options are parsed."""
    return "--json" in arguments


def print_report(
    report: Report,
    *,
    as_json: bool,
    headline: str = "",
    tables: Sequence[str] | None = None,
    facts: Sequence[str] | None = None,
    measurements: Sequence[str] | None = None,
) -> None:
    """The result of a command on stdout: JSON with everything, or for people what is named of it."""
    if as_json:
        click.echo(dumps(report.as_json()), nl=False)
        return
    from eaglekit.report.terminal import show

    if facts is not None:
        report = replace(report, facts=tuple(fact for fact in report.facts if fact.name in facts))
    out = console(sys.stdout)
    with out.capture() as captured:
        if headline:
            out.print(headline + "\n", style="bold", markup=False)
        show(report, out, tables=tables, measurements=measurements)
    # Columns are padded with blanks, which only get in the way of whoever copies or compares the text.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def console(stream: Any) -> Any:
    """A rich console for a stream: wide when it is no terminal, so that piped lines are not cut."""
    from rich.console import Console

    width = None if stream.isatty() or "COLUMNS" in os.environ else 160
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def say(text: str) -> None:
    """A line of speech on stderr."""
    from eaglekit.report.model import printable

    click.echo(printable(text), err=True)


def refuse(refusal: Refusal, command: str, subject: str, *, as_json: bool) -> NoReturn:
    """Tell a refusal and leave with exit code 1."""
    report = replace(refusal.report, command=command, subject=refusal.report.subject or subject)
    if as_json:
        click.echo(dumps(report.as_json()), nl=False)
    else:
        from eaglekit.report.terminal import show_findings

        out = console(sys.stderr)
        count = len(report.errors)
        codes = list(dict.fromkeys(finding.code for finding in report.errors))
        with out.capture() as captured:
            show_findings(report.findings, out)
            out.print(
                f"\n{command} refused: {count} error{'s' if count != 1 else ''}. The story behind one: "
                f"[bold]eaglekit explain {codes[0] if codes else 'CODE'}[/bold]"
            )
        click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()), err=True)
    sys.exit(1)


def fail_usage(error: click.ClickException) -> None:
    """A usage error as the one JSON document that `--json` promises."""
    context = getattr(error, "ctx", None)
    # Below the group, click's path is `eaglekit COMMAND`; an unknown command is an error of the group itself.
    path = context.command_path if context is not None else "eaglekit"
    finding = Finding("usage", error.format_message(), place="command line", hint=f"{path} --help")
    click.echo(dumps(Report(path.rpartition(" ")[2], "", findings=(finding,)).as_json()), nl=False)


USUAL = ("vllm", "sglang")
"""Engines that are shown without being asked for."""


def shorten_engines(report: Report, requests: Sequence[str]) -> Report:
    """The report with the engines a person asked about first and no others; how many are left out is said."""
    asked = {request.partition("@")[0].lower() for request in requests}
    tables = []
    for table in report.tables:
        if table.name == "engines":
            rows = tuple(row for row in table.rows if row[0] in asked or row[0] in USUAL)
            others = len({row[0] for row in table.rows}) - len({row[0] for row in rows})
            title = f"{table.title} ({others} more: --all-engines)" if others else table.title
            table = replace(table, title=title, rows=rows)
        tables.append(table)
    return replace(report, tables=tuple(tables))


def guarded(command: str, subject_of: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turns refusals, and what the operating system refuses, into findings and exit code 1: never a traceback.

    `subject_of` names the argument that is the report's subject; the command must take `as_json`.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def wrapped(*args: Any, **options: Any) -> None:
            subject = str(options.get(subject_of) or "")
            try:
                function(*args, **options)
            except Refusal as refusal:
                if os.environ.get(DEBUG):
                    raise
                _refuse_somewhere(refusal, command, subject, as_json=options["as_json"])
            except Misuse as misuse:
                raise click.UsageError(misuse.options) from None
            except (OSError, MemoryError, RecursionError, OverflowError, UnicodeError) as error:
                if os.environ.get(DEBUG) or isinstance(error, BrokenPipeError):
                    raise
                _refuse_somewhere(Refusal(_system(error)), command, subject, as_json=options["as_json"])

        return wrapped

    return decorate


def _refuse_somewhere(refusal: Refusal, command: str, subject: str, *, as_json: bool) -> NoReturn:
    try:
        refuse(refusal, command, subject, as_json=as_json)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or not as_json:
            raise
        # Standard output itself cannot be written: the other stream is left.
        refuse(refusal, command, subject, as_json=False)


def _system(error: BaseException) -> Finding:
    name = getattr(error, "filename", None)
    reason = getattr(error, "strerror", None) or type(error).__name__
    return Finding(
        "system-error",
        f"the system refused: {reason}" + (f" ({name})" if name else ""),
        place=str(name or ""),
        hint=f"{DEBUG}=1 shows where it happened",
    )


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--json` on every command."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document, also on failure.")(function)


def work_bar(*, quiet: bool) -> Callable[[str, int, str], AbstractContextManager[Callable[[int], None]]]:
    """What shows a bar for work of a title, a total and a unit (`bytes`, `texts`, ...), only on a terminal."""

    def bar(title: str, total: int, unit: str) -> AbstractContextManager[Callable[[int], None]]:
        if unit == "bytes":
            return progress_bar(title, total, quiet=quiet)
        return _count_bar(title, total, unit, quiet=quiet)

    return bar


@contextmanager
def _count_bar(title: str, total: int, unit: str, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr that counts things; one that only moves when their number is not known (0)."""
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from eaglekit.report.model import printable

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(title), total=total or None)
        yield lambda done: progress.update(task, advance=done)


@contextmanager
def progress_bar(title: str, total_bytes: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr for long work, only on a terminal; yields the function to tell bytes to."""
    if quiet or not sys.stderr.isatty():
        yield lambda size_bytes: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from eaglekit.report.model import printable

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(title), total=total_bytes)
        yield lambda size_bytes: progress.update(task, advance=size_bytes)
