"""`StagedFolder`: a folder that appears whole under its name, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType, MappingProxyType, TracebackType

from eaglekit.checkpoint.copying import NOT_HERE, HashingWriter, Written
from eaglekit.checkpoint.disk_errors import HINTS, writing_to
from eaglekit.checkpoint.file_names import unsafe_reason
from eaglekit.checkpoint.hidden_names import is_one, lock, new_name
from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header
from eaglekit.checkpoint.renaming import rename_to_new
from eaglekit.report import Finding, Refusal

__all__ = ["Entry", "StagedFolder", "file_order", "safetensors_header"]

LOCK, CONTENT = "lock", "content"
STOPPING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a process without unwinding it; SIGINT unwinds by itself."""


class StagedFolder:
    """A new folder in the making, hidden beside `destination` until `commit`; use as a context manager.

    Leaving without `commit`, by an error or by SIGINT, SIGTERM or SIGHUP, removes everything that was written. What a
    killed run left behind is removed by the next run to the same destination. With `durable=False` nothing is synced,
    with `hashing=False` files get no digest.
    """

    def __init__(self, destination: Path, *, durable: bool = True, hashing: bool = True) -> None:
        self.destination = destination
        self.durable, self.hashing = durable, hashing
        self._final = Path(os.path.abspath(destination))  # noqa: PTH100 - resolve() would follow a link at the end
        self._written: dict[str, Written] = {}
        self._hashed: dict[str, HashingWriter] = {}
        self._cleanup = ExitStack()
        self._staging: Path | None = None
        self._committed = False

    @property
    def written(self) -> Mapping[str, Written]:
        """Finished files: name -> size and SHA-256. Waits for the digests that are still being made."""
        for name, writer in list(self._hashed.items()):
            self._written[name] = writer.finish()
            del self._hashed[name]
        return MappingProxyType(self._written)

    def __enter__(self) -> StagedFolder:
        with ExitStack() as cleanup, writing_to(str(self.destination)):
            cleanup.enter_context(_stopping_unwinds())
            remove_leftovers(self._final)
            self._refuse_existing()
            self._staging = _stage(self._final, cleanup)
            (self._staging / CONTENT).mkdir()
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def write_bytes(self, name: str, data: bytes) -> Written:
        """Write one small file."""
        with self.open_file(name) as writer:
            writer.write(data)
        return writer.finish()

    @contextmanager
    def open_file(self, name: str, size_bytes: int = 0) -> Iterator[HashingWriter]:
        """A writer of the new file `name` (POSIX, relative); its digest will be in `written`.

        `size_bytes`, where it is known, is set aside before anything is written: the file must become that long.
        Leaving the context flushes the file; its hash may go on beside whatever comes next.
        """
        reason = unsafe_reason(name)
        if reason or name in self._written or name in self._hashed:
            raise ValueError(f"{name!r} {reason or 'was written before'}")
        path = self._content() / name
        place = str(self.destination / name)
        with writing_to(place):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._cleanup.callback(os.close, descriptor)
        with writing_to(place):
            reserve(path, size_bytes)
        writer = self._cleanup.enter_context(HashingWriter(descriptor, place, hashing=self.hashing))
        yield writer
        if self.durable:
            writer.sync()
        self._hashed[name] = writer

    def commit(self) -> Path:
        """Give the folder its name, atomically; the destination. Raises `Refusal` when the name is taken by now."""
        content = self._content()
        self._refuse_lost(content)
        with writing_to(str(self.destination)):
            if self.durable:
                _sync_tree(content)
            rename_to_new(content, self._final)
            self._committed = True
            if self.durable:
                _sync(self._final.parent)
        return self.destination

    def _refuse_lost(self, content: Path) -> None:
        """Every file must still lie where it was written, whole: somebody may have cleaned up in between."""
        for name, written in self.written.items():
            file = content / name
            if not file.is_file() or file.stat().st_size != written.size_bytes:
                raise Refusal(
                    Finding(
                        "write-failed",
                        f"{name} was written and is not there any more",
                        place=str(self.destination / name),
                        got="absent or of another size",
                        expected=f"{written.size_bytes} bytes",
                        hint="make sure that nothing cleans up beside the destination, then run the command again",
                    )
                )

    def _content(self) -> Path:
        if self._staging is None or self._committed:
            raise RuntimeError("a staged folder is written between entering it and committing it")
        return self._staging / CONTENT

    def _refuse_existing(self) -> None:
        if os.path.lexists(self._final):
            raise Refusal(
                Finding(
                    "destination-exists",
                    f"{self.destination} exists",
                    place=str(self.destination),
                    hint=HINTS["destination-exists"],
                )
            )


def reserve(file: Path, size_bytes: int) -> None:
    """Make an empty file `size_bytes` long, its place on the disk settled, where the file system does that at once.

    Copying into it is a quarter faster, and a disk without room says so now. Elsewhere the file stays as it is.
    """
    if not size_bytes or not hasattr(os, "posix_fallocate"):
        return
    # Appending is asked for because glibc then answers EBADF instead of writing into every block of the file itself.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.posix_fallocate(descriptor, 0, size_bytes)
    except OSError as error:
        if error.errno not in NOT_HERE:
            raise
    finally:
        os.close(descriptor)


def remove_leftovers(destination: Path) -> None:
    """Remove what killed runs to `destination` left beside it; folders of running ones are locked and stay."""
    for folder in destination.parent.iterdir():
        if is_one(folder.name, destination) and folder.is_dir() and not folder.is_symlink():
            descriptor = _lock(folder, just_made=False)
            if descriptor is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(descriptor)


def _stage(destination: Path, cleanup: ExitStack) -> Path:
    """A locked, private folder beside `destination`; `cleanup` removes it and gives the lock back."""
    while True:
        folder = new_name(destination)
        folder.mkdir(mode=0o700)
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        descriptor = _lock(folder, just_made=True)
        if descriptor is not None:
            cleanup.callback(os.close, descriptor)
            return folder


def _lock(folder: Path, *, just_made: bool) -> int | None:
    """A descriptor that holds the lock of `folder`, or None when another process has it or has just removed it."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    with suppress(FileNotFoundError):
        if lock(descriptor, just_made=just_made) and os.path.samestat(os.fstat(descriptor), (folder / LOCK).stat()):
            return descriptor
    os.close(descriptor)
    return None


@contextmanager
def _stopping_unwinds() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP raise SystemExit, so that cleaning up happens; foreign handlers are left alone."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in STOPPING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _sync_tree(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
