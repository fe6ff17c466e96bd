"""Closed streams, full disks, two at once, a process that was killed: what was done is told, and the next run works."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, eaglekit
from tests.hub import Fault
from tests.hub.pushes import REPO, TOKEN, WORDS, Pushes

pytestmark = pytest.mark.hub_client


def shell(pushes: Pushes, ending: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A push as a shell starts it; `ending` is the end of the command line."""
    words = [*PROGRAM, "push", str(pushes.folder), REPO, *WORDS, "--no-figure", *options]
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {ending}', "sh", *words],
        env=pushes.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("options", [("--yes", "--json"), ("--yes",)], ids=["for programs", "for people"])
def test_closed_streams_keep_nobody_from_publishing(pushes: Pushes, closed: str, options: tuple[str, ...]) -> None:
    done = shell(pushes, closed, *options)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "config.json" in pushes.head().files


def test_without_a_stream_to_ask_on_nobody_is_asked(pushes: Pushes) -> None:
    done = shell(pushes, "<&-")
    assert done.returncode == 2
    assert "say --yes" in done.stderr
    assert pushes.writes() == []


def test_who_cannot_be_told_on_one_stream_is_told_on_the_other_that_it_is_published(pushes: Pushes) -> None:
    done = shell(pushes, ">/dev/full", "--yes", "--json")
    assert done.returncode == 1
    assert f"commit {pushes.head().oid} IS published" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("push", "--json"), ("recipe", "/nowhere", "--target", "a/b", "--json")])
def test_a_failure_that_cannot_be_told_is_no_traceback(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" >/dev/full', "sh", *PROGRAM, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr


def test_a_report_that_cannot_be_written_does_not_hide_what_was_published(pushes: Pushes, tmp_path: Path) -> None:
    place = tmp_path / "reports"
    place.mkdir()
    pushes.hub.fail(Fault("/commit/main", "POST", call=lambda: shutil.rmtree(place)))
    done = pushes.push("-o", place / "push.json")
    assert done.code == 1
    assert done.codes == ["destination-parent"]
    assert done.document["result"]["outcome"] == "published"
    assert done.document["result"]["commit"] == pushes.head().oid


@pytest.mark.parametrize("option", ["--message", "--tag", "--revision"])
def test_a_token_given_by_mistake_is_neither_published_nor_shown(pushes: Pushes, option: str) -> None:
    token = "hf_" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0UvWx"
    done = pushes.push(option, token)
    assert done.codes == ["secret-found"]
    assert token not in done.out + done.err
    assert pushes.hub.requests() == []


def rehearse(pushes: Pushes, place: Path) -> list[str]:
    """The errors of a rehearsal."""
    words = ("push", pushes.folder, REPO, *WORDS, "--no-figure", "--json", "--rehearse", place)
    done = eaglekit(*words, environment={"HF_HOME": str(pushes.home), "HF_TOKEN": TOKEN})
    return [finding["code"] for finding in done.document["findings"] if finding["severity"] == "error"]


def test_two_rehearsals_do_not_share_a_folder_at_once(pushes: Pushes, tmp_path: Path) -> None:
    place = tmp_path / "rehearsal"
    assert rehearse(pushes, place) == []
    with (place / "hub" / "lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert rehearse(pushes, place) == ["push-rehearsal-folder"]
    assert rehearse(pushes, place) == []


@pytest.mark.parametrize("left", ["", "hub", "hub/lock"])
def test_a_rehearsal_that_was_killed_as_it_began_is_begun_again(pushes: Pushes, tmp_path: Path, left: str) -> None:
    place = tmp_path / "rehearsal"
    if left.endswith("lock"):
        (place / "hub").mkdir(parents=True)
        (place / left).touch()
        (place / "requests.jsonl").touch()
    else:
        (place / left).mkdir(parents=True)
    assert rehearse(pushes, place) == []


def test_a_folder_of_somebody_else_called_hub_is_left_alone(pushes: Pushes, tmp_path: Path) -> None:
    place = tmp_path / "rehearsal"
    (place / "hub").mkdir(parents=True)
    (place / "hub" / "theirs.txt").touch()
    assert rehearse(pushes, place) == ["push-rehearsal-folder"]
    assert [item.name for item in (place / "hub").iterdir()] == ["theirs.txt"]


@pytest.mark.parametrize("state", ["", "[]", "{}", '{"version": 1}', '{"version": 9}', json.dumps({"version": None})])
def test_a_rehearsal_whose_memory_was_damaged_is_refused(pushes: Pushes, tmp_path: Path, state: str) -> None:
    place = tmp_path / "rehearsal"
    (place / "hub").mkdir(parents=True)
    (place / "hub" / "state.json").write_text(state)
    assert rehearse(pushes, place) == ["push-rehearsal-folder"]


def gone(file: Path) -> None:
    file.unlink()


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def longer(file: Path) -> None:
    os.truncate(file, 1 << 40)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("happens", [gone, pipe, longer])
def test_a_file_that_is_another_when_it_is_sent_is_named(
    pushes: Pushes, name: str, happens: Callable[[Path], None]
) -> None:
    pushes.hub.fail(Fault("/repos/create", "POST", times=1, call=lambda: happens(pushes.folder / name)))
    done = pushes.push()
    assert done.codes == ["push-file-changed"], done.out
    assert pushes.count() == 1


def test_weights_that_become_a_pipe_during_the_push_are_not_waited_for(pushes: Pushes) -> None:
    pushes.hub.fail(Fault("/objects/batch", "POST", times=1, call=lambda: pipe(pushes.folder / "model.safetensors")))
    done = pushes.push()
    assert done.codes == ["push-upload-failed"], done.out
    assert pushes.count() == 1


def test_a_commit_whose_files_are_gone_from_here_is_told_to_be_recorded(pushes: Pushes) -> None:
    pushes.hub.fail(Fault("/commit/main", "POST", times=1, call=lambda: shutil.rmtree(pushes.folder)))
    done = pushes.push()
    assert done.codes == ["push-unverified"], done.out
    assert done.document["result"]["commit"] == pushes.head().oid
