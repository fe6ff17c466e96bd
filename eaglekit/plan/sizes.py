"""Sizes as people write them."""

from __future__ import annotations

import re

from eaglekit.report import Finding, Refusal

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_size(text: str) -> int:
    """Bytes of `500MB`, `2GiB` or `1000000`. Raises `Refusal`."""
    found = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)\s*", text)
    if found and found[2].upper() in UNITS:
        size_bytes = int(float(found[1]) * UNITS[found[2].upper()])
        if size_bytes > 0:
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
