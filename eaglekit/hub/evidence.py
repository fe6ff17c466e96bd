"""The validation report as evidence: whole, passing, and about exactly these files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.checkpoint.json_document import read_object
from eaglekit.dialects.reading import read
from eaglekit.hub.folder import Folder
from eaglekit.hub.model import REPORT
from eaglekit.hub.scan import without_secrets
from eaglekit.report import Finding, Measurement, Refusal, Report
from eaglekit.report.codes import CODES
from eaglekit.report.json_text import compact
from eaglekit.report.schemas import problems

REPORT_LIMIT = 32 << 20
"""Largest report read, in bytes: one of a drafter of a thousand tensors has about 500 kB."""
SHOWN = 10
"""Problems that are told of one document."""
MEASURED = "acceptance length"
"""The measurement without which nothing is published."""
MUST_PASS = ("structure", "numbers", "behaviour")
VALIDATE = "eaglekit validate DRAFTER --target TARGET --prompts FILE -o report.json"


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
        findings += _facts_differ(report, folder, place)
    target = report.result.get("target")
    if target is None:
        findings.append(_no_target(place))
    if findings or target is None:
        return None, findings
    where = TargetPlace(target["kind"], target.get("repo"), target.get("commit"), target["digest"])
    return Evidence(report, data, where), []


def read_validation(data: bytes, place: str = REPORT) -> Report:
    """The report of a validation, passing or not. Raises `Refusal` unless eaglekit could have written it."""
    document = _document(data, place)
    if document["command"] != "validate":
        raise Refusal(
            Finding(
                "report-not-validation",
                f"{place} is a report of eaglekit {document['command'][:40]}",
                place=place,
                got=document["command"][:40],
                expected="validate",
                hint=VALIDATE,
            )
        )
    wrong = [f"result.{text}" for text in problems(document["result"], "validated")]
    if wrong:
        raise _invalid(place, *wrong)
    report = Report.from_json(document)
    wrong = [*_contradictions(document, report)]
    if wrong:
        raise _invalid(place, *wrong)
    return report


def _document(data: bytes, place: str) -> dict[str, Any]:
    if len(data) > REPORT_LIMIT:
        raise _invalid(place, f"it has {len(data)} bytes, at most {REPORT_LIMIT} are read")
    try:
        document = read_object(data, place, limit_bytes=REPORT_LIMIT)
    except Refusal as refusal:
        raise _invalid(place, *(finding.message for finding in refusal.findings)) from None
    wrong = problems(document, "report")
    if not wrong:
        unknown = {finding["code"] for finding in document["findings"]} - CODES.keys()
        wrong += [f"this eaglekit does not know its finding {code[:80]}" for code in sorted(unknown)]
        wrong += [
            f"tables.{name}: its rows have different columns"
            for name, rows in document["tables"].items()
            if len({tuple(row) for row in rows}) > 1
        ]
    if wrong:
        raise _invalid(place, *wrong)
    return document


def _contradictions(document: Mapping[str, Any], report: Report) -> Iterator[str]:
    """What a report cannot say of itself, if eaglekit wrote it."""
    if document["ok"] is not report.ok:
        yield f"ok is {str(document['ok']).lower()}, with {len(report.errors)} errors among its findings"
    if len({m.name for m in report.measurements}) != len(report.measurements):
        yield "measurements: one of them stands there twice"
    for one in report.measurements:
        if one.low is not None and one.high is not None and not one.low <= one.value <= one.high:
            yield f"measurements: {one.name[:80]} lies outside its own interval"
    most = report.result["settings"]["draft_tokens"] + 1
    length = _length(report)
    if length is not None and not 1 <= length.value <= most:
        yield f"measurements: an acceptance length of {length.value:g} where 1 to {most} are possible"


def _length(report: Report) -> Measurement | None:
    return next((one for one in report.measurements if one.name == MEASURED), None)


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
    length = _length(report)
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


def _facts_differ(report: Report, folder: Folder, place: str) -> list[Finding]:
    """Where the report says something else of the drafter than these files do: the card prints what it says."""
    try:
        drafter = read(folder.checkpoint).drafter
    except Refusal:
        return []
    if drafter is None:
        return []
    said = {fact.name: fact.value for fact in report.facts}
    differing = [
        f"facts.{name} says {str(said.get(name))[:80]}, the files say {str(value)[:80]}"
        for name, value, _ in drafter.facts()
        if compact(said.get(name)) != compact(value)
    ]
    return list(_invalid(place, *differing).findings)


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
        hint=f"{VALIDATE}; then push with --report report.json",
    )


def _invalid(place: str, *reasons: str) -> Refusal:
    findings = [
        Finding(
            "report-invalid",
            f"{place} is no report that can be published: {reason}",
            place=place,
            expected="the file that eaglekit validate -o wrote",
            hint="validate again, and leave the report as it is",
        )
        for reason in reasons[:SHOWN]
    ]
    return Refusal(*map(without_secrets, findings))
