"""Reports as files: whole under their names or not there, and never over something else."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path

from eaglekit.checkpoint.disk_errors import is_there, refuse_folder, writing_to
from eaglekit.checkpoint.staged_file import write_file


def refuse_taken(files: Iterable[Path | None]) -> None:
    """Raise `Refusal` for a name that is taken or a folder that is not there: before hours of work, not after."""
    wanted: set[Path] = set()
    for file in filter(None, files):
        with writing_to(str(file)):
            if is_there(file) or file.resolve() in wanted:
                raise FileExistsError(errno.EEXIST, "it exists" if is_there(file) else "it is asked for twice")
            refuse_folder(file.parent)
        wanted.add(file.resolve())


def write_new(file: Path, text: str) -> None:
    """Write a file that must not exist, under its name only when it is whole."""
    with writing_to(str(file)):
        write_file(file, text.encode())
