"""A staged folder appears whole under its name, or not at all."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from eaglekit.checkpoint import renaming
from eaglekit.checkpoint.writing import StagedFolder
from tests.checkpoint.making import only, refused


def write(destination: Path, content: bytes = b"{}") -> None:
    with StagedFolder(destination) as staged:
        staged.write_bytes("config.json", content)
        staged.commit()


def writing(destination: Path):
    return refused(lambda: write(destination))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_committed_folder_holds_what_was_written(tmp_path):
    with StagedFolder(tmp_path / "out") as staged:
        staged.write_bytes("config.json", b"{}")
        with staged.open_file("tokenizer/vocab.txt") as writer:
            writer.write(b"a")
            writer.write(b"b")
        assert staged.commit() == tmp_path / "out"
    assert (tmp_path / "out" / "tokenizer" / "vocab.txt").read_bytes() == b"ab"
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["config.json", "tokenizer"]


def test_every_file_has_its_size_and_digest(tmp_path):
    with StagedFolder(tmp_path / "out") as staged:
        staged.write_bytes("a", b"text")
        (written,) = staged.written.values()
    assert (written.size_bytes, written.sha256) == (4, hashlib.sha256(b"text").hexdigest())


def test_nothing_is_seen_before_the_commit(tmp_path):
    with StagedFolder(tmp_path / "out") as staged:
        staged.write_bytes("config.json", b"{}")
        (hidden,) = tmp_path.iterdir()
        assert hidden.name.startswith(".out.eaglekit-")
        assert stat.S_IMODE(hidden.stat().st_mode) == 0o700


def test_files_and_folder_get_the_permissions_of_ordinary_ones(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "out" / "config.json").stat().st_mode) == 0o640


def test_leaving_without_a_commit_leaves_nothing(tmp_path):
    with StagedFolder(tmp_path / "out") as staged:
        staged.write_bytes("config.json", b"{}")
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_on_the_way_leaves_nothing(tmp_path, error):
    def fail() -> None:
        with StagedFolder(tmp_path / "out") as staged, staged.open_file("a") as writer:
            writer.write(b"x")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == []


def existing_folder(path: Path) -> None:
    path.mkdir()


def existing_file(path: Path) -> None:
    path.write_text("x")


def dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("make", [existing_folder, existing_file, dangling_link])
def test_a_destination_that_exists_is_refused_and_left_alone(tmp_path, make):
    make(tmp_path / "out")
    only(writing(tmp_path / "out"), "destination-exists")
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("kernel", [True, False], ids=["rename without replacing", "without that flag"])
@pytest.mark.parametrize("make", [existing_folder, existing_file, dangling_link])
def test_a_destination_that_appears_in_the_meantime_is_refused(tmp_path, make, kernel, monkeypatch):
    if not kernel:
        monkeypatch.setattr(renaming, "_renameat2", lambda old, new: errno.ENOSYS)

    def race() -> None:
        with StagedFolder(tmp_path / "out") as staged:
            staged.write_bytes("config.json", b"{}")
            make(tmp_path / "out")
            staged.commit()

    only(refused(race), "destination-exists")
    assert names(tmp_path) == ["out"]
    assert not (tmp_path / "out" / "config.json").exists()


def test_a_kernel_without_the_flag_still_renames(tmp_path, monkeypatch):
    monkeypatch.setattr(renaming, "_renameat2", lambda old, new: errno.EINVAL)
    write(tmp_path / "out")
    assert names(tmp_path / "out") == ["config.json"]


def test_a_parent_that_is_a_file_is_refused(tmp_path):
    existing_file(tmp_path / "parent")
    only(writing(tmp_path / "parent" / "out"), "destination-parent")


def test_a_parent_that_is_absent_is_refused_and_not_made(tmp_path):
    assert "mkdir -p" in only(writing(tmp_path / "parent" / "out"), "destination-parent").hint
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL], ids=errno.errorcode.get)
def test_a_file_system_that_sets_no_space_aside_is_written_to_all_the_same(tmp_path, number, monkeypatch):
    def refuse(descriptor: int, offset: int, length: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with StagedFolder(tmp_path / "out") as staged:
        with staged.open_file("a", 4) as writer:
            writer.write(b"text")
        staged.commit()
    assert (tmp_path / "out" / "a").read_bytes() == b"text"


def test_space_is_never_set_aside_by_writing_into_every_block(tmp_path, monkeypatch):
    """The C library would do that where the file system cannot, but not to a file that is opened for appending."""
    modes = []
    monkeypatch.setattr(os, "posix_fallocate", lambda file, at, size: modes.append(fcntl.fcntl(file, fcntl.F_GETFL)))
    with StagedFolder(tmp_path / "out") as staged, staged.open_file("a", 4) as writer:
        writer.write(b"text")
    assert [mode & os.O_APPEND for mode in modes] == [os.O_APPEND]


def test_a_file_that_stays_shorter_than_was_said_is_not_committed(tmp_path):
    def shorter() -> None:
        with StagedFolder(tmp_path / "out") as staged:
            with staged.open_file("a", 1 << 20) as writer:
                writer.write(b"text")
            staged.commit()

    only(refused(shorter), "write-failed")
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["../a", "/a", "a\\b", ""])
def test_a_file_cannot_be_written_outside(tmp_path, name):
    with StagedFolder(tmp_path / "out") as staged, pytest.raises(ValueError, match="'"):
        staged.write_bytes(name, b"")


def test_a_file_cannot_be_written_twice(tmp_path):
    with StagedFolder(tmp_path / "out") as staged:
        staged.write_bytes("a", b"")
        with pytest.raises(ValueError, match="before"):
            staged.write_bytes("a", b"")


def test_nothing_is_written_after_the_commit(tmp_path):
    with StagedFolder(tmp_path / "out") as staged:
        staged.commit()
        with pytest.raises(RuntimeError):
            staged.write_bytes("a", b"")


def test_two_runs_to_one_destination_do_not_remove_each_other_s_files(tmp_path):
    with StagedFolder(tmp_path / "out") as first:
        first.write_bytes("a", b"first")
        with StagedFolder(tmp_path / "out") as second:
            second.write_bytes("a", b"second")
        first.commit()
    assert (tmp_path / "out" / "a").read_bytes() == b"first"


def test_a_leftover_of_another_destination_stays(tmp_path):
    (tmp_path / ".other.eaglekit-12345678").mkdir()
    write(tmp_path / "out")
    assert names(tmp_path) == [".other.eaglekit-12345678", "out"]


def test_a_folder_can_be_staged_in_a_thread(tmp_path):
    thread = threading.Thread(target=write, args=(tmp_path / "out",))
    thread.start()
    thread.join()
    assert names(tmp_path / "out") == ["config.json"]


def test_the_signal_handlers_are_as_before(tmp_path):
    write(tmp_path / "out")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


STAGE_AND_WAIT = """
import pathlib, sys, time
from eaglekit.checkpoint.writing import StagedFolder
with StagedFolder(pathlib.Path(sys.argv[1])) as staged:
    staged.write_bytes("model.safetensors", b"half")
    print("staged", flush=True)
    time.sleep(60)
"""


def stop_half_way(destination: Path, number: signal.Signals) -> int:
    """The exit status of a run that got a signal in the middle of writing."""
    with subprocess.Popen([sys.executable, "-c", STAGE_AND_WAIT, destination], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"staged\n"
        running.send_signal(number)
        return running.wait(timeout=30)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_run_that_is_asked_to_stop_leaves_nothing(tmp_path, number):
    assert stop_half_way(tmp_path / "out", number) != 0
    assert names(tmp_path) == []


def test_a_run_that_is_killed_leaves_a_hidden_folder_which_the_next_run_removes(tmp_path):
    stop_half_way(tmp_path / "out", signal.SIGKILL)
    (leftover,) = names(tmp_path)
    assert leftover.startswith(".out.eaglekit-")
    write(tmp_path / "out")
    assert names(tmp_path) == ["out"]
