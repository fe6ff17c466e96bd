"""Reports as files: whole under their names or not there, and never over something else."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from eaglekit.checkpoint.disk_errors import refuse_folder, writing_to


def refuse_taken(files: Iterable[Path | None]) -> None:
    """Raise `Refusal` for a name that is taken or a folder that is not there: before hours of work, not after."""
    wanted: set[Path] = set()
    for file in filter(None, files):
        with writing_to(str(file)):
            if _is_there(file) or file.resolve() in wanted:
                raise FileExistsError(errno.EEXIST, "it exists" if _is_there(file) else "it is asked for twice")
            refuse_folder(file.parent)
        wanted.add(file.resolve())


def _is_there(file: Path) -> bool:
    """Whether the name is taken. Raises what the system says of a name that cannot be."""
    try:
        file.lstat()
    except FileNotFoundError:
        return False
    return True


def write_new(file: Path, text: str) -> None:
    """Write a file that must not exist, under its name only when it is whole."""
    staged = file.with_name(f".{file.name}.{os.getpid()}")
    with writing_to(str(file)):
        try:
            with staged.open("x", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            os.link(staged, file)  # unlike a rename, a link never replaces
        finally:
            staged.unlink(missing_ok=True)
