"""The entry point: a group whose commands are imported when they are called, so that `--help` stays fast."""

from __future__ import annotations

import importlib
import io
import os
import sys
from contextlib import suppress

import click

from eaglekit import _ON_WINDOWS, __version__

COMMANDS: dict[str, tuple[str, str, str]] = {
    "inspect": ("eaglekit.cli.inspect", "command", "Tell what a checkpoint is and what engines make of it."),
    "convert": ("eaglekit.cli.convert", "command", "Write a drafter as EAGLE 3.1, for every engine or for one."),
    "capture": ("eaglekit.cli.capture", "command", "Run a target over texts once, and keep its states."),
    "apply": ("eaglekit.cli.apply", "command", "Carry out a saved plan."),
    "diff": ("eaglekit.cli.diff", "command", "Compare two drafters by role and meaning."),
    "validate": ("eaglekit.cli.validate", "command", "Tell whether a drafter is right, and what it is worth."),
    "bench": ("eaglekit.cli.bench", "command", "Measure what a drafter is worth in tokens per second."),
    "recipe": ("eaglekit.cli.recipe", "command", "Print the command that serves a drafter with its target."),
    "card": ("eaglekit.cli.card", "command", "Write the model card of a validated drafter."),
    "push": ("eaglekit.cli.push", "command", "Publish a validated drafter on the Hub, or rehearse it."),
    "pull": ("eaglekit.cli.pull", "command", "Download a published drafter, and prove every byte."),
    "verify": ("eaglekit.cli.verify", "command", "Measure again what a published drafter claims."),
    "explain": ("eaglekit.cli.explain", "command", "Tell the story behind a finding code."),
    "engines": ("eaglekit.cli.tables", "engines", "List the engines and what each honours."),
    "dialects": ("eaglekit.cli.tables", "dialects", "List the spellings that are read and written."),
}
"""Command -> module, attribute and one-line help; the help stands here so that listing imports nothing."""


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; imports its module."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        loaded: click.Command = getattr(importlib.import_module(module), attribute)
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the help that stands in the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, _, about) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was meant; a near miss is named in the error."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean {close[0]!r}?", ctx) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="eaglekit")
def cli() -> None:
    """Make EAGLE-3 and EAGLE 3.1 draft models right, for every serving engine.

    \b
    Examples:
      eaglekit inspect ./drafter
      eaglekit convert ./drafter ./drafter-3.1 --target meta-llama/Llama-3.1-8B-Instruct
      eaglekit explain aux-convention-unknown
    """


def main() -> None:
    """Run the command line. Exit codes: 0 fine, 1 a check failed or a known error, 2 wrong usage."""
    if sys.platform == "win32":
        sys.exit(_ON_WINDOWS)
    from eaglekit.cli.output import DEBUG, fail_usage, wants_json

    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot write is shown escaped; inside JSON the escape is valid too.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(args=sys.argv[1:], prog_name="eaglekit", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        try:
            if wants_json(sys.argv[1:]):
                fail_usage(error)
            else:
                error.show()
        except OSError:
            _silence()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _silence()
        sys.exit(1)
    except OSError as error:
        if os.environ.get(DEBUG):
            raise
        with suppress(OSError):  # the streams themselves may be what cannot be written
            click.echo(f"the system refused: {error.strerror}", err=True)
        _silence()
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _open_closed() -> None:
    """Open the standard streams that were closed before we began: a file opened later would get their number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            found = os.open(os.devnull, os.O_RDWR)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False, encoding="utf-8"))  # noqa: SIM115


def _silence() -> None:
    """The reader of our output has gone; keep Python from complaining about it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


if __name__ == "__main__":
    main()
