"""A manifest from somebody else: read as text that may be hostile, and judged before anything is written by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eaglekit.checkpoint.copying import Written
from eaglekit.checkpoint.file_names import one_on_some_disk, unsafe_reason
from eaglekit.hub.model import CARD, SIGNATURE
from eaglekit.plan.manifest import MANIFEST, parse_manifest
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import printable, refuse_if

FILES_LIMIT = 1_000
"""More files than any drafter has."""
NAME_LIMIT = 1_024
"""Characters of one name."""
BESIDE = (MANIFEST, CARD, SIGNATURE)
"""What lies beside the listed files, whether it is listed or not."""
NO_SUMS = "or ask its owner to push it with eaglekit"
PICKLES = (".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth")
"""Endings of files whose loading runs what is in them."""


def read_manifest(data: bytes, place: str) -> dict[str, Written]:
    """The files that a manifest lists, sorted. Raises `Refusal` for text that is no manifest, and for names that lead
    astray: they decide what is written where.
    """
    try:
        listed = parse_manifest(data.decode("utf-8"))
    except ValueError as error:  # UnicodeDecodeError is one too
        raise Refusal(_invalid(place, f"is no manifest: {error}")) from None
    if not listed:
        raise Refusal(_invalid(place, "lists no file"))
    if len(listed) > FILES_LIMIT:
        raise Refusal(_invalid(place, f"lists {len(listed)} files; at most {FILES_LIMIT} are read"))
    refuse_if(list(_findings_of_names(listed, place)))
    return dict(sorted(listed.items()))


def _findings_of_names(listed: Mapping[str, Written], place: str) -> Iterator[Finding]:
    """What is wrong with the names of a manifest, judged as text."""
    for name in listed:
        if reason := _wrong_name(name):
            yield _invalid(place, f"lists {printable(name[:NAME_LIMIT])!r}, which {reason}")
        elif name.lower().endswith(PICKLES):
            yield Finding(
                "pull-pickle",
                f"{place} lists {name}, and files of that kind run code when they are loaded",
                place=name,
                got=name,
                expected="weights in safetensors",
                hint="do not load it; ask the owner for safetensors",
            )
    for first, second in one_on_some_disk(dict.fromkeys((*BESIDE, *listed))):
        yield _invalid(place, f"lists {second!r}, which is one file with {first!r} on macOS or Windows")


def _wrong_name(name: str) -> str | None:
    if reason := unsafe_reason(name):
        return reason
    if not name.isprintable() or len(name) > NAME_LIMIT:
        return "is no name of a published file"
    if any(part.startswith(".") for part in name.split("/")):
        return "is hidden"
    return "is the manifest itself" if name == MANIFEST else None


def _invalid(place: str, problem: str) -> Finding:
    return Finding(
        "pull-manifest-invalid",
        f"{place} {problem}",
        place=place,
        expected="sizes, digests and plain names, as eaglekit push writes them",
        hint="nothing was written; tell the owner of the repository",
    )
