"""Token sequences that a target is run over: a prompt and the response to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """One sequence of token ids: the prompt, then what the target answered."""

    identity: str
    """Unique in its file; what findings and the report call it."""
    category: str
    """The group its numbers are also counted in; empty when its file has none."""
    tokens: tuple[int, ...]
    """n ids of the target's vocabulary: prompt and response."""
    prompt_length: int
    """How many of `tokens` are the prompt, 1 <= prompt_length <= n. The first draft round starts behind token
    `prompt_length`, the one that the target itself made of the prompt; equal to n when there is no response."""
