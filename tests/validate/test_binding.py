"""A report is bound to what was judged, and names no place on the machine that judged it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.lookup import library_identity, open_library
from eaglekit.report import Fact, Finding, Refusal, Report, Table
from eaglekit.report.progress import silent
from eaglekit.target.model import open_model
from eaglekit.target.texts import Text
from eaglekit.validate.binding import (
    bind_drafter,
    moments,
    refuse_changed,
    texts_digest,
    without_paths,
)
from tests.cases.builders import d0, t0
from tests.validate import copycat


def test_every_file_the_drafter_is_read_from_is_bound_by_size_and_digest(tmp_path: Path) -> None:
    folder = d0().write(tmp_path / "draft")
    (folder / "README.md").write_text("not judged")
    bound = bind_drafter(open_folder(folder), silent)
    assert bound["files"] == {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}
        for name in ("config.json", "model.safetensors")
        for data in [(folder / name).read_bytes()]
    }
    assert bound["kind"] == "local"


def test_the_index_of_shards_is_judged_too(tmp_path: Path) -> None:
    folder = t0().write(tmp_path / "sharded")
    assert "model.safetensors.index.json" in open_folder(folder).own_files()


def test_a_target_has_the_digest_that_a_capture_of_it_names(tmp_path: Path) -> None:
    source = LocalFolder(copycat.target().write(tmp_path / "target"))
    assert library_identity(open_library(source))["digest"] == open_model(source).digest


def test_shards_of_a_target_that_are_not_here_are_named(tmp_path: Path) -> None:
    folder = t0().write(tmp_path / "target")
    (folder / "model-00001-of-00002.safetensors").unlink()
    bound = library_identity(open_library(LocalFolder(folder), partial=True))
    assert bound["digest_covers"].endswith("without model-00001-of-00002.safetensors")


def test_the_digest_of_texts_depends_on_every_token_and_on_their_order() -> None:
    first, second = Text("a", "", (1, 2, 3), 1), Text("b", "", (1, 2, 4), 1)
    digests = [texts_digest(texts)["digest"] for texts in ([first, second], [second, first], [first])]
    assert len(set(digests)) == 3
    assert texts_digest([first, second])["tokens"] == 6


def test_a_drafter_that_changes_while_it_is_judged_is_refused(tmp_path: Path) -> None:
    folder = d0().write(tmp_path / "draft")
    checkpoint = open_folder(folder)
    before = moments(checkpoint)
    refuse_changed(checkpoint, before)
    os.utime(folder / "config.json", ns=(1, 1))
    with pytest.raises(Refusal, match=r"config\.json was changed"):
        refuse_changed(checkpoint, before)


def test_paths_are_called_by_their_last_name_wherever_they_stand() -> None:
    typed = "/home/somebody/drafters/mine"
    report = Report(
        "validate",
        typed,
        facts=(Fact("weights", f"in {typed}", f"read: {typed}/config.json"),),
        findings=(Finding("target-size", f"{typed} is odd", place=f"{typed}/config.json"),),
        tables=(Table("t", "T", ("a",), ((f"{typed}",),)),),
        result={"where": [typed]},
    )
    published = without_paths(report, [typed])
    assert "/home" not in str(published)
    assert published.subject == "mine"
    assert published.findings[0].place == "mine/config.json"


def test_relative_paths_and_their_absolute_forms_are_called_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = Report("validate", "./drafters/mine", facts=(Fact("at", str(tmp_path / "drafters" / "mine")),))
    published = without_paths(report, ["./drafters/mine"])
    assert (published.subject, published.facts[0].value) == ("mine", "mine")


def test_a_plain_name_changes_no_word_of_a_report() -> None:
    report = Report("validate", "a", facts=(Fact("a", "a report about a"),))
    assert without_paths(report, ["a"]) == report


def test_a_hub_id_is_no_path_and_stays_whole() -> None:
    result = {"target": {"kind": "hub", "repo": "org/target"}}
    report = Report("validate", "org/drafter@main", result=result)
    published = without_paths(report, ["org/drafter@main", "org/target"])
    assert (published.subject, published.result) == ("org/drafter@main", result)


def test_a_short_path_changes_no_name_that_it_is_a_part_of() -> None:
    report = Report("validate", "/model", facts=(Fact("target", "nvidia/model-8b, /model-2, /model/config.json"),))
    published = without_paths(report, ["/model"])
    assert (published.subject, published.facts[0].value) == ("model", "nvidia/model-8b, /model-2, model/config.json")
