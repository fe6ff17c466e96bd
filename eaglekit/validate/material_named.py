"""Whether what is at hand is what a report names: drafter, baseline, texts and target, each by its digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.copying import Written
from eaglekit.checkpoint.lookup import library_identity
from eaglekit.dialects.target import Target
from eaglekit.plan.saved import digests
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import refuse_if
from eaglekit.report.progress import Bar
from eaglekit.validate.binding import file_digest
from eaglekit.validate.protocol import Protocol


def refuse_other_drafter(protocol: Protocol, drafter: Checkpoint, bar: Bar) -> None:
    """Raise `Refusal` unless the report is about exactly the files of `drafter`."""
    refuse_if(_others("verify-drafter-other", "the drafter", protocol.files, drafter, bar))


def refuse_other_baseline(protocol: Protocol, baseline: Checkpoint, bar: Bar) -> None:
    """Raise `Refusal` unless the report was made beside exactly the files of `baseline`."""
    if protocol.baseline is not None:
        refuse_if(_others("verify-baseline-other", "the baseline", protocol.baseline, baseline, bar))


def refuse_other_file(code: str, path: Path, expected: str) -> None:
    """Raise `Refusal` with `code` unless the file has the SHA-256 that the report names."""
    got = file_digest(path)
    if got != expected:
        raise Refusal(
            Finding(
                code,
                f"{path.name} is not the file that the report was made with",
                place=path.name,
                got=f"sha256 {got}",
                expected=f"sha256 {expected}",
                hint="get the very file from the publisher: other texts give other figures",
            )
        )


def refuse_other_target(protocol: Protocol, target: Target) -> None:
    """Raise `Refusal` unless config, headers and sizes of the target are those that the report names.

    Reads every header of it, and no weights.
    """
    assert protocol.target is not None  # noqa: S101 - asked for only with one
    got = library_identity(target.library)["digest"]
    if got != protocol.target.digest:
        raise Refusal(
            Finding(
                "verify-target-other",
                f"{target.label} is not the target that the report was made with",
                place=target.label,
                got=str(got),
                expected=protocol.target.digest,
                hint=f"give {protocol.target.hub_id}"
                if protocol.target.hub_id
                else "the digest covers config, headers and sizes: give the same quantisation and shards",
            )
        )


def _others(
    code: str, whose: str, expected: Mapping[str, Written], checkpoint: Checkpoint, bar: Bar
) -> Sequence[Finding]:
    files, sizes = checkpoint.own_files(), checkpoint.source.files()
    with bar("digest", sum(sizes[file] for file in files), "bytes") as tell:
        made = digests(checkpoint.source, files, tell)
    found = {file: Written(sizes[file], made[file]) for file in files}
    return [
        Finding(
            code,
            f"{file} is not the file of {whose} that the report is about",
            place=file,
            got=_told(found.get(file)),
            expected=_told(expected.get(file)),
            hint="the report and the files are of different pushes: take a commit where they belong together",
        )
        for file in sorted({*found, *expected})
        if found.get(file) != expected.get(file)
    ]


def _told(file: Written | None) -> str:
    return f"sha256 {file.sha256}, {file.size_bytes} bytes" if file is not None else "absent"
