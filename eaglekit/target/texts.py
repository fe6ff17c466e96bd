"""Token sequences that a target is run over: a prompt and the response to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any


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


def agreed(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many items two sequences begin with alike: the index at which they part, at most the shorter length."""
    pairs = zip(one, other, strict=False)  # what only the longer one has, agrees with nothing
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
