"""`Work`: one command that is run again and again, with a fault each time, and what it left behind."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run ended."""

    code: int | None
    """None: killed."""
    calls: tuple[tuple[str, str], ...]
    """Name and path of what was counted, the one that met the fault included."""
    out: str
    err: str
    seconds: float

    @property
    def codes(self) -> set[str]:
        """The finding codes of its errors."""
        return {one["code"] for one in json.loads(self.out)["findings"] if one["severity"] == "error"}


@dataclass
class Work:
    """A command, run in a folder of its own; use as a context manager."""

    folder: Path
    """Everything that is written lies below."""
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Work:
        base = {name: value for name, value in os.environ.items() if not name.startswith(("EAGLEKIT_", "HF_"))}
        self.folder.mkdir(exist_ok=True)
        (self.folder.parent / "tmp").mkdir(exist_ok=True)
        own = {
            "TMPDIR": str(self.folder.parent / "tmp"),
            "HF_HOME": str(self.folder.parent / "hf"),
            "OMP_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server"], cwd=ROOT, env={**base, **own, **self.environment}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def run(self, do: str, words: Sequence[object], **more: Any) -> Ended:
        """One run: `warm`, `watch`, `kill`, `fill`, `forbid` or `break` from the call `at` on, `kill after` seconds."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # What is printed is not part of the work.
        out = self.folder.parent / "told.json"
        request = {"do": do, "words": [*map(str, words)], "root": str(self.folder), "out": str(out), **more}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        calls = tuple((name, path) for name, path in answer.get("calls", ()))
        return Ended(
            answer["code"], calls, out.read_text(), out.with_suffix(".err").read_text(), answer.get("seconds", 0.0)
        )


def digest(path: Path) -> str:
    """One digest of a file or of everything in a folder, names and bytes; `absent` for nothing."""
    if not path.exists():
        return "absent"
    total = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        total.update(f"{file.relative_to(path)} {file.is_dir()}\0".encode())
        total.update(b"" if file.is_dir() else hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def remove(path: Path) -> None:
    """Whatever lies there, gone."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
