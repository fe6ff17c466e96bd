"""What torch says when memory runs out, as Python's own error: told as a finding, not as a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

SAYS = ("out of memory", "can't allocate memory", "not enough memory")
"""Of CUDA (torch.OutOfMemoryError is a RuntimeError), and of the CPU's allocator on Linux and elsewhere."""


@contextmanager
def within_memory() -> Iterator[None]:
    """Inside, a `RuntimeError` about memory becomes a `MemoryError`."""
    try:
        yield
    except RuntimeError as error:
        if any(words in str(error) for words in SAYS):
            raise MemoryError(str(error).splitlines()[0]) from error
        raise
