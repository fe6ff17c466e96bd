"""The numbers of the GGUF container: types of metadata values and of tensors. ggml-org/ggml docs/gguf.md."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""Version 1 counts in 32 bits; nobody writes it any more."""
ALIGNMENT = 32
"""Tensors start at multiples of this, unless `general.alignment` says otherwise."""
ALIGNMENT_KEY = "general.alignment"
ARCHITECTURE_KEY = "general.architecture"
PARTS_KEY = "split.count"
AXES_LIMIT = 4
"""GGML_MAX_DIMS."""
NAME_LIMIT = 63
"""GGML_MAX_NAME, less the byte that ends it: longest name of a tensor, in bytes."""


class Kind(IntEnum):
    """The type of a metadata value."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


SCALARS: Mapping[Kind, str] = MappingProxyType({
    Kind.UINT8: "<B", Kind.INT8: "<b", Kind.UINT16: "<H", Kind.INT16: "<h", Kind.UINT32: "<I", Kind.INT32: "<i",
    Kind.FLOAT32: "<f", Kind.BOOL: "<B", Kind.UINT64: "<Q", Kind.INT64: "<q", Kind.FLOAT64: "<d",
})  # fmt: skip
"""Kind -> how `struct` reads one."""

DTYPES: Mapping[int, str] = MappingProxyType({
    0: "F32", 1: "F16", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 30: "BF16",
})  # fmt: skip
"""ggml type -> safetensors dtype, for the types that are plain numbers."""

TYPES: Mapping[str, int] = MappingProxyType({dtype: number for number, dtype in DTYPES.items()})
"""safetensors dtype -> ggml type."""

QUANTISED: Mapping[int, str] = MappingProxyType({
    2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K",
    14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
    22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4",
    41: "Q1_0", 42: "Q2_0",
})  # fmt: skip
"""ggml type -> its name, for the types that stand for other numbers than were trained."""
