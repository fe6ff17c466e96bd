"""What a test makes the server do wrong, and when. A plan is used up: after its faults the server is sound again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class Fault:
    """One kind of wrong, done to the matching requests number `after + 1` to `after + times`."""

    path: str
    """Regular expression searched for in the request path; `/cdn/` matches the second origin."""
    method: str = "GET"
    after: int = 0
    times: int = 1_000_000
    status: int | None = None
    """Answer this status and no content."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent along, or instead of the header of that name."""
    body: bytes | None = None
    """Answer this content; goes with `status`."""
    ignore_range: bool = False
    """Answer 200 and send the whole file."""
    shift_range_bytes: int = 0
    """Answer another range than the one asked for, and say so."""
    cut_after_bytes: int | None = None
    """Close the connection after so many bytes of content."""
    stall_s: float = 0.0
    """Wait before answering."""
    seen: int = 0


class FaultPlan:
    """The faults of one server, counted across its threads."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = Lock()

    def add(self, fault: Fault) -> None:
        """Put `fault` at the end of the plan."""
        self._faults.append(fault)

    def clear(self) -> None:
        """Forget the plan."""
        self._faults.clear()

    def next_for(self, method: str, path: str) -> Fault | None:
        """The fault this request meets, if any; the first of the plan wins."""
        with self._lock:
            for fault in self._faults:
                if fault.method == method and re.search(fault.path, path):
                    fault.seen += 1
                    if fault.after < fault.seen <= fault.after + fault.times:
                        return fault
        return None
