"""A rehearsal: a real push to a Hub of one's own, of which a folder stays."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.running import Finished, eaglekit
from tests.hub.pushes import REPO, WORDS, copied

pytestmark = pytest.mark.hub_client

NO_HUB = {"HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "1", "HF_TOKEN": "hf_theRealOne"}
"""The surroundings of someone who must not reach any Hub."""


@pytest.fixture
def place(tmp_path: Path, published_folder: Path) -> Path:
    """A folder to work in, with a drafter in it."""
    copied(published_folder, tmp_path / "drafter")
    return tmp_path


def rehearse(place: Path, *options: object, figure: bool = False) -> Finished:
    words = ("push", "./drafter", REPO, *WORDS, "--json", *(() if figure else ("--no-figure",)), *options)
    return eaglekit(*words, environment={**NO_HUB, "HF_HOME": str(place / "home")}, cwd=place)


def test_a_rehearsal_needs_no_hub_no_token_and_no_yes(place: Path) -> None:
    done = rehearse(place, "--rehearse")
    assert done.code == 0, done.out + done.err
    assert done.document["result"]["outcome"] == "rehearsed"
    assert "hf_theRealOne" not in done.out + done.err


def test_a_rehearsal_leaves_exactly_the_files_of_the_commit(place: Path) -> None:
    result = rehearse(place, "--rehearse", "stage").document["result"]
    left = place / "stage" / "acme" / "drafter"
    planned = {file["name"]: file["sha256"] for file in result["files"]}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in left.iterdir()}
    found.pop(".gitattributes", None)
    assert found == planned


def test_a_rehearsal_says_where_the_card_is_and_how_to_serve_it_again(place: Path) -> None:
    rehearsal = rehearse(place, "--rehearse", "stage").document["result"]["rehearsal"]
    assert (place / rehearsal["card"]).read_text(encoding="utf-8").startswith("---\n")
    assert rehearsal["serve"] == "python -m eaglekit.hub.loopback stage"


def test_a_rehearsal_without_a_name_is_named_after_the_repository(place: Path) -> None:
    rehearse(place, "--rehearse")
    assert (place / "rehearsal-drafter" / "hub" / "state.json").is_file()


def test_every_request_of_a_rehearsal_is_kept(place: Path) -> None:
    rehearse(place, "--rehearse", "stage")
    lines = (place / "stage" / "requests.jsonl").read_text().splitlines()
    assert sum("/commit/" in json.loads(line)["path"] for line in lines if json.loads(line)["method"] == "POST") == 1


def test_a_second_rehearsal_continues_the_first(place: Path) -> None:
    first = rehearse(place, "--rehearse", "stage").document["result"]["commit"]
    second = rehearse(place, "--rehearse", "stage").document["result"]
    assert second["commit"] == first
    assert {file["change"] for file in second["files"]} == {"same", "remote only"}


def test_a_rehearsal_can_be_a_dry_run(place: Path) -> None:
    done = rehearse(place, "--rehearse", "stage", "--dry-run")
    assert done.document["result"]["outcome"] == "planned"
    assert not (place / "stage" / "acme").exists()


def test_a_folder_with_something_else_is_no_place_for_a_rehearsal(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "notes.txt").write_text("mine")
    done = rehearse(place, "--rehearse", "mine")
    assert done.codes == ["push-rehearsal-folder"]
    assert [path.name for path in (place / "mine").iterdir()] == ["notes.txt"]


def test_what_a_rehearsal_leaves_passes_its_own_manifest(place: Path) -> None:
    import subprocess

    rehearse(place, "--rehearse", "stage", figure=True)
    left = place / "stage" / "acme" / "drafter"
    checked = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=left, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout
    assert b"drift.png: OK" in checked.stdout


def test_an_option_that_has_swallowed_the_repository_is_named(place: Path) -> None:
    done = eaglekit("push", "./drafter", "--rehearse", REPO, "--json", cwd=place)
    assert (done.code, done.codes, done.document["command"]) == (2, ["usage"], "push")
    assert f"--rehearse has taken {REPO}" in done.document["findings"][0]["message"]


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("push", REPO, "./drafter", "--yes"), f"PATH comes first: eaglekit push ./drafter {REPO}"),
        (("pull", "./new", REPO), f"REPOSITORY comes first: eaglekit pull {REPO} ./new"),
    ],
    ids=["push", "pull"],
)
def test_arguments_in_each_others_place_are_put_right(place: Path, words: tuple[str, ...], right: str) -> None:
    done = eaglekit(*words, "--json", cwd=place)
    assert (done.code, done.document["findings"][0]["message"]) == (2, right)


def test_a_repository_without_an_owner_is_not_asked_for_a_revision(place: Path) -> None:
    (finding,) = eaglekit("push", "./drafter", "drafter", "--yes", "--json", cwd=place).document["findings"]
    assert (finding["code"], finding["expected"]) == ("hub-id-invalid", "ORG/NAME")


def test_a_pull_that_reaches_no_hub_is_not_told_to_give_a_folder(place: Path) -> None:
    done = eaglekit("pull", REPO, "./new", "--json", environment={"HF_HUB_OFFLINE": "1"}, cwd=place)
    assert [(f["code"], f["hint"]) for f in done.document["findings"]] == [("hub-offline", "unset HF_HUB_OFFLINE")]
