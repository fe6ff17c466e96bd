"""`pull`: a published drafter as a folder here, with every byte proved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from eaglekit.api.files import refuse_taken
from eaglekit.api.misuse import Misuse, refusing
from eaglekit.api.opening import download
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.hub_id import is_spelled_id, parse_repo
from eaglekit.hub.publishing.following import verify_folder
from eaglekit.hub.pulling import Offer, look, take
from eaglekit.report import Fact, Refusal, Report, Table
from eaglekit.report.progress import Bar, silent

DIGEST = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")


def pull(
    repo: str,
    dst: str | os.PathLike[str],
    *,
    expect: str | None = None,
    dry_run: bool = False,
    progress: Bar = silent,
) -> Report:
    """A published drafter as the new folder `dst`, every byte compared with its manifest: `eaglekit pull`.

    `expect` is the SHA-256 of the manifest as the publisher announced it. `dst` appears whole or not at all.
    """
    with refusing("pull", repo):
        return pulled(repo, Path(dst), expect, dry_run=dry_run, bar=progress)[1]


def pulled(repo: str, dst: Path, expect: str | None, *, dry_run: bool, bar: Bar = silent) -> tuple[Offer, Report]:
    """What the Hub offers, and the report on what was taken of it. Raises `Refusal`."""
    expected = _digest(expect)
    if not is_spelled_id(repo) and is_spelled_id(str(dst)):
        raise Misuse(f"REPOSITORY comes first: eaglekit pull {dst} {repo}")
    hub_id = parse_repo(repo, expected="ORG/NAME or ORG/NAME@REVISION")
    if not dry_run:
        refuse_taken([dst])
    with _without_folder():
        offer = look(hub_id, expect=expected)
        if not dry_run:
            _take(offer, dst, bar)
    return offer, _report(offer, repo, None if dry_run else dst)


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
        raise Misuse("--expect takes sha256: and 64 hexadecimal digits, as eaglekit push prints them.")
    return found[1].lower()


def _take(offer: Offer, dst: Path, bar: Bar) -> None:
    """Download what is offered, and write it."""
    here = download(offer.source, offer.names, bar=bar)
    assert isinstance(here, LocalFolder)  # noqa: S101 - a download lies on this machine
    with bar(f"write {dst}", offer.size_bytes, "bytes") as tell:
        take(offer, here, dst, tell)


def _next(dst: Path) -> tuple[str, ...]:
    """What a receiver does then."""
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
