"""`Cursor`: the bytes of a GGUF header in order, fetched as they are asked for and never beyond the file."""

from __future__ import annotations

import struct

from eaglekit.checkpoint import gguf_findings as problem
from eaglekit.checkpoint.gguf_types import SCALARS, Kind
from eaglekit.checkpoint.header import HEADER_LIMIT, Read
from eaglekit.report import Refusal

PIECE_BYTES = 1 << 20
"""Fetched at once: the header of a drafter without a tokenizer has about 2 kB, one with 200,000 tokens some 10 MB."""
TEXT_LIMIT = 1 << 20
"""Longest string, in bytes; chat templates have some 20 kB."""
LENGTH = struct.Struct("<Q")
"""Before every string."""


class Cursor:
    """A position in the header of one file. Every step raises `Refusal` rather than pass the end of the file."""

    __slots__ = ("_data", "_read", "file", "position", "size_bytes")

    def __init__(self, read: Read, size_bytes: int, file: str) -> None:
        self._read, self.size_bytes, self.file = read, size_bytes, file
        self._data = bytearray()
        self.position = 0

    def take(self, count: int, what: str) -> bytes:
        """The next `count` bytes, which hold `what`."""
        end = self._reach(count, what)
        data = bytes(self._data[self.position : end])
        self.position = end
        return data

    def skip(self, count: int, what: str) -> None:
        """Pass over `count` bytes of `what`."""
        self.position = self._reach(count, what)

    def skip_texts(self, count: int, what: str) -> None:
        """Pass over `count` strings of `what`: tokenizers have hundreds of thousands, liars as many as fit."""
        data, position, length_at = self._data, self.position, LENGTH.unpack_from
        for _ in range(count):
            start = position + LENGTH.size
            if start > len(data):
                self._reach_from(position, LENGTH.size, what)
            position = start + length_at(data, position)[0]
            if position > len(data):
                self._reach_from(start, position - start, what)
        self.position = position

    def number(self, kind: Kind, what: str) -> int:
        """The next number of an integer `kind`."""
        form = SCALARS[kind]
        return int(struct.unpack(form, self.take(struct.calcsize(form), what))[0])

    def text(self, what: str) -> str:
        """The next string; bytes that are no UTF-8 come out escaped."""
        length = self.number(Kind.UINT64, f"the length of {what}")
        if length > TEXT_LIMIT:
            raise Refusal(problem.invalid(self.file, f"{what} has {length} bytes, at most {TEXT_LIMIT} are read",
                                          self.position))  # fmt: skip
        return self.take(length, what).decode("utf-8", "backslashreplace")

    def seen(self) -> bytes:
        """Everything up to here."""
        return bytes(self._data[: self.position])

    def _reach(self, count: int, what: str) -> int:
        return self._reach_from(self.position, count, what)

    def _reach_from(self, position: int, count: int, what: str) -> int:
        end = position + count
        if end > self.size_bytes:
            raise Refusal(problem.truncated(self.file, self.size_bytes, end, what))
        if end > HEADER_LIMIT:
            raise Refusal(problem.too_large(self.file, HEADER_LIMIT))
        if end > len(self._data):
            start = len(self._data)
            self._data += self._read(start, min(max(end, start + PIECE_BYTES), self.size_bytes))
        return end
