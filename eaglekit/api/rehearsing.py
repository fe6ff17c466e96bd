"""A rehearsal in a process of its own: huggingface_hub reads its environment once, and here a real push may follow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglekit.report import Refusal, Report

ROOT = Path(__file__).resolve().parents[2]
CODE = "import sys; sys.path[0] = sys.argv[1]; from eaglekit.api.rehearsing import answer; answer()"
"""The one folder that the child gets for certain is that of this very package."""
PATHS = ("prompts",)
"""Wishes that are paths."""


def rehearse_apart(
    path: str, repo: str, report: Path | None, wishes: Mapping[str, Any], password: str | None
) -> Report:
    """The report of a rehearsed push. Raises `Refusal`, as a push does."""
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in wishes.items()}
    question = {
        "path": path,
        "repo": repo,
        "report": str(report) if report is not None else None,
        "wishes": plain,
        "password": password,
    }
    # The password goes through a pipe: every process can read command lines.
    done = subprocess.run(  # noqa: S603 - this Python on our own code
        [sys.executable, "-c", CODE, str(ROOT)], input=json.dumps(question), capture_output=True, text=True, check=False
    )
    try:
        answered = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"the rehearsal ended without a report:\n{done.stderr[-2000:]}") from None
    told = Report.from_json(answered["report"])
    if answered["refused"]:
        raise Refusal(report=told)
    return told


def answer() -> None:
    """What the child does: one question on stdin, one answer on stdout."""
    question = json.load(sys.stdin)
    try:
        report, refused = _rehearsed(question), False
    except Refusal as refusal:
        report, refused = refusal.report, True
    json.dump({"report": report.as_json(), "refused": refused}, sys.stdout)


def _rehearsed(question: Mapping[str, Any]) -> Report:
    from eaglekit.api.placing import place_of
    from eaglekit.api.publishing import asked_of, prepared, published, rehearsed_in, signer

    wishes: dict[str, Any] = {
        name: Path(value) if name in PATHS and value is not None else value
        for name, value in question["wishes"].items()
    }
    place = place_of(question["repo"], wishes)
    asked = asked_of(place.repo, wishes, sign=signer(wishes["sign"], question["password"]))
    file = question["report"]
    with rehearsed_in(wishes["rehearse"], place) as rehearsal:
        ready = prepared(question["path"], Path(file) if file is not None else None, asked, place, rehearsal)
        return published(ready, rehearsal)
