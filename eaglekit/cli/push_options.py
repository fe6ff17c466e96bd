"""The options of `eaglekit push`, and what they say of where a push goes."""

from __future__ import annotations

from pathlib import Path

import click

from eaglekit.cli.card import word_options
from eaglekit.cli.options import stacked

FILE = click.Path(path_type=Path, dir_okay=False)
BESIDE = ""
"""`--rehearse` without a folder: one beside the current one, named after the repository."""
SIGSTORE = "sigstore"
"""`--sign` without a key; as in hub/local/signing.py, which is not imported for the help."""


class PushCommand(click.Command):
    """A command of which an option with an optional value may have taken an argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; an argument that is missing is looked for behind such an option."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            for option, value in (("--rehearse", "DIR"), ("--sign", "KEY")):
                behind = words[words.index(option) + 1 :][:1] if option in words else []
                if behind and not behind[0].startswith("-"):
                    raise click.UsageError(
                        f"{option} has taken {behind[0]} for its {value}: write {option} last, or {option}={value}.",
                        ctx,
                    ) from None
            raise


content_options = stacked(
    click.option("--report", "report_file", type=FILE, help="Report of eaglekit validate; default: PATH/report.json."),
    word_options,
    click.option(
        "--with-prompts", "prompts", type=FILE, help="Publish the texts of the report, too: the file it names."
    ),
    click.option("--no-figure", is_flag=True, help="Leave drift.png out."),
    click.option(
        "--sign",
        is_flag=False,
        flag_value=SIGSTORE,
        metavar="[KEY]",
        help="Sign with an EC private key (a PEM file), or without KEY by sigstore; needs eaglekit[sign].",
    ),
)
place_options = stacked(
    click.option(
        "--revision", default="main", show_default=True, metavar="BRANCH", help="One that is not there is made."
    ),
    click.option("--create-pr", is_flag=True, help="Propose the change as a pull request; a read token suffices."),
    click.option("--public", is_flag=True, help="Make a new repository public; it is private otherwise."),
    click.option("--tag", metavar="TAG", help="Tag the commit once every file of it has been checked."),
    click.option("--collection", metavar="SLUG", help="Put it into this collection, OWNER/TITLE-ID, afterwards."),
    click.option("--overwrite", is_flag=True, help="Replace files that have other content on the Hub."),
    click.option("--message", metavar="TEXT", help="Title of the commit; further lines are its description."),
)
run_options = stacked(
    click.option(
        "--rehearse", is_flag=False, flag_value=BESIDE, metavar="[DIR]",
        help="Push to a Hub on loopback that keeps everything in DIR, in place of the real one.",
    ),
    click.option("--dry-run", is_flag=True, help="Check everything, show the plan, send nothing."),
    click.option("--yes", is_flag=True, help="Do not ask before publishing; needed where nobody can be asked."),
    click.option("--show-card", is_flag=True, help="Show the README.md that will stand there."),
    click.option("-o", "--output", type=FILE, help="Write the report of the push as JSON, to a new file."),
)  # fmt: skip
