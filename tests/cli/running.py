"""Running the real program: in a process of its own, as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglekit.report.schemas import problems

CHECKPOINTS = Path(__file__).resolve().parents[2] / "fixtures" / "checkpoints"
PROGRAM = [sys.executable, "-m", "eaglekit.cli.main"]


@dataclass(frozen=True)
class Finished:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout, checked against the report's schema."""
        document: dict[str, Any] = json.loads(self.out)
        assert problems(document, "report") == []
        return document

    @property
    def codes(self) -> list[str]:
        """The finding codes of the document."""
        return [finding["code"] for finding in self.document["findings"]]


def eaglekit(*words: object, environment: Mapping[str, str] | None = None, cwd: Path | None = None) -> Finished:
    """Run the program with these words. No traceback may ever appear."""
    base = {name: value for name, value in os.environ.items() if not name.startswith(("EAGLEKIT_", "HF_", "COLUMNS"))}
    done = subprocess.run(
        [*PROGRAM, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        env={**base, **(environment or {})},
    )
    if "EAGLEKIT_DEBUG" not in (environment or {}):
        assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)
