"""A file for vLLM behind every row of its table: what is stored, what it stands for, and what comes of it."""

from __future__ import annotations

from tests.live.cases import classes, layers, sizes, speculators, switches, tensors

CASES = {case.name: case for room in (classes, speculators, tensors, switches, layers, sizes) for case in room.CASES}
"""Name -> case."""
