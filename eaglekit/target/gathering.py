"""One finding for what is wrong in the same way in many blocks and experts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from eaglekit.report import Finding

NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
"""The number of a block or an expert in the name of a tensor."""


def gathered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; of those that differ in block and expert only, the first, which says how many are like it."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.code, NUMBER.sub("*", finding.place)), []).append(finding)
    return [_first(group) for group in alike.values()]


def _first(group: list[Finding]) -> Finding:
    first, last = group[0], group[-1]
    if first is last:
        return first
    return replace(first, message=f"{first.message}; {len(group) - 1} more are like it, up to {last.place}")
