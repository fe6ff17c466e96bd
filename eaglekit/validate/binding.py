"""What a report is bound to: digests of everything that was judged, the tool, the arithmetic and the seeds.

No path and no host name: a report is published, and must say the same wherever it was made.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import eaglekit
from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.hub_id import is_hub_id
from eaglekit.checkpoint.lookup import last_change
from eaglekit.drafter import Spec
from eaglekit.drafter.spec import jsonable
from eaglekit.plan.saved import digests
from eaglekit.report import Fact, Finding, Refusal, Report, Table
from eaglekit.report.json_text import compact
from eaglekit.report.progress import Bar
from eaglekit.target.texts import Text
from eaglekit.validate.intervals import RESAMPLES, SEED
from eaglekit.validate.task import PROBE_SEED, Task

PIECE_BYTES = 8 << 20


def bind_drafter(checkpoint: Checkpoint, bar: Bar) -> dict[str, Any]:
    """SHA-256 and size of every judged file, and where the checkpoint came from."""
    files, sizes = checkpoint.own_files(), checkpoint.source.files()
    with bar("digest", sum(sizes[file] for file in files), "bytes") as tell:
        made = digests(checkpoint.source, files, tell)
    return {
        **checkpoint.source.identity(),
        "digest": checkpoint.content_digest(),
        "files": {file: {"sha256": made[file], "size_bytes": sizes[file]} for file in files},
    }


def texts_digest(texts: Sequence[Text]) -> dict[str, Any]:
    """How many texts and tokens were looked at, and a digest of them, in their order."""
    rows = [[text.identity, text.category, text.prompt_length, list(text.tokens)] for text in texts]
    return {
        "count": len(texts),
        "tokens": sum(len(text.tokens) for text in texts),
        "digest": f"sha256:{hashlib.sha256(compact(rows).encode()).hexdigest()}",
    }


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def tool() -> dict[str, Any]:
    """The program that judged, and the libraries that computed, as far as they were used."""
    import sys

    used = {name: getattr(sys.modules.get(name), "__version__", None) for name in ("torch", "transformers", "numpy")}
    return {"name": "eaglekit", "version": eaglekit.__version__} | {
        name: str(version) for name, version in used.items() if version is not None
    }


def settings(task: Task, spec: Spec | None) -> dict[str, Any]:
    """What was asked for, and the seeds of everything that is drawn."""
    return {
        "draft_tokens": task.draft_tokens,
        "depth": task.depth,
        "temperature": task.temperature,
        "min_acceptance_length": task.min_acceptance_length,
        "generate": task.generate,
        "limit": task.limit,
        "probe_layers": task.probe_layers,
        "embedding": "keep" if task.keep_embedding else "auto",
        "aux_layers": list(spec.aux_layers) if spec is not None else None,
        "aux_convention": task.given.aux_convention,
        "from": task.given.dialect,
        "set": {name: jsonable(value) for name, value in sorted(task.given.facts.items())},
        "drop": list(task.given.drops),
        "seeds": {"bootstrap": SEED, "probe": PROBE_SEED},
        "resamples": RESAMPLES,
    }


def moments(checkpoint: Checkpoint) -> dict[str, str]:
    """When each judged file was last changed, as far as that can be known."""
    found = {file: checkpoint.source.local_path(file) for file in checkpoint.own_files()}
    return {file: last_change(path) for file, path in found.items() if path is not None}


def refuse_changed(checkpoint: Checkpoint, before: Mapping[str, str]) -> None:
    """Raise `Refusal` when a judged file was changed since `before`: the digests would be of other bytes."""
    changed = sorted(file for file, moment in moments(checkpoint).items() if before.get(file) != moment)
    if changed:
        raise Refusal(
            *(
                Finding(
                    "source-changed",
                    f"{file} was changed while it was judged",
                    place=file,
                    expected="the same file from beginning to end",
                    hint="make sure that nothing writes to the folder, then run the command again",
                )
                for file in changed
            )
        )


def without_paths(report: Report, typed: Iterable[str]) -> Report:
    """The report with every folder and file of this machine called by its last name; Hub ids stay whole."""
    names: dict[str, str] = {}
    for text in (text for text in typed if not is_hub_id(text)):
        for path in (text, text.rstrip("/"), os.path.abspath(os.path.expanduser(text))):  # noqa: PTH100, PTH111 - texts
            if os.sep in path.strip(os.sep) or path.startswith(os.sep):
                names[path] = Path(path).name

    if not names:
        return report
    # A path ends where its last name ends: /model is no part of nvidia/model-8b.
    longest_first = "|".join(re.escape(path) for path in sorted(names, key=len, reverse=True))
    spoken = re.compile(rf"(?<![\w./~-])(?:{longest_first})(?![\w-])")

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            return spoken.sub(lambda found: names[found[0]], value)
        if isinstance(value, Mapping):
            return {key: plain(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(plain(part) for part in value)
        return value

    return replace(
        report,
        subject=plain(report.subject),
        facts=tuple(Fact(fact.name, plain(fact.value), plain(fact.origin)) for fact in report.facts),
        findings=tuple(Finding.from_json(plain(finding.as_json())) for finding in report.findings),
        tables=tuple(Table(t.name, plain(t.title), t.columns, plain(t.rows)) for t in report.tables),
        result=plain(report.result),
    )
