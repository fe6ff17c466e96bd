"""The body of one request, read only as far and as fast as it is wanted: an upload may be larger than memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from email.message import Message
from io import BufferedIOBase
from pathlib import Path

PIECE_BYTES = 64 << 10
LONGEST_TEXT_BYTES = 1 << 30
"""The Hub's own limit for what goes into one commit request."""


class BodyCutError(ConnectionError):
    """The client went away, or was sent away by the fault plan, before the body was over."""


class Body:
    """What a client sends: by Content-Length, or in chunks."""

    def __init__(self, file: BufferedIOBase, headers: Message, *, cut_after_bytes: int | None = None) -> None:
        self._chunked = headers.get("Transfer-Encoding", "").lower() == "chunked"
        length = headers.get("Content-Length", "0")
        self.left_bytes = int(length) if length.isdigit() and not self._chunked else 0
        self.received_bytes = 0
        self._file = file
        self._cut_after_bytes = cut_after_bytes
        self._pieces = self._read_chunks() if self._chunked else self._read(self.left_bytes)

    def pieces(self) -> Iterator[bytes]:
        """What has not been read yet, piece by piece."""
        for piece in self._pieces:
            self.received_bytes += len(piece)
            if self._cut_after_bytes is not None and self.received_bytes >= self._cut_after_bytes:
                raise BodyCutError("cut by the fault plan")
            yield piece

    def read(self) -> bytes:
        """All of it; for texts only."""
        pieces, size_bytes = [], 0
        for piece in self.pieces():
            size_bytes += len(piece)
            if size_bytes > LONGEST_TEXT_BYTES:
                raise BodyCutError("a text of more than 1 GiB")
            pieces.append(piece)
        return b"".join(pieces)

    def write_to(self, path: Path, *, at_byte: int | None = None) -> Digests:
        """Write it to a new file, or into an existing one; what it was."""
        digests = Digests()
        with path.open("xb" if at_byte is None else "r+b") as file:
            file.seek(at_byte or 0)
            for piece in self.pieces():
                digests.add(piece)
                file.write(piece)
        return digests

    def drain(self) -> None:
        """Read the rest and forget it, so that the connection can be used again."""
        for _ in self.pieces():
            pass

    def _read(self, size_bytes: int) -> Iterator[bytes]:
        while size_bytes:
            piece = self._file.read(min(PIECE_BYTES, size_bytes))
            if not piece:
                raise BodyCutError("the client went away")
            size_bytes -= len(piece)
            yield piece

    def _read_chunks(self) -> Iterator[bytes]:
        while size_bytes := self._chunk_size():
            yield from self._read(size_bytes)
            self._file.readline()
        while self._file.readline().strip():
            pass  # trailers

    def _chunk_size(self) -> int:
        line = self._file.readline(1024)
        try:
            return int(line.split(b";")[0], 16)
        except ValueError:
            raise BodyCutError("not a chunk") from None


class Digests:
    """Size, sha256 and md5 of a body as it came in."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._sha256 = hashlib.sha256()
        self._md5 = hashlib.md5(usedforsecurity=False)

    def add(self, piece: bytes) -> None:
        """Count one piece in."""
        self.size_bytes += len(piece)
        self._sha256.update(piece)
        self._md5.update(piece)

    @property
    def sha256(self) -> str:
        """What git-lfs names the content by."""
        return self._sha256.hexdigest()

    @property
    def etag(self) -> str:
        """What an object store answers for a part."""
        return f'"{self._md5.hexdigest()}"'
