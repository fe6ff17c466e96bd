"""The receiver's side: what one commit offers by its manifest, and those bytes in a new folder, each proved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eaglekit.checkpoint import Source
from eaglekit.checkpoint.copying import Written
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.hub_http import HubConnection
from eaglekit.checkpoint.hub_id import HubId
from eaglekit.checkpoint.remote import HubFolder
from eaglekit.checkpoint.writing import StagedFolder
from eaglekit.hub.local.manifest_reading import NO_SUMS, read_manifest
from eaglekit.hub.model import CARD, SIGNATURE, LocalFile, RemoteEntry
from eaglekit.hub.remote.listing import entries_at
from eaglekit.plan.manifest import MANIFEST
from eaglekit.plan.saved import digests
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import refuse_if

MANIFEST_LIMIT = 1 << 20
"""Bytes; a line is about a hundred of them."""
BESIDE = {CARD: 4 << 20, SIGNATURE: 16 << 20}
"""What is taken though the manifest does not cover it, and up to how many bytes: prose, and the signature itself."""
SILENT = frozenset({MANIFEST, ".gitattributes"})
"""Neither taken like the others nor worth a warning."""
PIECE_BYTES = 64 << 20

Tell = Callable[[int], None]
"""Called with the number of bytes that were done since the last call."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What one commit offers: the files its manifest lists, compared with the listing; nothing is downloaded yet."""

    source: HubFolder
    manifest: bytes
    digest: str
    """`sha256:...` of the manifest: names every listed byte."""
    listed: Mapping[str, Written]
    """What the manifest says, sorted by name."""
    beside: Mapping[str, RemoteEntry]
    """Files outside the manifest that are taken: the card, a signature."""
    left: tuple[str, ...]
    """Files of the commit that are not taken, because nothing vouches for them."""

    @property
    def names(self) -> list[str]:
        """What is to be downloaded."""
        return [*self.listed, *self.beside]

    @property
    def size_bytes(self) -> int:
        """Of everything that is to be downloaded."""
        listed = sum(file.size_bytes for file in self.listed.values())
        return listed + sum(entry.size_bytes for entry in self.beside.values())

    def warnings(self) -> list[Finding]:
        """What somebody should know about the files that stay there."""
        if not self.left:
            return []
        names = ", ".join(self.left[:8]) + (f" and {len(self.left) - 8} more" if len(self.left) > 8 else "")
        count = len(self.left)
        return [
            Finding(
                "pull-not-covered",
                f"{count} file{'s' if count > 1 else ''} of {self.source.label} that {MANIFEST} does not list "
                f"{'are' if count > 1 else 'is'} not taken: {names}",
                place=self.source.label,
                got=names,
                expected=f"files that {MANIFEST} lists",
                hint="ask the owner to push again with eaglekit, if they belong to the drafter",
            )
        ]


def look(hub_id: HubId, *, expect: str | None = None) -> Offer:
    """What the repository offers at one commit. Raises `Refusal` when its manifest cannot vouch for its files.

    `expect` is the manifest's SHA-256 in hex, as the publisher announced it. Reads the manifest and the listing only.
    """
    source = HubFolder(hub_id.repo, hub_id.revision)
    size_bytes = source.files().get(MANIFEST)
    if size_bytes is None:
        raise Refusal(_no_manifest(source))
    if size_bytes > MANIFEST_LIMIT:
        raise Refusal(_large_manifest(size_bytes))
    data = source.read(MANIFEST, 0, size_bytes)
    made = LocalFile.made(MANIFEST, data)
    if expect is not None and made.sha256 != expect:
        raise Refusal(_unexpected(source, made.sha256, expect))
    listed = read_manifest(data, MANIFEST)
    there = entries_at(HubConnection(HubId(source.repo, source.commit)), source.repo, source.commit)
    refuse_if(list(_differences(listed, there)))
    beside = {
        name: there[name]
        for name, limit in BESIDE.items()
        if name in there and name not in listed and there[name].size_bytes <= limit
    }
    left = tuple(sorted(set(there) - set(listed) - set(beside) - SILENT))
    return Offer(source, data, f"sha256:{made.sha256}", listed, beside, left)


def take(offer: Offer, here: LocalFolder, destination: Path, tell: Tell) -> Mapping[str, Written]:
    """The offered files as a new folder at `destination`: what was written. Raises `Refusal`, with nothing there.

    `here` is where they were downloaded to. The digests compared are those of the bytes as they were written.
    """
    with StagedFolder(destination) as folder:
        for name in offer.names:
            size_bytes = here.files()[name]
            descriptor = here.open(name)
            try:
                with folder.open_file(name, size_bytes) as writer:
                    for start in range(0, size_bytes, PIECE_BYTES):
                        end = min(start + PIECE_BYTES, size_bytes)
                        writer.copy(descriptor, start, end)
                        tell(end - start)
            finally:
                os.close(descriptor)
        written = dict(folder.written)
        findings = [*_wrong(offer.listed, written, offer.source), *_wrong_beside(offer, here, written)]
        refuse_if(findings)
        folder.write_bytes(MANIFEST, offer.manifest)
        folder.commit()
    return written


def prove(source: Source, listed: Mapping[str, Written], tell: Tell) -> None:
    """Raise `Refusal` unless every listed file lies in `source`, byte for byte."""
    files = source.files()
    findings = [_missing(name, source.label) for name in listed if name not in files]
    present = [name for name in listed if name in files]
    made = digests(source, present, tell)
    written = {name: Written(files[name], made[name]) for name in present}
    refuse_if([*findings, *_wrong({name: listed[name] for name in present}, written, source)])


def manifest_of(source: Source) -> Mapping[str, Written] | None:
    """What the manifest of a folder lists; None when the folder has none. Raises `Refusal`."""
    size_bytes = source.files().get(MANIFEST)
    if size_bytes is None:
        return None
    if size_bytes > MANIFEST_LIMIT:
        raise Refusal(_large_manifest(size_bytes))
    return read_manifest(source.read(MANIFEST, 0, size_bytes), MANIFEST)


def _differences(listed: Mapping[str, Written], there: Mapping[str, RemoteEntry]) -> Iterator[Finding]:
    """Where manifest and listing disagree: told before anything is downloaded."""
    for name, file in listed.items():
        entry = there.get(name)
        if entry is None:
            yield _missing(name, "the repository")
            continue
        pairs = [("bytes", str(entry.size_bytes), str(file.size_bytes))]
        if entry.sha256 is not None and entry.size_bytes == file.size_bytes:
            pairs.append(("SHA-256", entry.sha256, file.sha256))
        yield from (
            Finding(
                "pull-file-differs",
                f"the Hub lists {name} with other {what} than {MANIFEST}",
                place=name,
                got=f"{got} {what}" if what == "bytes" else got,
                expected=f"{expected} {what}" if what == "bytes" else expected,
                hint="the file was replaced after the manifest was made: ask the owner, or take the commit before",
            )
            for what, got, expected in pairs
            if got != expected
        )


def _wrong(listed: Mapping[str, Written], written: Mapping[str, Written], source: Source) -> Iterator[Finding]:
    for name, file in listed.items():
        if written[name] != file:
            yield Finding(
                "pull-bytes-wrong",
                f"the bytes of {name} are not those that {MANIFEST} names",
                place=name,
                got=f"sha256 {written[name].sha256}, {written[name].size_bytes} bytes",
                expected=f"sha256 {file.sha256}, {file.size_bytes} bytes",
                hint=_again(source, name),
            )


def _wrong_beside(offer: Offer, here: LocalFolder, written: Mapping[str, Written]) -> Iterator[Finding]:
    for name, entry in offer.beside.items():
        file = LocalFile(name, here.local_path(name), written[name].size_bytes, written[name].sha256)
        if not entry.holds(file):
            yield Finding(
                "pull-bytes-wrong",
                f"the bytes of {name} are not those that the commit names",
                place=name,
                got=f"sha256 {file.sha256}, {file.size_bytes} bytes",
                expected=f"git name {entry.git_name}, {entry.size_bytes} bytes",
                hint=_again(offer.source, name),
            )


def _again(source: Source, name: str) -> str:
    """What helps against a wrong byte: the cache keeps it until it is told otherwise."""
    place = source.identity()
    if place.get("kind") != "hub":
        return "the file was changed or damaged: get it again"
    return (
        f"`hf download {place['repo']} {name} --revision {place['commit']} --force-download` replaces the copy in the "
        "cache; then run the command again"
    )


def _missing(name: str, where: str) -> Finding:
    return Finding(
        "pull-file-missing",
        f"{MANIFEST} lists {name}, which is not in {where}",
        place=name,
        got="absent",
        expected="every file of the manifest",
        hint="it was removed after the manifest was made: ask the owner, or take the commit before",
    )


def _no_manifest(source: HubFolder) -> Finding:
    return Finding(
        "pull-manifest-absent",
        f"{source.label} has no {MANIFEST}: nothing says which bytes its files should have",
        place=source.label,
        got="absent",
        expected=f"{MANIFEST}, which eaglekit push writes",
        hint=f"`hf download {source.repo} --revision {source.commit}` takes it without proof; {NO_SUMS}",
    )


def _large_manifest(size_bytes: int) -> Finding:
    return Finding(
        "pull-manifest-invalid",
        f"{MANIFEST} has {size_bytes} bytes",
        place=MANIFEST,
        got=f"{size_bytes} bytes",
        expected=f"at most {MANIFEST_LIMIT} bytes",
        hint="this is no manifest that eaglekit wrote",
    )


def _unexpected(source: HubFolder, got: str, expected: str) -> Finding:
    return Finding(
        "pull-manifest-unexpected",
        f"{MANIFEST} of {source.label} at {source.commit} is not the one that --expect names",
        place=MANIFEST,
        got=f"sha256:{got}",
        expected=f"sha256:{expected}",
        hint="give the commit that the publisher announced along with the digest: ORG/NAME@COMMIT",
    )
