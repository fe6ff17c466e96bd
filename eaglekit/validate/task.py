"""What is to be validated, on what, and how: everything the command line says, opened but not yet judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.given import Given
from eaglekit.dialects.target import Target
from eaglekit.report.progress import Bar, silent
from eaglekit.serving.wish import Wish

PROBE_SEED = 20_260_102
"""Of the made-up states and tokens: the same every time."""


@dataclass(frozen=True)
class Task:
    """One validation."""

    drafter: Checkpoint
    given: Given
    target: Target | None = None
    """Its embedding and head for a drafter that shares them; with `prompts` also what is run over them."""
    prompts: Path | None = None
    capture: Path | None = None
    """A file that `eaglekit capture` wrote, in place of target and prompts."""
    baseline: Checkpoint | None = None
    draft_tokens: int = 3
    depth: int = 8
    temperature: float = 1.0
    min_acceptance_length: float | None = None
    generate: int | None = None
    """Tokens that the target answers to each prompt; None takes the responses in the file."""
    limit: int | None = None
    """At most this many texts."""
    probe_layers: bool = False
    keep_embedding: bool = False
    device: str = "cpu"
    dtype: str | None = None
    """None: what suits the device."""
    activations: str = "w4a16"
    memory_limit_bytes: int | None = None
    engine: Wish | None = None
    """A real engine to hold the reference against."""
    bar: Bar = silent

    @property
    def has_texts(self) -> bool:
        """Whether there is something to measure behaviour on."""
        return self.prompts is not None or self.capture is not None
