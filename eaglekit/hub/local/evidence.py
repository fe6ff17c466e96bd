"""The validation report as evidence: whole, passing, and about exactly these files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.reading import read
from eaglekit.hub.local.folder import Folder
from eaglekit.hub.local.report_reading import (
    MEASURED,
    REPORT_LIMIT,
    SHOWN,
    VALIDATE,
    invalid,
    length_of,
    read_validation,
)
from eaglekit.hub.local.scan import without_secrets
from eaglekit.hub.model import REPORT
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.json_text import compact

__all__ = ["REPORT_LIMIT", "Evidence", "TargetPlace", "evidence", "read_validation"]

MUST_PASS = ("structure", "numbers", "behaviour")


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """The target that the drafter was measured on."""

    kind: str
    """`local` or `hub`."""
    repo: str | None
    """Of a hub target only."""
    commit: str | None
    digest: str
    """`sha256:...` over its config, its headers and the sizes of its files."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passing report of the folder."""

    report: Report
    data: bytes
    """The report as it was written; published byte for byte."""
    target: TargetPlace


def evidence(data: bytes | None, folder: Folder, place: str = REPORT) -> tuple[Evidence | None, list[Finding]]:
    """The report in `data` as evidence for `folder`, or None and everything that speaks against it.

    `place` is what messages call the file. Whatever is in it, the outcome is a finding, never a traceback.
    """
    if data is None:
        return None, [_missing(place)]
    try:
        report = read_validation(data, place)
    except Refusal as refusal:
        return None, list(refusal.findings)
    findings = [
        without_secrets(finding)
        for part in (_passing(report, place), _measured(report, place), _as_it_says(report, place))
        for finding in part
    ]
    findings += map(without_secrets, _same_files(report.result["drafter"]["files"], folder, place))
    if not findings:
        findings += invalid(place, *wrong).findings if (wrong := other_facts(report, folder.checkpoint)) else ()
    target = report.result.get("target")
    if target is None:
        findings.append(_no_target(place))
    if findings or target is None:
        return None, findings
    where = TargetPlace(target["kind"], target.get("repo"), target.get("commit"), target["digest"])
    return Evidence(report, data, where), []


def _passing(report: Report, place: str) -> Iterator[Finding]:
    stages = report.result["stages"]
    for stage in sorted({*MUST_PASS, *stages}, key=[*MUST_PASS, *stages].index):
        outcome = stages.get(stage, "not run")
        if outcome == "failed" or (stage in MUST_PASS and outcome != "passed"):
            yield _not_passing(place, f"the stage {stage} of the validation: {outcome}", f"{stage}: {outcome}")
    for error in report.errors[:SHOWN]:
        yield _not_passing(place, f"the validation found an error, {error.code}: {error.message}", error.code)


def _not_passing(place: str, message: str, got: str) -> Finding:
    return Finding(
        "report-not-passing",
        message,
        place=place,
        got=got,
        expected=f"{', '.join(MUST_PASS)} passed, without errors",
        hint=f"mend it, then validate again: {VALIDATE}",
    )


def _measured(report: Report, place: str) -> Iterator[Finding]:
    length = length_of(report)
    if length is None or not length.count:
        yield Finding(
            "report-unmeasured",
            f"{place} holds no acceptance length",
            place=place,
            got="none" if length is None else "one that stands on no rounds",
            expected=f"a measurement `{MEASURED}` with its count",
            hint=VALIDATE,
        )


def _as_it_says(report: Report, place: str) -> Iterator[Finding]:
    """A finding when options of the validation stood against the file, or left out a part of it."""
    dropped = report.result["settings"]["drop"]
    against = [finding.message for finding in report.findings if finding.code == "overruled"]
    for why in (*against, *(f"--drop {name}" for name in dropped)):
        yield Finding(
            "report-overruled",
            f"the validation did not take the file at its word: {why}",
            place=place,
            expected="a validation of the file as it is",
            hint="convert with the same option, then validate the result without it",
        )


def _same_files(judged: Mapping[str, Mapping[str, Any]], folder: Folder, place: str) -> Iterator[Finding]:
    """Every file of the drafter that the report is not about, in both directions."""
    have = {file.name: file for file in folder.files}
    own = folder.checkpoint.own_files()
    for name in sorted({*own, *judged}):
        file, known = have.get(name), judged.get(name)
        if known is None:
            yield _other(place, name, "the report does not know it", "a file the report has judged")
        elif file is None or name not in own:
            yield _other(place, name, "it is in the report and not in the folder", f"sha256 {known['sha256']}")
        elif (file.sha256, file.size_bytes) != (known["sha256"], known["size_bytes"]):
            here, there = f"{file.size_bytes} bytes, sha256 {file.sha256}", f"{known['size_bytes']} bytes, sha256 "
            yield _other(place, name, "the report is about another one", there + known["sha256"], here)


def other_facts(report: Report, checkpoint: Checkpoint) -> list[str]:
    """Where the report says something else of the drafter than these files do: the card prints what it says."""
    try:
        drafter = read(checkpoint).drafter
    except Refusal:
        return []
    if drafter is None:
        return []
    said = {fact.name: fact.value for fact in report.facts}
    known = {name: value for name, value, _ in drafter.facts()}
    wrong = [
        f"facts.{name} says {str(said.get(name))[:80]}, the files say {str(value)[:80]}"
        for name, value in known.items()
        if compact(said.get(name)) != compact(value)
    ]
    return wrong + [
        f"facts.{name[:80]} is neither text nor number"
        for name, value in said.items()
        if name not in known and not isinstance(value, (str, int, float))
    ]


def _other(place: str, name: str, why: str, expected: str, got: str = "") -> Finding:
    return Finding(
        "report-of-other-files",
        f"{name} is not what was validated: {why}",
        place=f"{place}: {name}",
        got=got,
        expected=expected,
        hint="validate this very folder, or give the report of it with --report",
    )


def _no_target(place: str) -> Finding:
    return Finding(
        "report-target-missing",
        f"{place} names no target",
        place=place,
        expected="result.target, with its digest",
        hint=VALIDATE,
    )


def _missing(place: str) -> Finding:
    return Finding(
        "report-missing",
        f"there is no validation report {place}",
        place=place,
        expected="the report of a passing validation of this folder",
        hint="./report.json lies here: is it that? --report report.json"
        if Path(REPORT).is_file()
        else f"{VALIDATE}; then add --report report.json",
    )
