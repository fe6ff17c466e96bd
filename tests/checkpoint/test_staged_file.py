"""Files that appear whole or not at all. What kills and full disks leave behind: tests/faults."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eaglekit.checkpoint.staged_file import staged_file, write_file


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    with staged_file(tmp_path / "a") as descriptor, open(descriptor, "wb", closefd=False) as stream:
        stream.write(b"half")
        assert "a" not in names(tmp_path)
        stream.write(b" and half")
    assert names(tmp_path) == {"a"}
    assert (tmp_path / "a").read_bytes() == b"half and half"


def test_what_goes_wrong_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="half way"), staged_file(tmp_path / "a"):
        raise RuntimeError("half way")
    assert names(tmp_path) == set()


def test_a_file_that_came_up_meanwhile_stays(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError), staged_file(tmp_path / "a"):
        (tmp_path / "a").write_bytes(b"another's")
    assert names(tmp_path) == {"a"}
    assert (tmp_path / "a").read_bytes() == b"another's"


def test_a_file_is_replaced_only_when_that_was_said(tmp_path: Path) -> None:
    write_file(tmp_path / "a", b"old")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "a", b"new")
    write_file(tmp_path / "a", b"new", replacing=True)
    assert (tmp_path / "a").read_bytes() == b"new"


def test_what_a_killed_run_left_is_removed_and_what_a_running_one_writes_is_not(tmp_path: Path) -> None:
    left = tmp_path / ".a.eaglekit-00000000"
    left.write_bytes(b"left")
    with staged_file(tmp_path / "a", replacing=True) as descriptor:
        assert not left.exists()
        write_file(tmp_path / "a", b"the other run")
        os.write(descriptor, b"this run")
    assert names(tmp_path) == {"a"}
    assert (tmp_path / "a").read_bytes() == b"this run"


def test_links_and_folders_that_look_like_left_files_stay(tmp_path: Path) -> None:
    (tmp_path / ".a.eaglekit-link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".a.eaglekit-folder").mkdir()
    write_file(tmp_path / "a", b"")
    assert names(tmp_path) == {"a", ".a.eaglekit-link", ".a.eaglekit-folder"}
