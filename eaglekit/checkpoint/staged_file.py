"""`staged_file`: a file that appears whole under its name, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from eaglekit.checkpoint.hidden_names import is_one, lock, new_name
from eaglekit.checkpoint.renaming import rename_to_new


@contextmanager
def staged_file(path: Path, *, replacing: bool = False) -> Iterator[int]:
    """A descriptor of a hidden new file beside `path`; leaving without an error syncs it and gives it the name.

    Any other end removes it; what a killed run left behind is removed by the next run to the same name. A file that is
    there is replaced only with `replacing`. Raises OSError as the system says it.
    """
    remove_left_files(path)
    staged, descriptor = _begun(path)
    try:
        yield descriptor
        os.fsync(descriptor)
        if replacing:
            staged.replace(path)
        else:
            rename_to_new(staged, path)
    except BaseException:
        # What went wrong before is what is to be told.
        with suppress(OSError):
            staged.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes, *, replacing: bool = False, mode: int | None = None) -> None:
    """Write one small file, whole under its name or not at all, with `mode` where one is to be kept. Raises OSError."""
    with staged_file(path, replacing=replacing) as descriptor, open(descriptor, "wb", closefd=False) as stream:
        stream.write(data)
        stream.flush()
        if mode is not None:
            os.fchmod(descriptor, mode)


def remove_left_files(path: Path) -> None:
    """Remove what killed runs to `path` left beside it; files of running ones are locked and stay."""
    for file in path.parent.iterdir():
        if not is_one(file.name, path) or not file.is_file() or file.is_symlink():
            continue
        with suppress(OSError):
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if _locked(descriptor, file, just_made=False):
                    file.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _begun(path: Path) -> tuple[Path, int]:
    """A hidden new file that nobody takes for a left one, and its descriptor."""
    while True:
        staged = new_name(path)
        descriptor = os.open(staged, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        if _locked(descriptor, staged, just_made=True):
            return staged, descriptor
        os.close(descriptor)


def _locked(descriptor: int, file: Path, *, just_made: bool) -> bool:
    """Whether this process has the lock of a file that still has its name."""
    try:
        return lock(descriptor, just_made=just_made) and os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
