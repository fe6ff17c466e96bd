"""`eaglekit card`, as a user calls it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.running import Finished, eaglekit
from tests.hub.cards import COMMIT
from tests.hub.published import REPORT, converted

WORDS = ("--license", "apache-2.0", "--base-model", f"acme/llama-nvfp4@{COMMIT}", "--repo", "acme/llama-eagle3.1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted drafter without a report beside it."""
    return converted(tmp_path_factory.mktemp("drafter"))


def card(folder: Path, *words: object) -> Finished:
    return eaglekit("card", folder, "--report", REPORT, *words)


def test_a_card_is_printed_and_nothing_is_written(folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = card(folder, *WORDS)
    assert done.code == 0, done.err
    assert done.out.startswith("---\nlicense: apache-2.0\n")
    assert sorted(folder.iterdir()) == before


def test_a_card_is_written_with_its_figure_and_again_the_same(folder: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    assert card(folder, *WORDS, "-o", readme).code == 0
    first = readme.read_bytes(), (tmp_path / "drift.png").read_bytes()
    assert card(folder, *WORDS, "-o", readme).code == 0
    assert (readme.read_bytes(), (tmp_path / "drift.png").read_bytes()) == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "drift.png"]


def test_a_readme_without_markers_stays_as_it_is(folder: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_bytes(b"# Mine\r\n")
    done = card(folder, *WORDS, "-o", readme, "--json")
    assert (done.code, done.codes) == (1, ["card-markers"])
    assert readme.read_bytes() == b"# Mine\r\n"
    assert not (tmp_path / "drift.png").exists()


def test_another_picture_of_that_name_is_not_written_over(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "drift.png").write_bytes(b"mine")
    done = card(folder, *WORDS, "-o", tmp_path / "README.md", "--json")
    assert (done.code, done.codes) == (1, ["destination-exists"])
    assert [path.name for path in tmp_path.iterdir()] == ["drift.png"]


def test_a_link_is_not_written_through(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("---\nlicense: apache-2.0\n---\n")
    (tmp_path / "README.md").symlink_to("elsewhere")
    done = card(folder, *WORDS, "--no-figure", "-o", tmp_path / "README.md", "--json")
    assert (done.code, done.codes) == (1, ["destination-exists"])


def test_everything_that_is_missing_is_told_at_once(folder: Path) -> None:
    done = card(folder, "--json")
    assert (done.code, done.codes) == (1, ["base-model-missing", "licence-missing"])


def test_a_report_of_other_files_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "report.json"
    other.write_text(REPORT.read_text().replace('"size_bytes": 1409', '"size_bytes": 1410'))
    done = eaglekit("card", folder, "--report", other, *WORDS, "--json")
    assert (done.code, done.codes) == (1, ["report-of-other-files"])


def test_json_holds_the_card_and_the_digest_of_its_figure(folder: Path) -> None:
    result = card(folder, *WORDS, "--json").document["result"]
    assert result["card"].endswith("<!-- eaglekit: end -->\n")
    assert result["figure"]["name"] == "drift.png"


def test_without_a_figure_the_card_shows_none(folder: Path) -> None:
    result = card(folder, *WORDS, "--no-figure", "--json").document["result"]
    assert result["figure"] is None
    assert "drift.png" not in result["card"]


def test_a_repository_with_a_revision_is_wrong_usage(folder: Path) -> None:
    assert card(folder, *WORDS[:4], "--repo", "acme/x@main").code == 2


def test_a_licence_file_that_is_not_there_is_told(folder: Path) -> None:
    words = ("--license", "other", "--license-name", "mine-1.0", "--license-link", "LICENSE")
    done = card(folder, *WORDS[2:], *words, "--json")
    assert (done.code, done.codes) == (1, ["licence-incomplete"])


def test_a_missing_report_is_told_along_with_what_the_publisher_has_not_said(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes(REPORT.read_bytes())
    words = ("card", folder, "--base-model", "acme/target@main", "--json")
    missing, *rest = eaglekit(*words, cwd=tmp_path).document["findings"]
    assert (missing["code"], missing["place"]) == ("report-missing", f"{folder}/report.json")
    assert missing["hint"].endswith("--report report.json")
    assert {finding["code"] for finding in rest} == {"licence-missing", "base-model-invalid"}


def test_json_that_is_no_report_is_one_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"plan": 1}')
    (finding,) = eaglekit("card", folder, "--report", tmp_path / "other.json", *WORDS, "--json").document["findings"]
    assert finding["message"].endswith("other.json is no report of eaglekit validate")


def test_a_card_is_not_written_to_what_is_no_plain_file(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "README.md")
    for place in (tmp_path / "README.md", Path("/dev/full")):
        done = card(folder, *WORDS, "--no-figure", "-o", place, "--json")
        assert (done.code, done.codes) == (1, ["destination-exists"])


def test_a_picture_beside_a_new_card_is_somebody_elses_whatever_the_folder_shows(folder: Path, tmp_path: Path) -> None:
    with_card = Path(shutil.copytree(folder, tmp_path / "drafter"))
    assert card(folder, *WORDS, "-o", with_card / "README.md").code == 0
    (tmp_path / "drift.png").write_bytes(b"mine")
    done = card(with_card, *WORDS, "-o", tmp_path / "README.md", "--json")
    assert (done.code, done.codes) == (1, ["destination-exists"])
    assert (tmp_path / "drift.png").read_bytes() == b"mine"
