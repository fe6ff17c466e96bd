"""`Job`: what an engine is asked to do, as the JSON that its process reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

BEST = 16
"""Best logits of each draft that are kept: the other candidate of a draft that differs is hardly ever further down."""
OURS = frozenset({
    "model", "speculative_config", "max_num_seqs", "tensor_parallel_size", "pipeline_parallel_size",
    "distributed_executor_backend", "skip_tokenizer_init", "disable_log_stats",
})  # fmt: skip
"""Arguments of vLLM that the job itself states: what is measured would not be this drafter, or could not be seen."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request."""

    identity: str
    tokens: tuple[int, ...]
    max_tokens: int
    """Most tokens of the answer; it ends earlier with one of the stop tokens."""


@dataclass(frozen=True, slots=True)
class Job:
    """One drafter and its target in one engine, and the requests to send through it."""

    target: str
    """A folder."""
    drafter: str
    """A folder, as it was given: what the engine makes of its name is part of the test."""
    speculative_config: Mapping[str, Any]
    """What the recipe tells vLLM about the drafter, but its path."""
    prompts: tuple[Prompt, ...]
    stop_token_ids: tuple[int, ...]
    max_model_len: int
    dtype: str | None = None
    """None: float32 on a CPU, the engine's own choice on a GPU."""
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    plain_rotation_on_cpu: bool = False
    """Whether rotation runs in plain torch on a CPU: for targets or drafters with MLA, see `served-plain-rotation`."""
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """More of vLLM's own arguments; they win over what is chosen here, and none is one of `OURS`."""

    def __post_init__(self) -> None:
        if taken := OURS & set(self.arguments):
            raise ValueError(f"{', '.join(sorted(taken))} cannot be given: the job states it")

    def as_json(self) -> dict[str, Any]:
        """The document that the engine's process reads."""
        return {
            "target": self.target,
            "drafter": self.drafter,
            "speculative_config": dict(self.speculative_config),
            "prompts": [
                {"identity": one.identity, "tokens": list(one.tokens), "max_tokens": one.max_tokens}
                for one in self.prompts
            ],
            "stop_token_ids": list(self.stop_token_ids),
            "max_model_len": self.max_model_len,
            "dtype": self.dtype,
            "tensor_parallel_size": self.tensor_parallel_size,
            "pipeline_parallel_size": self.pipeline_parallel_size,
            "plain_rotation_on_cpu": self.plain_rotation_on_cpu,
            "arguments": dict(self.arguments),
            "best": BEST,
        }
