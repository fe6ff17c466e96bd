"""The report of a validation, read from bytes that anybody may have written: schema, sense, nothing that crashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eaglekit.checkpoint.json_document import read_object
from eaglekit.hub.local.scan import without_secrets
from eaglekit.hub.model import REPORT
from eaglekit.report import Finding, Measurement, Refusal, Report
from eaglekit.report.codes import CODES
from eaglekit.report.schemas import problems

REPORT_LIMIT = 32 << 20
"""Largest report read, in bytes: one of a drafter of a thousand tensors has about 500 kB."""
SHOWN = 10
"""Problems that are told of one document."""
MEASURED = "acceptance length"
"""The measurement without which nothing is published."""
VALIDATE = "eaglekit validate DRAFTER --target TARGET --prompts FILE -o report.json"


def report_bytes(file: Path) -> bytes:
    """The content of the file that `--report` names. Raises `Refusal` when it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise Refusal(
            Finding(
                "report-missing",
                f"the report cannot be read: {error.strerror}",
                place=str(file),
                expected="the file that eaglekit validate -o wrote",
                hint="give its path with --report",
            )
        ) from None


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
        raise invalid(place, *wrong)
    try:
        report = Report.from_json(document)
    except ValueError as error:
        raise invalid(place, f"charts: {error}") from None
    wrong = [*_contradictions(document, report)]
    if wrong:
        raise invalid(place, *wrong)
    return report


def _document(data: bytes, place: str) -> dict[str, Any]:
    if len(data) > REPORT_LIMIT:
        raise invalid(place, f"it has {len(data)} bytes, at most {REPORT_LIMIT} are read")
    try:
        document = read_object(data, place, limit_bytes=REPORT_LIMIT)
    except Refusal as refusal:
        raise invalid(place, *(finding.message for finding in refusal.findings)) from None
    if "schema" not in document:
        raise Refusal(
            Finding(
                "report-invalid",
                f"{place} is no report of eaglekit validate",
                place=place,
                got="JSON without the key `schema`",
                expected="the file that eaglekit validate -o wrote",
                hint=VALIDATE,
            )
        )
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
        raise invalid(place, *wrong)
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
    for chart in report.charts:
        if any(len({isinstance(x, str) for x in series.x}) > 1 for series in chart.series):
            yield f"charts: {chart.name[:80]} mixes words and numbers on one axis"
    most = report.result["settings"]["draft_tokens"] + 1
    length = length_of(report)
    if length is not None and not 1 <= length.value <= most:
        yield f"measurements: an acceptance length of {length.value:g} where 1 to {most} are possible"


def length_of(report: Report) -> Measurement | None:
    """The acceptance length of a report, when it was measured."""
    return next((one for one in report.measurements if one.name == MEASURED), None)


def invalid(place: str, *reasons: str) -> Refusal:
    """The refusal of a report, with a finding for each of the first reasons."""
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
