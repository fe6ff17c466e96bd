"""SHA256SUMS: size and digest of every file, in a form that `sha256sum -c` checks too."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eaglekit.checkpoint.copying import Written

MANIFEST = "SHA256SUMS"
HEADER = "# eaglekit manifest 1: sha256 and name; the comment above each line is its size in bytes"
_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<name>[^\n]+)")
_SIZE = re.compile(r"# (?P<size>[0-9]+) bytes")


def manifest_text(files: Mapping[str, Written]) -> str:
    """The manifest of `files`, sorted by name. `sha256sum -c` skips the lines that start with `#`."""
    lines = [HEADER]
    for name, written in sorted(files.items()):
        lines += [f"# {written.size_bytes} bytes", f"{written.sha256}  {name}"]
    return "\n".join(lines) + "\n"


def parse_manifest(text: str) -> dict[str, Written]:
    """The files a manifest lists. Raises `ValueError` for a line out of place, and for a file that is listed twice."""
    files: dict[str, Written] = {}
    size: int | None = None
    for line in text.splitlines():
        if line == HEADER or not line:
            continue
        if (found := _SIZE.fullmatch(line)) and size is None:
            size = int(found["size"])
        elif (found := _LINE.fullmatch(line)) and size is not None:
            if found["name"] in files:
                raise ValueError(f"{found['name'][:80]!r} is listed twice")
            files[found["name"]] = Written(size, found["sha256"])
            size = None
        else:
            raise ValueError(f"{line[:80]!r} is no line of a manifest, or out of place")
    if size is not None:
        raise ValueError("it ends with a size that no file follows")
    return files
