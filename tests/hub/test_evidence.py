"""A report is evidence when it is whole, passing, and about these very files; otherwise a finding says what it is."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eaglekit.hub.local.evidence import REPORT_LIMIT, evidence, read_validation
from eaglekit.hub.local.folder import Folder, inspect_folder
from eaglekit.report import Finding, Refusal
from eaglekit.report.schemas import problems
from tests.hub.published import REPORT, SOURCE, TARGET, converted, validated

PASSING: dict[str, Any] = json.loads(REPORT.read_text())
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    opened, findings = inspect_folder(validated(tmp_path_factory.mktemp("published")))
    assert findings == []
    assert opened is not None
    return opened


def judged(folder: Folder, change: Callable[[dict[str, Any]], Any]) -> list[Finding]:
    """The findings about the passing report, changed."""
    document = copy.deepcopy(PASSING)
    change(document)
    return evidence(json.dumps(document).encode(), folder)[1]


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


def test_a_passing_report_of_the_folder_is_evidence(folder: Folder) -> None:
    found, findings = evidence(folder.report_data, folder)
    assert findings == []
    assert found is not None
    assert found.data == REPORT.read_bytes()
    assert found.report.command == "validate"
    assert (found.target.kind, found.target.repo, found.target.commit) == ("local", None, None)
    assert found.target.digest == PASSING["result"]["target"]["digest"]


def test_a_target_from_the_hub_is_known_by_repository_and_commit(folder: Folder) -> None:
    document = copy.deepcopy(PASSING)
    document["result"]["target"] |= {"kind": "hub", "repo": "org/target", "commit": COMMIT}
    found, findings = evidence(json.dumps(document).encode(), folder)
    assert findings == []
    assert found is not None
    assert (found.target.kind, found.target.repo, found.target.commit) == ("hub", "org/target", COMMIT)


def test_the_committed_report_is_about_what_converting_comes_to_now(tmp_path: Path) -> None:
    """Run fixtures/published/make.py when a change of what is written is meant."""
    out = tmp_path / "out"
    words = ["convert", str(SOURCE), str(out), "--target", str(TARGET)]
    subprocess.run(
        [sys.executable, "-m", "eaglekit.cli.main", *words], check=True, capture_output=True, env=dict(os.environ)
    )
    opened, findings = inspect_folder(out)
    assert findings == []
    assert opened is not None
    assert evidence(REPORT.read_bytes(), opened)[1] == []


def test_the_helper_of_these_tests_writes_what_the_command_writes(tmp_path: Path, folder: Folder) -> None:
    opened, _ = inspect_folder(converted(tmp_path))
    assert opened is not None
    assert [file.sha256 for file in opened.files] == [file.sha256 for file in folder.files]


def test_without_a_report_nothing_is_published(folder: Folder) -> None:
    found, findings = evidence(None, folder)
    assert found is None
    assert codes(findings) == {"report-missing"}
    assert "eaglekit validate" in findings[0].hint


# About these files.


def test_a_report_of_another_config_is_refused(folder: Folder) -> None:
    findings = judged(folder, lambda d: d["result"]["drafter"]["files"]["config.json"].update(sha256="0" * 64))
    assert [(finding.code, finding.place) for finding in findings] == [
        ("report-of-other-files", "report.json: config.json")
    ]
    assert "0" * 64 in findings[0].expected


def test_a_report_of_another_size_is_refused(folder: Folder) -> None:
    findings = judged(folder, lambda d: d["result"]["drafter"]["files"]["config.json"].update(size_bytes=7))
    assert codes(findings) == {"report-of-other-files"}


def test_a_file_that_the_report_does_not_know_is_refused(folder: Folder) -> None:
    findings = judged(folder, lambda d: d["result"]["drafter"]["files"].pop("model.safetensors"))
    assert [finding.message for finding in findings] == [
        "model.safetensors is not what was validated: the report does not know it"
    ]


def test_a_file_that_the_folder_does_not_have_is_refused(folder: Folder) -> None:
    other = {"sha256": "0" * 64, "size_bytes": 1}
    findings = judged(folder, lambda d: d["result"]["drafter"]["files"].update({"second.safetensors": other}))
    assert codes(findings) == {"report-of-other-files"}


def test_a_report_whose_facts_were_edited_is_refused(folder: Folder) -> None:
    findings = judged(folder, lambda d: d["facts"]["aux_layers"].update(value=[1, 2, 3]))
    assert codes(findings) == {"report-invalid"}
    assert "[1, 2, 3]" in findings[0].message
    assert "[2, 4, 5]" in findings[0].message


@pytest.mark.parametrize("name", ["feedback", "residual", "rope"])
def test_a_report_that_lacks_a_fact_is_refused(folder: Folder, name: str) -> None:
    assert codes(judged(folder, lambda d: d["facts"].pop(name))) == {"report-invalid"}


# Passing.


@pytest.mark.parametrize("stage", ["structure", "numbers", "behaviour", "capture"])
@pytest.mark.parametrize("outcome", ["failed", "not run"])
def test_a_stage_that_did_not_pass_is_refused(folder: Folder, stage: str, outcome: str) -> None:
    findings = judged(folder, lambda d: d["result"]["stages"].update({stage: outcome}))
    # Texts from a capture file need no capturing.
    passes = (stage, outcome) == ("capture", "not run")
    assert codes(findings) == (set() if passes else {"report-not-passing"})


@pytest.mark.parametrize("stage", ["numbers", "behaviour"])
def test_a_stage_that_is_not_told_of_did_not_run(folder: Folder, stage: str) -> None:
    findings = judged(folder, lambda d: d["result"]["stages"].pop(stage))
    assert codes(findings) == {"report-not-passing"}
    assert stage in findings[0].message


def test_a_report_with_an_error_is_refused_and_names_it(folder: Folder) -> None:
    error = {"code": "acceptance-below", "severity": "error", "message": "the acceptance length is 1.2, below 2"}
    findings = judged(folder, lambda d: d.update(ok=False, findings=[error]))
    assert codes(findings) == {"report-not-passing"}
    assert "acceptance-below" in findings[0].message


def test_a_report_that_hides_its_errors_is_refused(folder: Folder) -> None:
    error = {"code": "acceptance-below", "severity": "error", "message": "the acceptance length is 1.2, below 2"}
    assert codes(judged(folder, lambda d: d.update(findings=[error]))) == {"report-invalid"}


def test_a_report_without_an_acceptance_length_is_refused(folder: Folder) -> None:
    assert codes(judged(folder, lambda d: d.update(measurements=[]))) == {"report-unmeasured"}


def test_an_acceptance_length_of_no_rounds_is_none(folder: Folder) -> None:
    assert codes(judged(folder, lambda d: d["measurements"][0].update(count=0))) == {"report-unmeasured"}


def test_a_report_without_a_target_is_refused(folder: Folder) -> None:
    assert codes(judged(folder, lambda d: d["result"].pop("target"))) == {"report-target-missing"}


def test_a_report_of_another_command_is_refused(folder: Folder) -> None:
    assert codes(judged(folder, lambda d: d.update(command="inspect"))) == {"report-not-validation"}


def test_a_report_that_was_measured_against_the_file_is_refused(folder: Folder) -> None:
    word = {"code": "overruled", "severity": "warning", "message": "--set norm_output=false, config.json says true"}
    assert codes(judged(folder, lambda d: d["findings"].append(word))) == {"report-overruled"}
    assert codes(judged(folder, lambda d: d["result"]["settings"].update(drop=["t2d"]))) == {"report-overruled"}


def test_everything_that_is_wrong_is_told_at_once(folder: Folder) -> None:
    def change(document: dict[str, Any]) -> None:
        document["measurements"] = []
        document["result"]["stages"]["numbers"] = "failed"
        document["result"]["drafter"]["files"].pop("config.json")
        document["result"].pop("target")

    assert codes(judged(folder, change)) == {
        "report-unmeasured", "report-not-passing", "report-of-other-files", "report-target-missing",
    }  # fmt: skip


# Hostile.

HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "bytes": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "NaN": b'{"schema": NaN}',
    "digits": b'{"schema": ' + b"9" * 10_000 + b"}",
    "twice": b'{"ok": true, "ok": false}',
    "surrogate": b'{"schema": "\\ud800"}',
    "large": b" " * (REPORT_LIMIT + 1),
    "empty": b"{}",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=list(HOSTILE))
def test_what_is_no_report_is_refused(folder: Folder, data: bytes) -> None:
    found, findings = evidence(data, folder)
    assert found is None
    assert codes(findings) == {"report-invalid"}


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value of a document."""
    parts = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [path, *(deeper for key, part in parts for deeper in paths(part, (*path, key)))]


PLACES = [path for path in paths({key: PASSING[key] for key in PASSING if key != "tables"}) if path]
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e300,
    "",
    "x" * 5000,
    [],
    {},
    [[[]]],
    {"a": {"b": []}},
    "hf_" + "Ab1Cd2Ef3Gh4" * 3,
)


@settings(deadline=None, max_examples=300)
@given(place=st.sampled_from(PLACES), value=st.sampled_from(ODD))
def test_no_value_of_a_report_makes_a_traceback(folder: Folder, place: tuple[Any, ...], value: Any) -> None:
    document = copy.deepcopy(PASSING)
    at = document
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    found, findings = evidence(json.dumps(document).encode(), folder)
    assert (found is None) == bool(findings)
    assert "Cd2Ef3Gh4Ab1" not in repr(findings)


@pytest.mark.parametrize("value", [0.5, 4.5, 1e300, -3.0], ids=["below one", "above the ceiling", "huge", "negative"])
def test_an_acceptance_length_that_cannot_be_is_refused(folder: Folder, value: float) -> None:
    findings = judged(folder, lambda d: d["measurements"][0].update(value=value, low=value, high=value))
    assert codes(findings) == {"report-invalid"}


def test_a_figure_outside_its_own_interval_is_refused(folder: Folder) -> None:
    assert codes(judged(folder, lambda d: d["measurements"][0].update(value=3.9))) == {"report-invalid"}


def test_a_measurement_that_stands_there_twice_is_refused(folder: Folder) -> None:
    assert codes(judged(folder, lambda d: d["measurements"].append(d["measurements"][0]))) == {"report-invalid"}


@pytest.mark.parametrize(
    "change", [{"y": [1.0]}, {"low": [1.0]}, {"x": [1, 2, 3, 4, 5, 6, 7, "eight"]}], ids=["short", "interval", "mixed"]
)
def test_a_chart_that_cannot_be_drawn_is_refused(folder: Folder, change: dict[str, Any]) -> None:
    findings = judged(folder, lambda d: d["charts"]["attention-by-depth"]["series"][0].update(change))
    assert codes(findings) == {"report-invalid"}


def test_a_fact_that_is_no_text_is_refused(folder: Folder) -> None:
    assert codes(judged(folder, lambda d: d["facts"]["weights"].update(value={"a": []}))) == {"report-invalid"}


def test_a_finding_that_nobody_knows_is_refused(folder: Folder) -> None:
    unknown = {"code": "from-the-future", "severity": "note", "message": "x"}
    assert codes(judged(folder, lambda d: d["findings"].append(unknown))) == {"report-invalid"}


def test_rows_of_different_columns_are_refused(folder: Folder) -> None:
    assert codes(judged(folder, lambda d: d["tables"]["stages"].append({"other": 1}))) == {"report-invalid"}


@pytest.mark.parametrize(
    "place",
    [
        {"kind": "hub"},
        {"kind": "hub", "repo": "org/target"},
        {"kind": "hub", "repo": "org/target", "commit": "main"},
        {"kind": "hub", "repo": "../target", "commit": COMMIT},
        {"kind": "local", "repo": "org/target", "commit": COMMIT},
        {"kind": "local", "path": "/home/ann/target"},
    ],
    ids=["no repository", "no commit", "a branch", "a path", "local with a repository", "with a path"],
)
def test_a_target_that_is_not_named_rightly_is_refused(folder: Folder, place: dict[str, str]) -> None:
    assert codes(judged(folder, lambda d: d["result"]["target"].update(place))) == {"report-invalid"}


def test_a_report_that_did_not_pass_can_be_read_all_the_same() -> None:
    document = copy.deepcopy(PASSING)
    document["result"]["stages"]["behaviour"] = "failed"
    assert read_validation(json.dumps(document).encode()).result["stages"]["behaviour"] == "failed"
    with pytest.raises(Refusal, match="report-not-validation"):
        read_validation(json.dumps(document | {"command": "diff"}).encode())


def test_the_schema_of_what_a_report_is_bound_to_fits_the_passing_one() -> None:
    assert problems(PASSING["result"], "validated") == []
