"""What the system says when reading or writing fails, as findings."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from eaglekit.report import Finding, Refusal

CODES: Mapping[int, str] = {
    errno.ENOSPC: "disk-full",
    errno.EDQUOT: "disk-full",
    errno.EFBIG: "disk-full",
    errno.EROFS: "destination-read-only",
    errno.EACCES: "destination-denied",
    errno.EPERM: "destination-denied",
    errno.EEXIST: "destination-exists",
    errno.ENOTEMPTY: "destination-exists",
    errno.ENOTDIR: "destination-parent",
    errno.ENOENT: "destination-parent",
    errno.ELOOP: "destination-parent",
}
HINTS: Mapping[str, str] = {
    "disk-full": "free space there, or write to another disk; nothing of this run was left behind",
    "destination-read-only": "write to a disk that is not mounted read-only",
    "destination-denied": "choose a folder you may write to, or change its permissions",
    "destination-exists": "choose a new name, or remove what is there: eaglekit never writes over anything",
    "destination-parent": "make the folder above the destination first (`mkdir -p`)",
    "write-failed": "look at the system's log: the disk or its connection may be failing",
}
NOT_READ: Mapping[int, str] = {
    errno.ENOENT: "check the path: nothing of that name is there",
    errno.ENOTDIR: "check the path: a file stands where it has a folder",
    errno.EISDIR: "give a file in that folder",
}


def disk_finding(error: OSError, place: str) -> Finding:
    """The finding for an error met while writing `place`."""
    code = CODES.get(error.errno or 0, "write-failed")
    return Finding(
        code,
        f"{place} cannot be written: {error.strerror or error}",
        place=place,
        got=errno.errorcode.get(error.errno or 0, type(error).__name__),
        hint="choose a shorter name: disks take 255 bytes" if error.errno == errno.ENAMETOOLONG else HINTS[code],
    )


def unreadable(file: str, error: OSError) -> Finding:
    """The finding for an error met while opening or reading `file`."""
    return Finding(
        "file-unreadable",
        f"{file} cannot be read: {error.strerror or error}",
        place=file,
        got=errno.errorcode.get(error.errno or 0, type(error).__name__),
        hint=NOT_READ.get(
            error.errno or 0, "check the permissions of the folder and of the file, and the disk it lies on"
        ),
    )


def is_there(file: Path) -> bool:
    """Whether the name is taken. Raises what the system says of a name that cannot be."""
    try:
        file.lstat()
    except FileNotFoundError:
        return False
    return True


def refuse_folder(folder: Path) -> None:
    """Raise the `OSError` that a new file in `folder` would end in, as far as that can be known beforehand."""
    if not folder.is_dir():
        folder.stat()
        raise NotADirectoryError(errno.ENOTDIR, f"{folder.name} is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        # Whether the disk or the permissions forbid it is for the system to say.
        read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
        number = errno.EROFS if read_only else errno.EACCES
        raise OSError(number, os.strerror(number))


@contextmanager
def writing_to(place: str) -> Iterator[None]:
    """Inside, an `OSError` is met while writing `place` and becomes a `Refusal`."""
    try:
        yield
    except OSError as error:
        raise Refusal(disk_finding(error, place)) from error
