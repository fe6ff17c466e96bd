"""File names that somebody else chose, judged as text: what may be looked up in a folder, and written into one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

PART_BYTES = 255
"""Longest name of one file or folder on Linux, macOS and Windows."""
DEVICE = re.compile(r"(?i:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\..*)?")
"""Devices, to Windows, whatever follows the dot."""
NO_CHARACTER_OF_A_NAME = re.compile('[\x00-\x1f\x7f<>:"|?*]')
"""Windows refuses them, and writes what follows a colon into a hidden stream of the file before it."""

Rule = Callable[[str, tuple[str, ...]], object]


def _is_no_text(name: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in name)


RULES: tuple[tuple[Rule, str], ...] = (
    (lambda name, parts: not name or "\0" in name, "is no file name"),
    (lambda name, parts: _is_no_text(name), "is no text"),
    (lambda name, parts: "\\" in name, "contains a backslash"),
    (lambda name, parts: name.startswith("/") or re.match("[A-Za-z]:", name), "is absolute"),
    (lambda name, parts: ".." in parts, "climbs out of the folder"),
    (lambda name, parts: PurePosixPath(name).as_posix() != name, "is not written plainly"),
    (lambda name, parts: NO_CHARACTER_OF_A_NAME.search(name), "contains a character that Windows keeps for itself"),
    (lambda name, parts: any(part[-1:] in {".", " "} for part in parts), "ends in a dot or space, which Windows drops"),
    (lambda name, parts: any(map(DEVICE.fullmatch, parts)), "is a device on Windows"),
    (lambda name, parts: any(len(part.encode()) > PART_BYTES for part in parts), "is longer than any disk can hold"),
)  # fmt: skip
"""What is wrong with a name (given with its parts, between the slashes) -> how to say it; the first match counts."""


def unsafe_reason(name: str) -> str | None:
    """Why `name` (POSIX, relative) must not be looked up or written inside a folder, or None. Nothing is opened.

    The rules are those of Linux, macOS and Windows at once: a folder is carried from one to the other.
    """
    parts = tuple(name.split("/"))
    return next((reason for is_wrong, reason in RULES if is_wrong(name, parts)), None)


def one_on_some_disk(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of names that are one file, or a file and a folder, where case or the spelling of accents is ignored."""
    files: dict[str, str] = {}
    names = list(names)
    for name in names:
        other = files.setdefault(_folded(name), name)
        if other != name:
            yield other, name
    for name in names:
        for folder in PurePosixPath(name).parents:
            if (other := files.get(_folded(str(folder)))) is not None:
                yield other, name


def _folded(name: str) -> str:
    """The same text for names that macOS (case, accents) or Windows (case) take for one."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
