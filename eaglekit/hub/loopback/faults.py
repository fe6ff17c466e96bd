"""What a test makes the server do wrong, and when. A plan is used up: after its faults the server is sound again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any


@dataclass(slots=True)
class Fault:
    """One kind of wrong, done to the matching requests number `after + 1` to `after + times`."""

    path: str
    """Regular expression searched for in the request path; `/cdn/` matches the second origin."""
    method: str = "GET"
    """`*` for any."""
    after: int = 0
    times: int = 1_000_000
    call: Callable[[], object] | None = None
    """Called before the request is handled: what happens between two requests of a client, a rival's commit say."""
    status: int | None = None
    """Answer this status and no content."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent along, or instead of the header of that name."""
    body: bytes | None = None
    """Answer this content; goes with `status`."""
    cut: bool = False
    """Close the connection instead of answering."""
    after_the_fact: bool = False
    """Do what was asked for first, and only then what `status` or `cut` says: the client cannot know."""
    alter: Callable[[Any], Any] | None = None
    """Answer what this makes of the JSON that would have been the answer."""
    cut_after_received_bytes: int | None = None
    """Close the connection after so many bytes of the request's body."""
    ignore_range: bool = False
    """Answer 200 and send the whole file."""
    shift_range_bytes: int = 0
    """Answer another range than the one asked for, and say so."""
    cut_after_bytes: int | None = None
    """Close the connection after so many bytes of content."""
    stall_s: float = 0.0
    """Wait before answering."""
    seen: int = 0

    @property
    def replaces_answer(self) -> bool:
        """Whether the client gets another answer than the one it should."""
        return self.cut or self.status is not None


def another_digest(path: str) -> Callable[[Any], Any]:
    """An `alter` for a listing: `path` gets digests that are not its own."""

    def altered(items: Any) -> Any:
        return [
            {**item, "oid": "0" * 40, **({"lfs": {**item["lfs"], "oid": "0" * 64}} if "lfs" in item else {})}
            if item["path"] == path
            else item
            for item in items
        ]

    return altered


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
                if fault.method in {method, "*"} and re.search(fault.path, path):
                    fault.seen += 1
                    if fault.after < fault.seen <= fault.after + fault.times:
                        return fault
        return None
