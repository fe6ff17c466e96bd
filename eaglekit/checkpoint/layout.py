"""How a safetensors file is laid out: the order of its tensors and the bytes of its header."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from eaglekit.checkpoint.copying import BLOCK_BYTES
from eaglekit.checkpoint.header import HEADER_LIMIT, LENGTH_BYTES
from eaglekit.checkpoint.model import ITEM_BITS
from eaglekit.report import Finding, Refusal

RANK: Mapping[str, int] = {dtype: rank for rank, dtype in enumerate(ITEM_BITS)}
"""Position of a dtype in the library's enum; wide dtypes come last there and first in a file, which aligns them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor to be written: its bytes come from elsewhere."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of the tensor."""
        return prod(self.shape) * ITEM_BITS[self.dtype] // 8


def file_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """`entries` in the order in which their bytes follow the header: as the safetensors library orders them."""
    return tuple(sorted(entries, key=lambda entry: (-RANK[entry.dtype], entry.name)))


def safetensors_header(
    entries: Iterable[Entry], metadata: Mapping[str, str] | None = None, *, data_at: int | None = None
) -> bytes:
    """Length field and header for `entries`, byte for byte as the safetensors library (0.8) writes them.

    The data follows in `file_order`; metadata keys are sorted, where the library's order changes from run to run.
    With `data_at` more of the blanks that may end every header are added, so that the data starts at that offset within
    a block of `BLOCK_BYTES`. Raises `Refusal` above 100 MB, which no reader would accept.
    """
    document: dict[str, Any] = {}
    if metadata is not None:
        document["__metadata__"] = dict(sorted(metadata.items()))
    start = 0
    for entry in file_order(entries):
        end = start + entry.size_bytes
        document[entry.name] = {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)
    if data_at is not None and data_at % LENGTH_BYTES == 0:
        text += b" " * ((data_at - LENGTH_BYTES - len(text)) % BLOCK_BYTES)
    if len(text) > HEADER_LIMIT:
        raise Refusal(
            Finding(
                "header-too-large",
                f"the header of {len(document)} tensors would have {len(text)} bytes",
                got=f"{len(text)} bytes",
                expected=f"at most {HEADER_LIMIT} bytes",
                hint="write the tensors as several shards",
            )
        )
    return len(text).to_bytes(LENGTH_BYTES, "little") + text
