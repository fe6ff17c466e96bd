"""The bytes of a planned tensor, in pieces: from the source, the target or the map, through its steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from eaglekit.checkpoint import Source, Tensor
from eaglekit.checkpoint.gathering import gather
from eaglekit.checkpoint.head_rows import paired
from eaglekit.checkpoint.model import ITEM_BITS
from eaglekit.checkpoint.numbers import cast_chunks
from eaglekit.drafter.vocabulary import int64_bytes, mask_from_target_ids, offsets_from_target_ids
from eaglekit.plan.model import Plan, TensorStep

PIECE_BYTES = 4 << 20


@dataclass
class Content:
    """Where the bytes of a plan come from, opened."""

    plan: Plan
    sources: Mapping[str, Source]
    """`source` and `target` -> an opened folder."""
    tensors: Mapping[str, Mapping[str, Tensor]]
    """`source` and `target` -> tensors by name."""
    overflows: dict[str, int] = field(default_factory=dict)
    """Tensor -> values that overflowed in a cast."""

    def tensor(self, step: TensorStep) -> Tensor:
        """The stored tensor a step reads."""
        return self.tensors[step.origin][step.tensor]

    def pieces(self, step: TensorStep) -> Iterator[bytes]:
        """The bytes of one planned tensor, in order, in constant memory."""
        if step.origin == "map":
            yield self._made(step)
            return
        stored, source = self.tensor(step), self.sources[step.origin]
        heads = step.heads
        if heads is not None:
            stored = paired(stored, heads)
        stream = self._rows(source, stored) if "sort rows" in step.steps else _stream(source, stored)
        if stored.dtype == step.dtype:
            yield from stream
            return
        counts: list[int] = []
        yield from cast_chunks(stream, stored.dtype, step.dtype, counts)
        if sum(counts):
            self.overflows[step.tensor] = sum(counts)

    def _made(self, step: TensorStep) -> bytes:
        ids = self.plan.target_ids
        if ids is None:
            raise AssertionError("a plan that makes a map holds one")
        if step.tensor == "offsets":
            return int64_bytes(offsets_from_target_ids(ids))
        if step.tensor == "ids":
            return int64_bytes(ids)
        return mask_from_target_ids(ids, step.shape[0])

    def _rows(self, source: Source, stored: Tensor) -> Iterator[bytes]:
        """The rows of a 2-D tensor in the plan's order, gathered into pieces."""
        order = self.plan.row_order
        if order is None or stored.strides is not None:
            yield from self._strided_rows(source, stored, order)
            return
        width = stored.shape[1] * ITEM_BITS[stored.dtype] // 8
        piece = bytearray()
        for row in order:
            piece += source.read(stored.file, stored.start + row * width, stored.start + (row + 1) * width)
            if len(piece) >= PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
        yield bytes(piece)

    def _strided_rows(self, source: Source, stored: Tensor, order: tuple[int, ...] | None) -> Iterator[bytes]:
        """The same for a tensor that does not lie contiguously: each row is gathered by its own strides."""
        if order is None or stored.strides is None:
            raise AssertionError("rows are sorted only by a plan that holds an order")
        item = ITEM_BITS[stored.dtype] // 8
        for row in order:
            start = stored.start + row * stored.strides[0] * item
            one = Tensor(
                stored.name, stored.dtype, stored.shape[1:], stored.file, start, stored.end, stored.strides[1:]
            )
            yield from _stream(source, one)


def _stream(source: Source, stored: Tensor) -> Iterator[bytes]:
    if stored.strides is not None:
        yield from gather(lambda start, end: source.read(stored.file, start, end), stored, PIECE_BYTES)
        return
    for start in range(stored.start, stored.end, PIECE_BYTES):
        yield source.read(stored.file, start, min(start + PIECE_BYTES, stored.end))
