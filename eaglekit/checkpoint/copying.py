"""Byte ranges from file to file: through the kernel, or once through memory when a digest is wanted as well."""

from __future__ import annotations

import errno
import hashlib
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType

from eaglekit.checkpoint.disk_errors import unreadable, writing_to
from eaglekit.report import Finding, Refusal

PIECE_BYTES = 64 << 20
"""Most that one kernel copy moves, so that an interrupt is noticed soon."""
BUFFER_BYTES = 4 << 20
BUFFERS = 4
"""Reading and writing run ahead of the hash by so many buffers; measured: 1.9 GB take as long as their hash alone."""
NOT_HERE = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF})
"""What a kernel or file system answers when it cannot copy this way; the next way is tried."""

Mover = Callable[[int, int, int, int], int]


def copy_range(source: int, start: int, end: int, destination: int) -> None:
    """Append the bytes [start, end) of descriptor `source` to descriptor `destination`, in constant memory.

    Raises `Refusal` when the source is shorter, `OSError` when the destination cannot take the bytes.
    """
    movers = list(MOVERS)
    while start < end:
        try:
            moved = movers[0](source, start, min(end - start, PIECE_BYTES), destination)
        except OSError as error:
            if error.errno not in NOT_HERE or len(movers) == 1:
                raise
            movers.pop(0)
            continue
        if moved == 0:
            raise Refusal(_too_short(start, end))
        start += moved


def _copy_file_range(source: int, start: int, count: int, destination: int) -> int:
    return os.copy_file_range(source, destination, count, start)


def _sendfile(source: int, start: int, count: int, destination: int) -> int:
    return os.sendfile(destination, source, start, count)


def _through_memory(source: int, start: int, count: int, destination: int) -> int:
    data = os.pread(source, min(count, BUFFER_BYTES), start)
    _write_all(destination, memoryview(data))
    return len(data)


MOVERS: tuple[Mover, ...] = (
    *((_copy_file_range,) if hasattr(os, "copy_file_range") else ()),
    *((_sendfile,) if hasattr(os, "sendfile") else ()),
    _through_memory,
)
"""Ways to copy, the fastest first."""


@dataclass(frozen=True, slots=True)
class Written:
    """One finished output file."""

    size_bytes: int
    sha256: str
    """Empty when no digest was wanted."""


class HashingWriter:
    """Writes one file from pieces and file ranges, in sequence, and knows its SHA-256 at the end.

    The hash runs in a thread beside reading and writing, so the whole costs about the slower of the two. Memory stays
    at 16 MiB. Use as a context manager; `finish` gives size and digest. `place` names the file in findings. With
    `hashing=False` ranges go through the kernel and there is no digest.
    """

    def __init__(self, descriptor: int, place: str, *, hashing: bool = True) -> None:
        self._descriptor, self._place, self._hashing = descriptor, place, hashing
        self._hash = hashlib.sha256()
        self._size = 0
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="eaglekit-hash")
        self._pending: deque[Future[None]] = deque()
        self._buffers: list[memoryview] = []  # made on the first copy: small files need none
        self._turn = BUFFERS - 1

    def __enter__(self) -> HashingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)

    def write(self, data: bytes) -> None:
        """Append `data`. Raises `Refusal` when it cannot be written."""
        self._append(memoryview(data))

    def copy(self, source: int, start: int, end: int) -> None:
        """Append the bytes [start, end) of descriptor `source`. Raises `Refusal` when they are not all there."""
        if not self._hashing:
            with writing_to(self._place):
                copy_range(source, start, end, self._descriptor)
            self._size += end - start
            return
        while start < end:
            buffer = self._free_buffer()[: end - start]
            try:
                got = os.preadv(source, [buffer], start)
            except OSError as error:
                raise Refusal(unreadable("a source file", error)) from error
            if got == 0:
                raise Refusal(_too_short(start, end))
            self._append(buffer[:got])
            start += got

    def finish(self) -> Written:
        """Size and digest of everything written so far; waits for the hash."""
        while self._pending:
            self._pending.popleft().result()
        return Written(self._size, self._hash.hexdigest() if self._hashing else "")

    def _append(self, view: memoryview) -> None:
        while len(self._pending) >= BUFFERS - 1:
            self._pending.popleft().result()
        if self._hashing:
            self._pending.append(self._thread.submit(self._hash.update, view))
        with writing_to(self._place):
            _write_all(self._descriptor, view)
        self._size += len(view)

    def _free_buffer(self) -> memoryview:
        # At most BUFFERS - 1 pieces are pending, and buffers take turns: this one's hash is done.
        while len(self._pending) >= BUFFERS - 1:
            self._pending.popleft().result()
        if len(self._buffers) < BUFFERS:
            self._buffers.append(memoryview(bytearray(BUFFER_BYTES)))
            return self._buffers[-1]
        self._turn = (self._turn + 1) % BUFFERS
        return self._buffers[self._turn]


def copy_and_hash(source: int, start: int, end: int, destination: int, place: str) -> Written:
    """Append the bytes [start, end) of `source` to `destination`: size and SHA-256 of what was written."""
    with HashingWriter(destination, place) as writer:
        writer.copy(source, start, end)
        return writer.finish()


def _write_all(destination: int, view: memoryview) -> None:
    while view:
        view = view[os.write(destination, view) :]


def _too_short(at: int, end: int) -> Finding:
    return Finding(
        "file-truncated",
        f"a source file ended at byte {at} while it was copied up to byte {end}",
        got=f"{at} bytes",
        expected=f"at least {end} bytes",
        hint="make sure that nothing writes to the source folder, then run the command again",
    )
