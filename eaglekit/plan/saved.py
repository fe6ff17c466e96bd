"""Plans on disk: saved with the digests of their sources, checked against them before they are applied."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Checkpoint, Source
from eaglekit.checkpoint.disk_errors import unreadable, writing_to
from eaglekit.checkpoint.json_document import read_object
from eaglekit.checkpoint.lookup import Library
from eaglekit.checkpoint.staged_file import write_file
from eaglekit.plan.apply import changed
from eaglekit.plan.checking import NEW_PLAN, check
from eaglekit.plan.model import Change, Left, Place, Plan, TensorStep
from eaglekit.report import Finding, Refusal, Report, Table
from eaglekit.report.codes import CODES
from eaglekit.report.json_text import dumps
from eaglekit.report.schemas import problems

PLAN_LIMIT = 256 << 20
"""Largest plan read, in bytes: one with two lists of a 200,000 token vocabulary has about 4 MB."""
PIECE_BYTES = 8 << 20

Progress = Callable[[int], None]


def save(
    plan: Plan, file: Path, source: Checkpoint, target: Library | None, *, progress: Progress | None = None
) -> Plan:
    """Write a plan with the SHA-256 of everything it will read; the plan with these digests.

    The file appears whole or not at all. Raises `Refusal` when it exists or cannot be written.
    """
    read_files = needed(plan, source)
    plan = replace(plan, source=replace(plan.source, digests=digests(source.source, read_files, progress)))
    if plan.target is not None and target is not None:
        plan = replace(
            plan, target=replace(plan.target, digests=digests(target.source, _shards(plan, target), progress))
        )
    with writing_to(str(file)):
        write_file(file, dumps({**plan.as_json(), "digest": plan.digest()}).encode())
    return plan


def load(file: Path) -> Plan:
    """The plan in a file. Raises `Refusal` when it is none, or when anything in it breaks the schema."""
    try:
        size_bytes = file.stat().st_size
        if not file.is_file():
            raise Refusal(_invalid(file, "it is no regular file"))
        if size_bytes > PLAN_LIMIT:
            raise Refusal(_invalid(file, f"it has {size_bytes} bytes, at most {PLAN_LIMIT} are read"))
        data = file.read_bytes()
    except OSError as error:
        raise Refusal(unreadable(str(file), error)) from error
    document = read_object(data, str(file), limit_bytes=PLAN_LIMIT)
    found = problems(document, "plan") or problems(document["report"], "report")
    if found:
        raise Refusal(*(_invalid(file, text) for text in found[:5]))
    if any(len({tuple(row) for row in rows}) > 1 for rows in document["report"]["tables"].values()):
        raise Refusal(_invalid(file, "a table of its report has rows with different columns"))
    unknown = {finding["code"] for finding in document["report"]["findings"]} - CODES.keys()
    if unknown:
        raise Refusal(
            _invalid(file, f"it tells findings that this eaglekit does not know: {', '.join(sorted(unknown))}")
        )
    try:
        plan = _from_json(document)
    except ValueError as error:
        raise Refusal(_invalid(file, str(error))) from None
    if plan.digest() != document["digest"]:
        raise Refusal(_invalid(file, "it was changed after it was saved"))
    return plan


def verify(plan: Plan, source: Checkpoint, target: Library | None, *, progress: Progress | None = None) -> None:
    """Refuse unless every byte the plan will read is what it was when the plan was made."""
    findings = _compare(plan.source, source.source, needed(plan, source), progress)
    if source.content_digest() != plan.source.content and not findings:
        findings.append(changed("config or header"))
    if plan.target is not None:
        if target is None:
            raise AssertionError("a plan that copies from its target is verified beside it")
        findings += _compare(plan.target, target.source, _shards(plan, target), progress)
    if not findings:
        findings = check(plan, source, target)
    if findings:
        raise Refusal(*findings)


def needed(plan: Plan, source: Checkpoint) -> list[str]:
    """The files of the source that a plan stands on."""
    config = [source.config_file] if source.config_file is not None else []
    return [*config, *source.weight_files, *plan.copied]


def digests(source: Source, files: list[str], progress: Progress | None) -> dict[str, str]:
    """SHA-256 of whole files, read in constant memory."""
    return {file: _digest(source, file, progress) for file in files}


def _digest(source: Source, file: str, progress: Progress | None) -> str:
    digest, size = hashlib.sha256(), source.files()[file]
    for start in range(0, size, PIECE_BYTES):
        piece = source.read(file, start, min(start + PIECE_BYTES, size))
        digest.update(piece)
        if progress is not None:
            progress(len(piece))
    return digest.hexdigest()


def _compare(place: Place, source: Source, files: list[str], progress: Progress | None) -> list[Finding]:
    """A finding for every file that is not there any more, has no digest in the plan, or has another one now."""
    present = source.files()
    return [
        changed(file)
        for file in sorted({*files, *place.digests})
        if file not in present or _digest(source, file, progress) != place.digests.get(file)
    ]


def _shards(plan: Plan, target: Library) -> list[str]:
    names = {step.tensor for steps in plan.files.values() for step in steps if step.origin == "target"}
    # A name that the target does not have is told by `check`.
    return sorted({target.names[name] for name in names if name in target.names})


def _invalid(file: Path, why: str) -> Finding:
    return Finding(
        "plan-invalid",
        f"{file} is no plan that can be applied: {why}",
        place=str(file),
        expected="a plan written by eaglekit convert -o",
        hint=NEW_PLAN,
    )


def _from_json(document: Mapping[str, Any]) -> Plan:
    return Plan(
        source=_place(document["source"]),
        target=_place(document["target"]) if document["target"] else None,
        from_dialect=document["from"],
        to_dialect=document["to"],
        config=document["config"],
        files={
            file: tuple(
                TensorStep(
                    s["name"], s["role"], s["dtype"], tuple(s["shape"]), s["origin"], s["tensor"], tuple(s["steps"]),
                    s["why"],
                )
                for s in steps
            )
            for file, steps in document["files"].items()
        },
        target_ids=tuple(document["target_ids"]) if document["target_ids"] is not None else None,
        row_order=tuple(document["row_order"]) if document["row_order"] is not None else None,
        copied=tuple(document["copied"]),
        left=tuple(Left(i["kind"], i["name"], i["why"]) for i in document["left"]),
        changes=tuple(Change(c["key"], c["before"], c["after"]) for c in document["changes"]),
        report=_report(document["report"]),
        force_overflow=document["force_overflow"],
    )  # fmt: skip


def _report(document: Mapping[str, Any]) -> Report:
    """The report, its engine table with the columns as people read them: JSON objects have no order."""
    from eaglekit.engines.inspection import ENGINE_COLUMNS

    report = Report.from_json(document)
    rows = tuple(tuple(row.get(name) for name in ENGINE_COLUMNS) for row in document["tables"].get("engines", ()))
    tables = (Table("engines", "What engines will make of it", ENGINE_COLUMNS, rows),)
    return replace(report, tables=tables)


def _place(document: Mapping[str, Any]) -> Place:
    return Place(
        document["label"], document["identity"], document["fingerprint"], document["content"], document["digests"]
    )
