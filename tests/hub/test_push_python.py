"""`eaglekit.push`: nothing is published unless that is said, and a rehearsal leaves no trace in the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hub.pushes import REPO, TARGET_COMMIT, Pushes, copied

pytestmark = pytest.mark.hub_client

WORDS = {"license": "apache-2.0", "base_model": f"acme/target@{TARGET_COMMIT}", "figure": False}
CODE = """
import json, os, sys
import eaglekit
words = json.load(sys.stdin)
before = dict(os.environ)
try:
    report, refused = eaglekit.push(**words), False
except eaglekit.Refusal as refusal:
    report, refused = refusal.report, True
kept = before == dict(os.environ)
json.dump({"report": report.as_json(), "refused": refused, "environment kept": kept}, sys.stdout)
"""


def push(folder: Path, environment: dict[str, str], cwd: Path | None = None, **words: Any) -> dict[str, Any]:
    """What a push from Python says, in a process that sees only this Hub."""
    question = json.dumps({"path": str(folder), "repo": REPO, **WORDS, **words})
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        input=question, capture_output=True, text=True, check=False, env=environment, cwd=cwd,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answered: dict[str, Any] = json.loads(done.stdout)
    return answered


def test_without_more_it_is_the_plan_of_the_command_and_nothing_is_sent(pushes: Pushes) -> None:
    told = push(pushes.folder, pushes.environment)
    assert told["report"] == pushes.push("--dry-run", yes=False).document
    assert told["report"]["result"]["outcome"] == "planned"
    assert pushes.writes() == []


def test_what_is_said_to_be_published_is(pushes: Pushes) -> None:
    told = push(pushes.folder, pushes.environment, publish=True)
    assert told["report"]["result"]["outcome"] == "published"
    assert told["report"]["result"]["commit"] == pushes.head().oid
    assert told["report"]["ok"]


def test_a_refused_push_carries_the_report_of_the_command(pushes: Pushes) -> None:
    pushes.add("notes.pkl", b"\x80\x04.")
    told = push(pushes.folder, pushes.environment, publish=True, license=None)
    assert told["refused"]
    assert told["report"]["command"] == "push"
    assert told["report"]["subject"] == REPO
    assert "licence-missing" in {finding["code"] for finding in told["report"]["findings"]}
    assert pushes.writes() == []


def test_a_rehearsal_needs_no_hub_and_leaves_this_process_as_it_was(tmp_path: Path, published_folder: Path) -> None:
    folder = copied(published_folder, tmp_path / "drafter")
    environment = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "1", "HF_TOKEN": "hf_real"}
    told = push(folder, {**environment, "HF_HOME": str(tmp_path / "home")}, tmp_path, rehearse="stage")
    assert told["report"]["result"]["outcome"] == "rehearsed"
    assert told["environment kept"]
    assert (tmp_path / "stage" / "acme" / "drafter" / "README.md").is_file()


def test_a_refused_rehearsal_is_a_refusal_here(tmp_path: Path, published_folder: Path) -> None:
    folder = copied(published_folder, tmp_path / "drafter")
    (tmp_path / "stage").write_text("a file")
    told = push(folder, dict(os.environ), tmp_path, rehearse="stage")
    assert told["refused"]
    assert [finding["code"] for finding in told["report"]["findings"]] == ["push-rehearsal-folder"]
