"""The dialects, each a file of rows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.tables import engines, llama_cpp, nvidia, originals, speculators, torchspec, trainers

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        dialect.name: dialect
        for dialect in (
            engines.PORTABLE,
            engines.VLLM,
            engines.SGLANG,
            engines.TRTLLM,
            engines.TOKENSPEED,
            speculators.SPECULATORS,
            torchspec.TORCHSPEC,
            torchspec.TORCHSPEC_VLLM,
            originals.SPECFORGE,
            originals.SPECFORGE_PEAGLE,
            originals.SAFEAILAB,
            trainers.ANGELSLIM,
            trainers.NEMO,
            nvidia.MODELOPT,
            nvidia.MODELOPT_MEGATRON,
            llama_cpp.GGUF,
        )
    }
)
"""Dialect name -> dialect, in the order they are listed for people."""
