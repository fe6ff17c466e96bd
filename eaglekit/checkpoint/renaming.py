"""Renaming that never replaces anything."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

AT_FDCWD = -100
RENAME_NOREPLACE = 1
NOT_HERE = frozenset({errno.ENOSYS, errno.EINVAL})
"""What an old kernel or a file system without the flag answers."""


def rename_to_new(old: Path, new: Path) -> None:
    """Rename `old` to `new`, atomically. Raises FileExistsError when `new` exists, and leaves both as they are."""
    number = _renameat2(os.fsencode(old), os.fsencode(new))
    if number == 0:
        return
    if number not in NOT_HERE:
        raise OSError(number, os.strerror(number), str(old), None, str(new))
    # Without the flag there is a moment between looking and renaming; a non-empty folder still stops rename(2).
    if os.path.lexists(new):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
    old.rename(new)


def _renameat2(old: bytes, new: bytes) -> int:
    """0, or the error number; ENOSYS where the C library has no renameat2 (glibc before 2.28, macOS)."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return errno.ENOSYS
    if call(AT_FDCWD, old, AT_FDCWD, new, RENAME_NOREPLACE) == 0:
        return 0
    return ctypes.get_errno()
