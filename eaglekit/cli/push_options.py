"""The options of `eaglekit push`, and what they say of where a push goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eaglekit.cli.card import word_options
from eaglekit.cli.options import stacked

if TYPE_CHECKING:
    from eaglekit.hub.model import Wishes

FILE = click.Path(path_type=Path, dir_okay=False)
BESIDE = ""
"""`--rehearse` without a folder: one beside the current one, named after the repository."""
SIGSTORE = "sigstore"
"""`--sign` without a key; as in hub/signing.py, which is not imported for the help."""


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


def refuse_swapped(path: str, repository: str) -> None:
    """Raise a usage error for a push whose arguments, or whose `--rehearse`, took each other's place."""
    import os

    from eaglekit.checkpoint.hub_id import is_spelled_id

    there = os.path.exists(os.path.expanduser(path))  # noqa: PTH110, PTH111 - Path raises for names that cannot be
    if not there and is_spelled_id(path) and not is_spelled_id(repository):
        raise click.UsageError(f"PATH comes first: eaglekit push {repository} {path}")


def _refuse_secrets(wishes: dict[str, Any]) -> None:
    """Raise `Refusal` for a secret among the words that would be published with the commit."""
    from eaglekit.hub.local.patterns import mask, secrets_in
    from eaglekit.report import Finding
    from eaglekit.report.model import refuse_if

    refuse_if(
        [
            Finding(
                "secret-found",
                f"--{option} holds {kind}",
                place=f"--{option}",
                got=mask(text[start:end]),
                expected="words that everybody may read",
                hint="revoke it where it was issued: every process can read command lines, and shells keep them",
            )
            for option in ("message", "tag", "revision", "collection")
            for text in [wishes[option] or ""]
            for kind, start, end in secrets_in(text)
        ]
    )


def wishes_of(repository: str, wishes: dict[str, Any]) -> Wishes:
    """Where the push goes, and how. Raises a usage error or `Refusal` for what cannot be."""
    from eaglekit.checkpoint.hub_id import REVISION, parse_repo
    from eaglekit.hub.model import Wishes
    from eaglekit.hub.publishing.collecting import SLUG

    _refuse_secrets(wishes)
    hub_id = parse_repo(repository)
    if hub_id.revision is not None:
        raise click.UsageError(f"ORG/NAME is without a revision here: say --revision {hub_id.revision}.")
    for option in ("revision", "tag"):
        name = wishes[option]
        if name is not None and (".." in name or not REVISION.fullmatch(name)):
            raise click.UsageError(f"--{option}: {name!r} cannot be the name of a branch or tag.")
    if wishes["create_pr"] and wishes["tag"] is not None:
        raise click.UsageError("--tag names what is published; a pull request is not, yet. Tag it when it is merged.")
    if wishes["create_pr"] and wishes["public"]:
        raise click.UsageError("--public is about a new repository; a pull request needs one that exists.")
    if wishes["create_pr"] and wishes["collection"] is not None:
        raise click.UsageError("--collection is for what is published; a pull request is not, yet.")
    if wishes["collection"] is not None and not SLUG.fullmatch(wishes["collection"]):
        raise click.UsageError(
            f"--collection: {wishes['collection']!r} is not OWNER/TITLE-ID, as in the address of a collection's page."
        )
    if wishes["rehearse"] is not None and wishes["sign"] == SIGSTORE:
        raise click.UsageError("sigstore records every signature in public: rehearse with a key, --sign KEY.pem.")
    if wishes["message"] is not None and not wishes["message"].strip():
        raise click.UsageError("--message is empty.")
    return Wishes(
        hub_id.repo,
        **{name: wishes[name] for name in PLACE},
    )


PLACE = ("revision", "create_pr", "public", "overwrite", "tag", "message", "collection")
