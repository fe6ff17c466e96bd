"""The system calls of Linux on x86-64 that change a file system, by number (`syscalls(2)`)."""

from __future__ import annotations

from collections.abc import Mapping

O_WRONLY, O_RDWR, O_CREAT, O_TRUNC = 0o1, 0o2, 0o100, 0o1000

GROW: Mapping[int, str] = {
    1: "write", 18: "pwrite64", 20: "writev", 40: "sendfile", 77: "ftruncate", 285: "fallocate", 296: "pwritev",
    326: "copy_file_range",
}  # fmt: skip
"""Need room for what they put into a file."""
SYNC: Mapping[int, str] = {74: "fsync", 75: "fdatasync"}
NAME: Mapping[int, str] = {
    82: "rename", 83: "mkdir", 86: "link", 88: "symlink", 90: "chmod", 91: "fchmod", 258: "mkdirat", 264: "renameat",
    265: "linkat", 266: "symlinkat", 268: "fchmodat", 316: "renameat2",
}  # fmt: skip
"""Change what a folder holds, or who may."""
REMOVE: Mapping[int, str] = {84: "rmdir", 87: "unlink", 263: "unlinkat"}
"""Need no room."""
OPEN: Mapping[int, int] = {2: 1, 257: 2}
"""open and openat: which argument holds the flags."""
CLONE = 16
"""ioctl; FICLONE is its request 0x40049409."""
FICLONE = 0x40049409
SEND: Mapping[int, str] = {44: "sendto", 46: "sendmsg"}
"""Tell a server something."""
FILES: Mapping[int, int] = dict.fromkeys((*GROW, *SYNC, *SEND, 91, CLONE), 0) | {326: 2}
"""Which argument is the descriptor of what is written to; copy_file_range names it third."""
PATHS: Mapping[int, tuple[int | None, int]] = {
    2: (None, 0), 257: (0, 1), 82: (None, 1), 83: (None, 0), 84: (None, 0), 86: (None, 1), 87: (None, 0),
    88: (None, 1), 90: (None, 0), 258: (0, 1), 263: (0, 1), 264: (2, 3), 265: (2, 3), 266: (1, 2), 268: (0, 1),
    316: (2, 3),
}  # fmt: skip
"""Which arguments are the folder's descriptor and the path; of two paths the one that comes to be."""


def name_of(number: int, arguments: tuple[int, ...]) -> str | None:
    """What a call is, when it can change a file system or tells a server something; None for any other."""
    if number in OPEN:
        flags = arguments[OPEN[number]]
        return "open to write" if flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) else None
    if number == CLONE:
        return "clone" if arguments[1] & 0xFFFFFFFF == FICLONE else None
    return next((kind[number] for kind in (GROW, SYNC, NAME, REMOVE, SEND) if number in kind), None)


def needs_room(number: int) -> bool:
    """Whether a full disk refuses it."""
    return number in GROW or number in OPEN or number in {CLONE, 83, 258, 86, 265, 88, 266}


def needs_rights(number: int) -> bool:
    """Whether it is refused to somebody who may not write in a folder any more."""
    return number in OPEN or number in NAME or number in REMOVE
