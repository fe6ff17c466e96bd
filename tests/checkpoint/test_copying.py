"""Copies are exact by every way the kernel offers, and the digest is that of what was written."""

from __future__ import annotations

import errno
import hashlib
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from eaglekit.checkpoint import copying
from eaglekit.checkpoint.copying import BUFFER_BYTES, HashingWriter, Written, copy_range
from tests.checkpoint.making import only, refused

DATA = os.urandom(1 << 20) * 20 + b"the end"


@pytest.fixture
def source(tmp_path):
    (tmp_path / "source").write_bytes(DATA)
    descriptor = os.open(tmp_path / "source", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def made(tmp_path):
    """A descriptor to write to, and its path."""
    path = tmp_path / "made"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    yield descriptor, path
    os.close(descriptor)


def copy_and_hash(source: int, start: int, end: int, destination: int, place: str) -> Written:
    with HashingWriter(destination, place) as writer:
        writer.copy(source, start, end)
        return writer.finish()


def failing(number: int) -> Callable[..., int]:
    def mover(source: int, start: int, count: int, destination: int) -> int:
        raise OSError(number, os.strerror(number))

    return mover


@pytest.mark.parametrize("mover", copying.MOVERS)
def test_every_way_of_copying_moves_the_same_bytes(source, made, mover, monkeypatch):
    monkeypatch.setattr(copying, "MOVERS", (mover,))
    monkeypatch.setattr(copying, "PIECE_BYTES", 3 << 20)
    copy_range(source, 5, len(DATA) - 1, made[0])
    assert made[1].read_bytes() == DATA[5:-1]


def test_ranges_follow_one_another(source, made):
    for start, end in ((0, 10), (100, 100), (50, 60)):
        copy_range(source, start, end, made[0])
    assert made[1].read_bytes() == DATA[:10] + DATA[50:60]


def test_a_file_system_that_cannot_copy_in_the_kernel_gets_the_next_way(source, made, monkeypatch):
    monkeypatch.setattr(copying, "MOVERS", (failing(errno.EXDEV), failing(errno.EINVAL), copying.MOVERS[-1]))
    copy_range(source, 0, 1000, made[0])
    assert made[1].read_bytes() == DATA[:1000]


@pytest.mark.parametrize("number", [errno.ENOTSOCK, errno.ENOTSUP], ids=errno.errorcode.get)
def test_what_macos_answers_to_a_copy_in_the_kernel_is_followed_by_the_next_way(source, made, monkeypatch, number):
    monkeypatch.setattr(copying, "MOVERS", (failing(number), copying.MOVERS[-1]))
    copy_range(source, 0, 1000, made[0])
    assert made[1].read_bytes() == DATA[:1000]


def test_a_full_disk_is_not_taken_for_a_missing_feature(source, made, monkeypatch):
    monkeypatch.setattr(copying, "MOVERS", (failing(errno.ENOSPC), copying.MOVERS[-1]))
    with pytest.raises(OSError, match="No space left"):
        copy_range(source, 0, 1000, made[0])


def test_a_source_that_is_too_short_is_refused(source, made):
    finding = only(refused(lambda: copy_range(source, 0, len(DATA) + 1, made[0])), "file-truncated")
    assert finding.got == f"{len(DATA)} bytes"


def test_a_source_that_is_too_short_is_refused_while_hashing(source, made):
    only(refused(lambda: copy_and_hash(source, 0, len(DATA) + 1, made[0], "a")), "file-truncated")


def test_the_digest_is_that_of_the_file_written(source, made):
    written = copy_and_hash(source, 3, len(DATA), made[0], "model.safetensors")
    assert made[1].read_bytes() == DATA[3:]
    assert (written.size_bytes, written.sha256) == (len(DATA) - 3, hashlib.sha256(DATA[3:]).hexdigest())


def test_pieces_and_ranges_make_one_file_with_one_digest(source, made):
    with HashingWriter(made[0], "model.safetensors") as writer:
        for _ in range(3):
            writer.write(b"header")
            writer.copy(source, 0, BUFFER_BYTES + 1)
            writer.write(b"")
        written = writer.finish()
    expected = (b"header" + DATA[: BUFFER_BYTES + 1]) * 3
    assert made[1].read_bytes() == expected
    assert (written.size_bytes, written.sha256) == (len(expected), hashlib.sha256(expected).hexdigest())


def test_memory_stays_at_the_buffers(source, made):
    tracemalloc.start()
    try:
        copy_and_hash(source, 0, len(DATA), made[0], "a")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * BUFFER_BYTES


def test_a_descriptor_that_cannot_be_read_is_refused(made, tmp_path):
    deaf = os.open(tmp_path / "deaf", os.O_WRONLY | os.O_CREAT)
    try:
        only(refused(lambda: copy_and_hash(deaf, 0, 10, made[0], "a")), "file-unreadable")
    finally:
        os.close(deaf)


def test_a_full_device_is_a_refusal_that_names_the_file(source):
    descriptor = os.open(Path("/dev/full"), os.O_WRONLY)
    try:
        finding = only(refused(lambda: copy_and_hash(source, 0, 10, descriptor, "model.safetensors")), "disk-full")
    finally:
        os.close(descriptor)
    assert finding.place == "model.safetensors"
