"""What a local folder shows of itself, and what it refuses to open."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from eaglekit.checkpoint import folder as folder_module
from eaglekit.checkpoint.folder import LocalFolder
from tests.checkpoint.making import folder_of, only, refused

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def snapshot_of(cache: Path, files: dict[str, bytes]) -> Path:
    """A snapshot folder laid out as huggingface_hub lays out its cache."""
    repository = cache / "models--org--name"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for number, (name, content) in enumerate(files.items()):
        (repository / "blobs" / f"blob{number}").write_bytes(content)
        (snapshot / name).symlink_to(Path("../../blobs") / f"blob{number}")
    return snapshot


def test_every_regular_file_is_listed_with_its_size(tmp_path):
    root = folder_of(tmp_path / "drafter", {"a.txt": "four", "deeper/b.txt": "two", "config.json": "{}"})
    assert LocalFolder(root).files() == {"a.txt": 4, "config.json": 2, "deeper/b.txt": 3}


def test_hidden_folders_are_not_entered(tmp_path):
    root = folder_of(tmp_path / "drafter", {".git/objects/x": "x", ".gitattributes": "y"})
    assert set(LocalFolder(root).files()) == {".gitattributes", "config.json"}


def test_a_range_is_read(tmp_path):
    assert LocalFolder(folder_of(tmp_path, {"a": b"0123456789"})).read("a", 2, 5) == b"234"


def test_an_empty_range_is_read(tmp_path):
    assert LocalFolder(folder_of(tmp_path, {"a": b"0123"})).read("a", 4, 4) == b""


def test_a_range_behind_the_end_is_refused_with_the_length_found(tmp_path):
    source = LocalFolder(folder_of(tmp_path, {"a": b"0123"}))
    finding = only(refused(lambda: source.read("a", 2, 9)), "file-truncated")
    assert (finding.got, finding.expected) == ("4 bytes", "at least 9 bytes")


def test_a_file_the_folder_does_not_have_is_refused(tmp_path):
    source = LocalFolder(folder_of(tmp_path / "inner", {}))
    (tmp_path / "outside").write_text("secret")
    only(refused(lambda: source.read("../outside", 0, 1)), "file-missing")


def test_the_label_is_what_the_user_typed(tmp_path):
    assert LocalFolder(folder_of(tmp_path, {}), "./drafter").label == "./drafter"


def test_a_plain_folder_publishes_no_path(tmp_path):
    assert LocalFolder(folder_of(tmp_path, {})).identity() == {"kind": "local"}


def test_a_snapshot_of_the_hub_cache_knows_repository_and_commit(tmp_path):
    source = LocalFolder(snapshot_of(tmp_path, {"config.json": b"{}"}))
    assert source.identity() == {"kind": "hub", "repo": "org/name", "commit": COMMIT}


def test_a_snapshot_of_the_hub_cache_is_read_through_its_links(tmp_path):
    assert LocalFolder(snapshot_of(tmp_path, {"config.json": b"{}"})).read("config.json", 0, 2) == b"{}"


def test_a_snapshot_may_not_link_to_another_repository_s_blobs(tmp_path):
    snapshot = snapshot_of(tmp_path, {"config.json": b"{}"})
    other = tmp_path / "models--org--other" / "blobs"
    other.mkdir(parents=True)
    (other / "blob").write_text("secret")
    (snapshot / "model.safetensors").symlink_to(other / "blob")
    assert only(refused(lambda: LocalFolder(snapshot)), "link-leaves-folder").place == "model.safetensors"


def test_the_cache_exception_does_not_hold_in_an_ordinary_folder(tmp_path):
    root = folder_of(tmp_path / "drafter", {})
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "b").write_text("x")
    (root / "a").symlink_to("../blobs/b")
    only(refused(lambda: LocalFolder(root)), "link-leaves-folder")


def test_a_link_within_the_folder_is_followed(tmp_path):
    root = folder_of(tmp_path / "drafter", {"real": "text"})
    (root / "alias").symlink_to("real")
    assert LocalFolder(root).files()["alias"] == 4


@pytest.mark.parametrize("target", [pytest.param("nowhere", id="absent target"), pytest.param("link", id="itself")])
def test_a_link_that_leads_nowhere_is_refused(tmp_path, target):
    root = folder_of(tmp_path / "drafter", {})
    (root / "link").symlink_to(target)
    only(refused(lambda: LocalFolder(root)), "broken-link")


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's path may not be longer than 107 bytes
        try:
            listening.bind(path.name)
        finally:
            os.chdir(here)


def make_folder_link(path: Path) -> None:
    (path.parent / "real").mkdir()
    path.symlink_to("real")


@pytest.mark.parametrize("make", [make_fifo, make_socket, make_folder_link])
def test_what_is_no_regular_file_is_refused_and_never_opened(tmp_path, make):
    root = folder_of(tmp_path / "drafter", {})
    make(root / "odd")
    assert only(refused(lambda: LocalFolder(root)), "special-file").place == "odd"


def test_a_file_replaced_by_a_fifo_after_the_listing_is_refused(tmp_path):
    root = folder_of(tmp_path / "drafter", {"a": "text"})
    source = LocalFolder(root)
    (root / "a").unlink()
    os.mkfifo(root / "a")
    only(refused(lambda: source.read("a", 0, 4)), "special-file")


def test_a_file_replaced_by_a_link_after_the_listing_is_refused(tmp_path):
    root = folder_of(tmp_path / "drafter", {"a": "text"})
    source = LocalFolder(root)
    (root / "a").unlink()
    (root / "a").symlink_to("config.json")
    only(refused(lambda: source.read("a", 0, 2)), "file-unreadable")


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    only(refused(lambda: LocalFolder(tmp_path / "absent")), "folder-missing")


def test_a_missing_folder_that_looks_like_a_hub_id_is_told_so(tmp_path):
    finding = only(refused(lambda: LocalFolder(tmp_path / "absent", "org/name@main")), "folder-missing")
    assert "`hf download org/name`" in finding.hint


def test_a_file_in_place_of_a_folder_is_refused(tmp_path):
    only(refused(lambda: LocalFolder(folder_of(tmp_path, {}) / "config.json")), "not-a-folder")


def test_a_folder_nested_too_deep_is_refused(tmp_path):
    folder_of(tmp_path, {"/".join("abcdefghij"): "x"})
    only(refused(lambda: LocalFolder(tmp_path)), "folder-too-large")


def test_a_folder_of_too_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_module, "FILES_LIMIT", 3)
    folder_of(tmp_path, dict.fromkeys("abcd", ""))
    only(refused(lambda: LocalFolder(tmp_path)), "folder-too-large")
