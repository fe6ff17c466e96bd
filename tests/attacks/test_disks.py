"""Disks that fill up, refuse or vanish while something is written: the destination must not exist afterwards."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eaglekit.api.files import refuse_taken
from eaglekit.checkpoint.disk_errors import disk_finding
from eaglekit.checkpoint.staged_file import write_file
from eaglekit.checkpoint.writing import StagedFolder
from eaglekit.report import Refusal
from eaglekit.target.capture_file import refuse_taken as refuse_capture_taken

WRITE = """
import pathlib, resource, signal, sys
from eaglekit.checkpoint.writing import StagedFolder
from eaglekit.report import Refusal
folder, limit, size = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with StagedFolder(folder / "out") as staged:
        staged.write_bytes("config.json", b"{}")
        with staged.open_file("model.safetensors", size if "known" in sys.argv else 0) as writer:
            if "known" in sys.argv:
                print("begun")
            for _ in range(size >> 16):
                writer.write(bytes(1 << 16))
        staged.commit()
except Refusal as refusal:
    print(*[finding.code for finding in refusal.findings])
else:
    print("written")
"""
LIMIT = 1 << 20


def write(folder: Path, limit: int, size_bytes: int, *words: str) -> str:
    """What a run that writes `size_bytes` says: finding codes or `written`, after `begun` where the size is known."""
    command = [sys.executable, "-c", WRITE, folder, str(limit), str(size_bytes), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.fixture
def small_disk(tmp_path) -> Iterator[tuple[Path, int]]:
    """A folder that holds 1 MiB, and the file-size limit that makes it so where mounting is not permitted."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], capture_output=True)
    yield tmp_path, (0 if mounted.returncode == 0 else LIMIT)
    if mounted.returncode == 0:
        subprocess.run(["umount", tmp_path], check=True)


def test_what_fits_is_written(small_disk):
    folder, limit = small_disk
    assert write(folder, limit, LIMIT // 2) == "written"
    assert (folder / "out" / "model.safetensors").stat().st_size == LIMIT // 2


def test_a_disk_that_fills_up_leaves_nothing(small_disk):
    folder, limit = small_disk
    assert write(folder, limit, 2 * LIMIT) == "disk-full"
    assert list(folder.iterdir()) == []


def test_a_disk_without_room_says_so_before_anything_is_written(small_disk):
    folder, limit = small_disk
    assert write(folder, limit, 2 * LIMIT, "known") == "disk-full"
    assert write(folder, limit, LIMIT // 2, "known") == "begun\nwritten"


def test_a_disk_with_room_again_is_written_to(small_disk):
    folder, limit = small_disk
    write(folder, limit, 2 * LIMIT)
    assert write(folder, limit, LIMIT // 2) == "written"


def test_a_file_size_limit_leaves_nothing(tmp_path):
    assert write(tmp_path, LIMIT, 2 * LIMIT) == "disk-full"
    assert list(tmp_path.iterdir()) == []


def test_a_destination_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    assert write(tmp_path / "file", 0, LIMIT) == "destination-parent"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "disk-full"), (errno.EDQUOT, "disk-full"), (errno.EFBIG, "disk-full"),
        (errno.EROFS, "destination-read-only"), (errno.EACCES, "destination-denied"),
        (errno.EPERM, "destination-denied"), (errno.EEXIST, "destination-exists"),
        (errno.ENOTDIR, "destination-parent"), (errno.ENOENT, "destination-parent"), (errno.EIO, "write-failed"),
    ],
    ids=lambda value: errno.errorcode[value] if isinstance(value, int) else value,
)  # fmt: skip
def test_every_error_of_the_system_has_its_finding(number, code):
    finding = disk_finding(OSError(number, "said the system"), "out/model.safetensors")
    assert (finding.code, finding.place, finding.got) == (code, "out/model.safetensors", errno.errorcode[number])


MAKE = {
    "file": "write_file(destination, b'whole')",
    "folder": "staged = StagedFolder(destination).__enter__(); staged.commit(); staged.__exit__(None, None, None)",
}


@pytest.mark.parametrize("made", MAKE)
@pytest.mark.parametrize("name", ["n" * 255, "ö" * 127], ids=["of 255 letters", "of 254 bytes"])
def test_every_name_that_a_disk_takes_can_be_given(made, name, tmp_path):
    destination = tmp_path / name
    exec(MAKE[made], {"destination": destination, "write_file": write_file, "StagedFolder": StagedFolder})  # noqa: S102
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("made", MAKE)
def test_what_only_looks_like_left_over_is_somebody_s_own(made, tmp_path):
    (tmp_path / ".a.eaglekit-notes").write_text("mine")
    (tmp_path / ".a.eaglekit-backup").mkdir()
    (tmp_path / ".a.eaglekit-backup" / "kept").write_text("mine")
    exec(MAKE[made], {"destination": tmp_path / "a", "write_file": write_file, "StagedFolder": StagedFolder})  # noqa: S102
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.eaglekit-backup", ".a.eaglekit-notes", "a"]
    assert (tmp_path / ".a.eaglekit-backup" / "kept").exists()


WITHOUT_LOCKS = """
import ctypes, pathlib, struct, sys
from eaglekit.checkpoint.staged_file import write_file
from eaglekit.checkpoint.writing import StagedFolder
# seccomp(2): flock, call 73 of x86-64, answers ENOLCK as NFS without a lock daemon does.
code = b"".join(struct.pack("HBBI", *one) for one in (
    (0x20, 0, 0, 0), (0x15, 0, 1, 73), (0x06, 0, 0, 0x00050000 | 37), (0x06, 0, 0, 0x7FFF0000)))
kept = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(kept)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
destination = pathlib.Path(sys.argv[1])
"""


@pytest.mark.parametrize("made", MAKE)
def test_a_disk_without_locks_is_written_to_and_nothing_is_taken_for_left_over(made, tmp_path):
    (tmp_path / ".a.eaglekit-00000000").mkdir()
    (tmp_path / ".a.eaglekit-11111111").write_text("of a run that goes on")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCKS + MAKE[made], tmp_path / "a"], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == [".a.eaglekit-00000000", ".a.eaglekit-11111111", "a"]


@pytest.mark.parametrize("refuse", [refuse_capture_taken, lambda path, overwrite: refuse_taken([path])])
def test_a_name_that_no_disk_takes_is_told_before_any_work(refuse, tmp_path):
    with pytest.raises(Refusal) as caught:
        refuse(tmp_path / ("n" * 256), overwrite=False)
    (finding,) = caught.value.findings
    assert "shorter name" in finding.hint
