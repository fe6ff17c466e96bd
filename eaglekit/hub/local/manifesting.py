"""The manifest of a repository: everything that computes and everything that proves."""

from __future__ import annotations

from collections.abc import Iterable

from eaglekit.checkpoint.copying import Written
from eaglekit.hub.model import CARD, SIGNATURE, LocalFile
from eaglekit.plan.manifest import MANIFEST, manifest_text

LEFT_OUT = frozenset({CARD, SIGNATURE, MANIFEST})
"""A card is prose that people edit on the Hub; a signature signs the manifest; a manifest has no digest of itself."""


def full_manifest(files: Iterable[LocalFile]) -> LocalFile:
    """SHA256SUMS over all of `files` but the card and the signature. The same files make the same bytes."""
    listed = {file.name: Written(file.size_bytes, file.sha256) for file in files if file.name not in LEFT_OUT}
    return LocalFile.made(MANIFEST, manifest_text(listed).encode())
