"""How long work is shown: by whoever has a terminal, told by whoever does the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Bar = Callable[[str, int, str], AbstractContextManager[Callable[[int], None]]]
"""Title, total and unit of long work -> a context whose value is told how much was done."""


@contextmanager
def silent(title: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A `Bar` that shows nothing."""
    yield lambda done: None
