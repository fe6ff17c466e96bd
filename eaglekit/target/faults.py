"""What torch raises while a model runs, as what it means: memory that is not there, or a config that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eaglekit.report import Finding, Refusal

SAYS = ("out of memory", "can't allocate memory", "not enough memory")
"""Of CUDA (torch.OutOfMemoryError is a RuntimeError), and of the CPU's allocator on Linux and elsewhere."""


@contextmanager
def within_memory() -> Iterator[None]:
    """Inside, a `RuntimeError` about memory becomes a `MemoryError`."""
    try:
        yield
    except RuntimeError as error:
        if _about_memory(error):
            raise MemoryError(str(error).splitlines()[0]) from error
        raise


@contextmanager
def within_config(label: str) -> Iterator[None]:
    """Inside, the code of transformers runs on sizes that a config states: what it cannot do with them refuses."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError) as error:
        if _about_memory(error):
            raise
        raise Refusal(
            Finding(
                "target-config-refused",
                f"the config of target {label} makes blocks that cannot be computed ({type(error).__name__})",
                place=f"{label} config.json",
                got=" ".join(str(error).split())[:200],
                hint="compare it with the config of the original model",
            )
        ) from error


def _about_memory(error: Exception) -> bool:
    return any(words in str(error) for words in SAYS)
