"""Sizes as people write them."""

from __future__ import annotations

import re

from eaglekit.report import Finding, Refusal

UNITS = {
    "": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KB": 10**3, "MB": 10**6, "GB": 10**9,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30,
}  # fmt: skip


def size_of(text: str) -> int | None:
    """Bytes of `500MB`, `2GiB`, `8G` or `1000000`; None for anything else, and for nothing."""
    found = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2].upper() not in UNITS:
        return None
    return int(float(found[1]) * UNITS[found[2].upper()]) or None


def parse_size(text: str) -> int:
    """Bytes of `500MB`, `2GiB` or `1000000`. Raises `Refusal`."""
    size_bytes = size_of(text)
    if size_bytes is not None:
        return size_bytes
    raise Refusal(
        Finding(
            "shard-size",
            f"--max-shard-size cannot be {text!r}",
            place="--max-shard-size",
            got=text,
            expected="a positive size such as 500MB, 2GB or 1GiB",
            hint="leave it out to write one file",
        )
    )
