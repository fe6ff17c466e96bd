"""Bytes of a target from its files straight into tensors, and a thread that asks the disk for the next ones early."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType

import torch
from jaxtyping import Float, UInt8

from eaglekit.checkpoint import Source, Tensor
from eaglekit.checkpoint.disk_errors import unreadable
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.report import Finding, Refusal

PIECE_BYTES = 1 << 20
"""Read at once where bytes are only brought into the system's cache, or go on to a GPU."""

CONVERTED_BYTES = 256 << 10
"""Read at once where the CPU converts them: small enough to stay in its cache, where converting takes no time."""

LEAD_BYTES = 1 << 30
"""How far reading ahead may run before what is used: in the system's cache, not in this process."""

SMALL_BYTES = 4 << 10
"""Tensors below this come along with their neighbours' pages."""

ReadBytes = Callable[[int], None]
"""Is told how many bytes were read."""


class Reader:
    """Open files of one folder. A context manager: leaving it closes them and ends reading ahead."""

    def __init__(self, source: Source, told: ReadBytes | None = None) -> None:
        if not isinstance(source, LocalFolder):
            raise Refusal(
                Finding(
                    "target-not-local",
                    f"{source.label} is not on this machine",
                    place=source.label,
                    hint="download the target first: its weights are read more than once",
                )
            )
        self._folder = source
        self._told = told or (lambda count: None)
        self._files: dict[str, int] = {}
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self.ahead = ReadAhead(self.descriptor)
        self.unproven: list[tuple[Tensor, torch.Tensor]] = []
        """What was loaded, with its least and greatest value, until somebody looks whether these are finite."""
        self.doubts: list[Finding] = []
        """Warnings about what was read."""
        self.spare: dict[tuple[tuple[int, ...], torch.dtype], list[torch.Tensor]] = {}
        """Memory of weights that are done with, for others of the same shape: new memory costs page faults."""

    def __enter__(self) -> "Reader":
        self.ahead.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ahead.close()
        self._stack.close()

    def descriptor(self, file: str) -> int:
        """An open descriptor of `file`, the same one each time."""
        with self._lock:
            if file not in self._files:
                self._files[file] = self._folder.open(file)
                self._stack.callback(os.close, self._files[file])
            return self._files[file]

    def raw(self, tensor: Tensor, *, pinned: bool = False) -> UInt8[torch.Tensor, " bytes"]:
        """All bytes of a tensor, in new memory."""
        data = torch.empty(tensor.end - tensor.start, dtype=torch.uint8, pin_memory=pinned)
        self.into(data, tensor.file, tensor.start)
        self.used(tensor)
        return data

    def into(self, data: UInt8[torch.Tensor, " bytes"], file: str, start: int) -> None:
        """Fill `data`, which lies on the CPU, from `start` on. Raises `Refusal` when the file ends before."""
        view, descriptor = memoryview(data.numpy().data), self.descriptor(file)
        done = 0
        while done < len(view):
            try:
                count = os.preadv(descriptor, [view[done:]], start + done)
            except OSError as error:
                raise Refusal(unreadable(file, error)) from error
            if count == 0:
                raise Refusal(
                    Finding(
                        "file-truncated",
                        f"{file} ended at byte {start + done} while it was read",
                        place=file,
                        got=f"{start + done} bytes",
                        expected=f"at least {start + len(view)} bytes",
                        hint="make sure that nothing writes to the folder, then run the command again",
                    )
                )
            done += count

    def room(self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Memory for a weight of that shape, with anything in it."""
        spare = self.spare.get((shape, dtype)) if device.type == "cpu" else None
        return spare.pop() if spare else torch.empty(shape, dtype=dtype, device=device)

    def give_back(self, weight: torch.Tensor) -> None:
        """Keep the memory of a weight that is done with, for the next one of its shape."""
        if weight.device.type == "cpu":
            self.spare.setdefault((tuple(weight.shape), weight.dtype), []).append(weight)

    def used(self, tensor: Tensor) -> None:
        """Say that a tensor has been read."""
        self.ahead.used(tensor)
        self._told(tensor.end - tensor.start)

    def plain(
        self, tensor: Tensor, stored: torch.dtype, dtype: torch.dtype, device: torch.device
    ) -> Float[torch.Tensor, "..."]:
        """A plain tensor in `dtype` on `device`; converted piece by piece, so that nothing is held twice."""
        out = self.room(tensor.shape, dtype, device)
        flat = out.view(-1)
        if stored == dtype and device.type == "cpu":
            self.into(flat.view(torch.uint8), tensor.file, tensor.start)
        else:
            size, step = stored.itemsize, CONVERTED_BYTES if device.type == "cpu" else PIECE_BYTES
            scratch = torch.empty(
                min(step, tensor.end - tensor.start), dtype=torch.uint8, pin_memory=device.type == "cuda"
            )
            for start in range(tensor.start, tensor.end, step):
                piece = scratch[: min(step, tensor.end - start)]
                self.into(piece, tensor.file, start)
                first = (start - tensor.start) // size
                flat[first : first + len(piece) // size].copy_(piece.view(stored))
        self.used(tensor)
        return out

    def rows(self, tensor: Tensor, rows: Sequence[int]) -> UInt8[torch.Tensor, "R bytes"]:
        """The bytes of some rows of a tensor, in the order given; neighbours are read together."""
        width = (tensor.end - tensor.start) // tensor.shape[0]
        data = torch.empty(len(rows), width, dtype=torch.uint8)
        first = 0
        for last in range(1, len(rows) + 1):
            if last == len(rows) or rows[last] != rows[last - 1] + 1:
                self.into(data[first:last].view(-1), tensor.file, tensor.start + rows[first] * width)
                first = last
        return data


class ReadAhead:
    """Brings bytes into the system's cache before they are needed, in the order they were announced.

    The cache is left as it was found: what was brought in for this pass is given up once it is used. A target may be
    larger than memory, and the system fills pages it has just got back several times faster than others.
    """

    def __init__(self, descriptor: Callable[[str], int]) -> None:
        self._descriptor = descriptor
        self._waiting: deque[Tensor] = deque()
        self._announced: set[tuple[str, int]] = set()
        self._fetched: dict[tuple[str, int], int] = {}
        self._brought: set[tuple[str, int]] = set()
        self._lead = 0
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="eaglekit-read-ahead", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def close(self) -> None:
        """End the thread; waits for the piece it is reading."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def soon(self, tensors: Iterable[Tensor]) -> None:
        """These will be read, in this order, after everything announced before."""
        with self._changed:
            for tensor in tensors:
                if tensor.end - tensor.start >= SMALL_BYTES:
                    self._waiting.append(tensor)
                    self._announced.add((tensor.file, tensor.start))
            self._changed.notify()

    def used(self, tensor: Tensor) -> None:
        """This one has been read."""
        key = (tensor.file, tensor.start)
        with self._changed:
            self._announced.discard(key)
            self._lead -= self._fetched.pop(key, 0)
            ours = key in self._brought
            self._brought.discard(key)
            self._changed.notify()
        if ours:
            _give_up(self._descriptor(tensor.file), tensor)

    def forget(self) -> None:
        """Nothing that was announced will be read after all."""
        with self._changed:
            self._waiting.clear()
            self._announced.clear()
            self._fetched.clear()
            self._brought.clear()
            self._lead = 0
            self._changed.notify()

    def _next(self) -> Tensor | None:
        with self._changed:
            while not self._closed:
                if self._waiting and self._lead < LEAD_BYTES:
                    tensor = self._waiting.popleft()
                    if (tensor.file, tensor.start) in self._announced:
                        return tensor
                else:
                    self._changed.wait()
        return None

    def _work(self) -> None:
        scratch = bytearray(PIECE_BYTES)
        while (tensor := self._next()) is not None:
            try:
                self._fetch(tensor, scratch)
            except (OSError, Refusal):
                # Whoever needs these bytes meets the error too, and says where.
                return

    def _fetch(self, tensor: Tensor, scratch: bytearray) -> None:
        key, view = (tensor.file, tensor.start), memoryview(scratch)
        descriptor = self._descriptor(tensor.file)
        for start in range(tensor.start, tensor.end, PIECE_BYTES):
            if self._closed or key not in self._announced:
                return
            size = min(PIECE_BYTES, tensor.end - start)
            if not _cached(descriptor, start, size):
                self._brought.add(key)
                os.preadv(descriptor, [view[:size]], start)
        with self._changed:
            if key in self._announced:
                self._fetched[key] = tensor.end - tensor.start
                self._lead += self._fetched[key]


def _give_up(descriptor: int, tensor: Tensor) -> None:
    """Tell the system that these bytes need not stay in its cache; without such a call they age there."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, tensor.start, tensor.end - tensor.start, os.POSIX_FADV_DONTNEED)


def _cached(descriptor: int, start: int, size_bytes: int) -> bool:
    """Whether the ends of a piece are in the system's cache: then its middle is too, as good as always."""
    flag = getattr(os, "RWF_NOWAIT", None)
    if flag is None:
        return False
    byte = bytearray(1)
    try:
        return all(os.preadv(descriptor, [byte], at, flag) == 1 for at in (start, start + size_bytes - 1))
    except OSError:
        return False
