"""The command line as a user calls it, and what must be true of every outcome."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from eaglekit.cli.main import cli
from tests.cases.builders import Folder, Stored, stored_in, t0

BOUNDARY = ("--aux-convention", "boundary")
"""D0's ids are declared to be boundary indices."""


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    exit_code: int
    document: Mapping[str, Any]

    def findings(self, severity: str | None = None) -> dict[str, dict[str, str]]:
        """Findings by code, of one severity or all."""
        return {entry["code"]: entry for entry in self.document["findings"] if severity in (None, entry["severity"])}

    def fact(self, name: str) -> Any:
        """The value of a fact."""
        return self.document["facts"][name]["value"]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table."""
        rows: list[dict[str, Any]] = self.document["tables"][table]
        return rows


@dataclass(frozen=True)
class Written(Answer):
    """A conversion that was carried out."""

    folder: Path

    @property
    def config(self) -> dict[str, Any]:
        """The config that was written."""
        document: dict[str, Any] = json.loads((self.folder / "config.json").read_text())
        return document

    @property
    def tensors(self) -> dict[str, Stored]:
        """The tensors that were written."""
        return stored_in(self.folder)

    def left(self) -> dict[str, str]:
        """What stayed behind, with the reason."""
        return {row["name"]: row["why"] for row in self.rows("plan-left")}


def run(*words: str | Path) -> Answer:
    """A command with `--json`; its exit code and the one document it prints."""
    result = CliRunner().invoke(cli, [*map(str, words), "--json"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Answer(result.exit_code, json.loads(result.stdout))


def spoken(*words: str | Path) -> tuple[int, str]:
    """A command as people see it: exit code, and everything it says with line breaks undone."""
    result = CliRunner().invoke(cli, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join((result.stdout + result.stderr).split())


def snapshot(folder: Path) -> dict[str, tuple[str, int]]:
    """Digest and time of change of every file below a folder."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def target(tmp_path: Path, folder: Folder | None = None) -> Path:
    """T0, or a variant of it, on disk."""
    path = tmp_path / "target"
    return path if path.exists() else (folder or t0()).write(path)


def convert(tmp_path: Path, draft: Folder | Path, *options: str | Path, name: str = "out") -> Written:
    """A conversion that must succeed, with a source that stays as it was."""
    source = draft if isinstance(draft, Path) else draft.write(tmp_path / f"source-of-{name}")
    before = snapshot(source)
    answer = run("convert", source, tmp_path / name, *options)
    assert answer.exit_code == 0, answer.findings("error")
    assert snapshot(source) == before
    return Written(answer.exit_code, answer.document, tmp_path / name)


def refused(tmp_path: Path, draft: Folder | Path, *options: str | Path) -> dict[str, dict[str, str]]:
    """The errors, by code, of a conversion that must fail: told to people and programs alike, nothing left behind."""
    source = draft if isinstance(draft, Path) else draft.write(tmp_path / "source")
    before, beside = snapshot(source), sorted(tmp_path.rglob("*"))
    answer = run("convert", source, tmp_path / "out", *options)
    code, text = spoken("convert", source, tmp_path / "out", *options)
    assert (answer.exit_code, code, answer.document["ok"]) == (1, 1, False)
    assert snapshot(source) == before
    assert sorted(tmp_path.rglob("*")) == beside
    errors = answer.findings("error")
    for finding in errors.values():
        assert finding["code"] in text
        assert " ".join(finding["message"].split()) in text
    return errors


def only(errors: Mapping[str, dict[str, str]], code: str) -> dict[str, str]:
    """The finding with `code`, which must be the only error."""
    assert list(errors) == [code]
    return errors[code]


_WATCHED = """
import os, sys
log = open(sys.argv.pop(1), "w")
sys.addaudithook(lambda event, words: event == "open" and isinstance(words[0], (str, bytes, os.PathLike))
                 and print(os.fsdecode(words[0]), file=log, flush=True))
from eaglekit.cli.main import main
main()
"""


def files_opened(tmp_path: Path, folder: Path, *words: str | Path) -> set[str]:
    """The files of `folder` that a run of the program opens; the run must succeed."""
    log = tmp_path / "opened"
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, log, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    paths = {Path(line) for line in log.read_text().splitlines()}
    return {path.name for path in paths if path.parent == folder}
