"""`eaglekit pull`: a published drafter as a folder here, with every byte proved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eaglekit.cli.output import guarded, json_option, print_report, progress_bar, say
from eaglekit.report import Fact, Refusal, Report, Table

if TYPE_CHECKING:
    from eaglekit.hub.pulling import Offer

DIGEST = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")


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
    from eaglekit.checkpoint.hub_id import is_spelled_id, parse_repo
    from eaglekit.cli.report_files import refuse_taken
    from eaglekit.hub.pulling import look

    expected = _digest(expect)
    if not is_spelled_id(repository) and is_spelled_id(str(dst)):
        raise click.UsageError(f"REPOSITORY comes first: eaglekit pull {dst} {repository}")
    hub_id = parse_repo(repository, expected="ORG/NAME or ORG/NAME@REVISION")
    if not dry_run:
        refuse_taken([dst])
    with _without_folder():
        offer = look(hub_id, expect=expected)
    if dry_run:
        print_report(_report(offer, repository, None), as_json=as_json)
        if not as_json:
            say(f"\nnothing was downloaded: {len(offer.names) + 1} files, {offer.size_bytes / 1e6:,.1f} MB would be")
        return
    with _without_folder():
        _take(offer, dst, quiet=as_json)
    print_report(_report(offer, repository, dst), as_json=as_json)
    if not as_json:
        say(f"\nwritten: {dst} ({len(offer.names) + 1} files, {offer.size_bytes / 1e6:,.1f} MB), every digest compared")
        for line in _next(dst):
            say(f"next: {line}")


HINTS = {
    "hub-offline": "unset HF_HUB_OFFLINE",
    "hub-unreachable": "check the connection, HTTPS_PROXY and HF_ENDPOINT",
}
"""Elsewhere a folder can be given in place of a Hub id; not here."""


@contextmanager
def _without_folder() -> Iterator[None]:
    try:
        yield
    except Refusal as refusal:
        raise Refusal(*(replace(f, hint=HINTS.get(f.code, f.hint)) for f in refusal.findings)) from None


def _digest(text: str | None) -> str | None:
    """The hex digits of `--expect`."""
    if text is None:
        return None
    found = DIGEST.fullmatch(text)
    if found is None:
        raise click.UsageError("--expect takes sha256: and 64 hexadecimal digits, as eaglekit push prints them.")
    return found[1].lower()


def _take(offer: Offer, dst: Path, *, quiet: bool) -> None:
    """Download what is offered, and write it."""
    from eaglekit.checkpoint.folder import LocalFolder
    from eaglekit.cli.loading import download
    from eaglekit.hub.pulling import take

    here = download(offer.source, offer.names, quiet=quiet)
    assert isinstance(here, LocalFolder)  # noqa: S101 - a download lies on this machine
    with progress_bar(f"write {dst}", offer.size_bytes, quiet=quiet) as tell:
        take(offer, here, dst, tell)


def _next(dst: Path) -> tuple[str, ...]:
    """What a receiver does then."""
    from eaglekit.hub.publishing.following import verify_folder

    return (verify_folder(dst), f"eaglekit recipe {dst} --target TARGET")


def _report(offer: Offer, subject: str, dst: Path | None) -> Report:
    """What was taken, or would be when `dst` is None."""
    source, word = offer.source, "compared" if dst is not None else "not downloaded"
    rows = [(name, file.size_bytes, file.sha256, f"in the manifest, {word}") for name, file in offer.listed.items()]
    rows += [
        (name, entry.size_bytes, entry.sha256 or f"git {entry.git_name}", f"outside the manifest, {word}")
        for name, entry in offer.beside.items()
    ]
    result: dict[str, Any] = {
        "repo": source.repo,
        "commit": source.commit,
        "manifest": offer.digest,
        "files": {name: {"sha256": f.sha256, "size_bytes": f.size_bytes} for name, f in offer.listed.items()},
        "not_taken": list(offer.left),
        "written": os.fspath(dst) if dst is not None else None,
        "next": list(_next(dst)) if dst is not None else [],
    }
    return Report(
        "pull",
        subject,
        facts=(
            Fact("repository", source.repo, "read: the Hub's answer"),
            Fact("commit", source.commit, "read: the Hub's answer"),
            Fact("manifest", offer.digest, "derived: SHA256SUMS at this commit; --expect takes it"),
        ),
        findings=tuple(offer.warnings()),
        tables=(Table("files", "Files", ("file", "bytes", "sha256", "standing"), tuple(rows)),),
        result=result,
    )
