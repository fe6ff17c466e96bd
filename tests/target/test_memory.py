"""Memory that is done with goes back to the system during a pass."""

from __future__ import annotations

import re
from pathlib import Path

import torch

from eaglekit.target.memory import return_freed_memory

MEBIBYTE = 1 << 20


def own_bytes() -> int:
    """Resident memory of this process but for mapped files."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) << 10


def test_buffers_of_a_mebibyte_go_back_though_a_later_one_stays() -> None:
    return_freed_memory()
    before = own_bytes()
    buffers = [torch.ones(MEBIBYTE, dtype=torch.uint8) for _ in range(65)]
    filled = own_bytes()
    last = buffers.pop()
    buffers.clear()
    assert filled - before > 60 * MEBIBYTE
    assert own_bytes() - before < 8 * MEBIBYTE
    assert last.all()
