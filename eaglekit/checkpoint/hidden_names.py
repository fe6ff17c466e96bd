"""What is in the making lies beside its destination: under hidden names that nobody else has, and locked."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
from pathlib import Path

LONGEST_BYTES = 255
"""Of a name, nearly everywhere (NAME_MAX)."""
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""What a network file system without flock(2) answers."""


def new_name(destination: Path) -> Path:
    """A path beside `destination` that no other run uses."""
    return destination.with_name(f"{_prefix(destination)}{os.urandom(4).hex()}")


def is_one(name: str, destination: Path) -> bool:
    """Whether `new_name` made this name for `destination`: others that begin like it are somebody's own."""
    return re.fullmatch(re.escape(_prefix(destination)) + "[0-9a-f]{8}", name) is not None


def lock(descriptor: int, *, just_made: bool) -> bool:
    """Whether this process has the lock. Where there are no locks it has that of what it has `just_made`, only."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return just_made
    return True


def _prefix(destination: Path) -> str:
    prefix = f".{destination.name}.eaglekit-"
    if len(os.fsencode(prefix)) + 8 <= LONGEST_BYTES:
        return prefix
    return f".{hashlib.sha256(os.fsencode(destination.name)).hexdigest()}.eaglekit-"
