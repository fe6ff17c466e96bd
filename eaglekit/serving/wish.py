"""What the command line says about engines, found and looked at, but not yet started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from eaglekit.serving.endpoint import Server
from eaglekit.serving.environment import Environment


@dataclass(frozen=True, slots=True)
class Wish:
    """A real engine to hold the reference against: one that is started here, or a server that runs."""

    engine: Environment | Server
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    dtype: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """More of vLLM's own arguments."""

    @property
    def title(self) -> str:
        """What reports call the engine."""
        return self.engine.title
