"""`eaglekit pull`: a published drafter as a folder here, with every byte proved."""

from __future__ import annotations

from pathlib import Path

import click

from eaglekit.cli.output import guarded, json_option, print_report, say, work_bar


@click.command("pull")
@click.argument("repository")
@click.argument("dst", type=click.Path(path_type=Path))
@click.option(
    "--expect", metavar="DIGEST", help="SHA-256 of SHA256SUMS as the publisher announced it; anything else is refused."
)
@click.option("--dry-run", is_flag=True, help="Compare manifest and listing, download and write nothing.")
@json_option
@guarded("pull", "repository")
def command(repository: str, dst: Path, *, expect: str | None, dry_run: bool, as_json: bool) -> None:
    """Download a published drafter, and prove every byte.

    REPOSITORY is ORG/NAME or ORG/NAME@REVISION; DST must not exist. The manifest SHA256SUMS is read first and compared
    with what the Hub lists. Files that it does not cover are not taken. DST appears whole, every digest compared, or
    not at all; what was downloaded when a run was interrupted is not downloaded again.

    \b
    Examples:
      eaglekit pull acme/llama-eagle3.1 ./drafter
      eaglekit pull acme/llama-eagle3.1@v1 ./drafter --expect sha256:5f2c...
      eaglekit pull acme/llama-eagle3.1 ./drafter --dry-run
    """
    from eaglekit.api.pulling import pulled

    offer, report = pulled(repository, dst, expect, dry_run=dry_run, bar=work_bar(quiet=as_json))
    print_report(report, as_json=as_json)
    if as_json:
        return
    told = f"{len(offer.names) + 1} files, {offer.size_bytes / 1e6:,.1f} MB"
    if dry_run:
        say(f"\nnothing was downloaded: {told} would be")
        return
    say(f"\nwritten: {dst} ({told}), every digest compared")
    for line in report.result["next"]:
        say(f"next: {line}")
