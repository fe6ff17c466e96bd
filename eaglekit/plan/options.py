"""What a conversion is asked for, apart from where it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eaglekit.engines.model import Request

DTYPES = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
"""`--dtype` -> safetensors dtype."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The wishes of `eaglekit convert`."""

    to: str = "portable"
    requests: tuple[Request, ...] = ()
    """`--for`: engines that must read the result with its meaning."""
    allow_degraded: bool = False
    dtype: str | None = None
    """safetensors dtype for every floating tensor; None keeps each as stored."""
    force_overflow: bool = False
    sort_vocabulary: bool = False
    embedding: str = "auto"
    """`auto`, `keep`, `drop` or `copy`."""
    head: str = "auto"
    """`auto`, `copy`, or `embedding` to use an untied target's embedding as the head."""
    max_shard_bytes: int | None = None
