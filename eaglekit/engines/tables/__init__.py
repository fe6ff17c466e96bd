"""Every engine, one table each: rows of what is known, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from eaglekit.engines.rules import Engine
from eaglekit.engines.tables.openvino import OPENVINO
from eaglekit.engines.tables.others import (
    ATOM,
    LLAMA_CPP,
    RTP_LLM,
    SGLANG_JAX,
    TOKENSPEED,
    TPU_INFERENCE,
    TRTLLM,
)
from eaglekit.engines.tables.readers import ANGELSLIM, SAFEAILAB, SPECULATORS
from eaglekit.engines.tables.sglang import SGLANG
from eaglekit.engines.tables.vllm import VLLM

_ALL = (
    VLLM,
    SGLANG,
    TRTLLM,
    TOKENSPEED,
    ATOM,
    LLAMA_CPP,
    OPENVINO,
    RTP_LLM,
    TPU_INFERENCE,
    SGLANG_JAX,
    SPECULATORS,
    SAFEAILAB,
    ANGELSLIM,
)

ENGINES: Mapping[str, Engine] = MappingProxyType({engine.name: engine for engine in _ALL})
"""Name, as after `--for`, -> engine."""
