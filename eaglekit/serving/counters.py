"""What vLLM counts about its drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counters:
    """vLLM's counters of speculative decoding over some time."""

    drafts: int
    """Rounds whose drafts were verified."""
    draft_tokens: int
    accepted: int
    accepted_per_position: tuple[int, ...]
    """Per draft position, the rounds in which it was accepted."""

    @classmethod
    def of(cls, values: Mapping[str, Sequence[int]]) -> Counters:
        """From vLLM's own names without their prefix. Raises `KeyError` for one that is not there."""
        return cls(
            values["num_drafts"][0],
            values["num_draft_tokens"][0],
            values["num_accepted_tokens"][0],
            tuple(values["num_accepted_tokens_per_pos"]),
        )

    def __sub__(self, earlier: Counters) -> Counters:
        return Counters(
            self.drafts - earlier.drafts,
            self.draft_tokens - earlier.draft_tokens,
            self.accepted - earlier.accepted,
            tuple(
                now - then for now, then in zip(self.accepted_per_position, earlier.accepted_per_position, strict=True)
            ),
        )

    @property
    def acceptance_length(self) -> float | None:
        """Mean tokens per target step, bonus included, as vLLM's own log has it; None without a round."""
        return 1 + self.accepted / self.drafts if self.drafts else None
