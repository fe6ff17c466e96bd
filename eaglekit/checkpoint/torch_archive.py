"""The zip archive that `torch.save` writes, seen as entries with byte ranges; nothing is unpacked."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

from eaglekit.checkpoint.header import refuse_other_formats
from eaglekit.checkpoint.model import Source
from eaglekit.report import Finding, Refusal

PICKLE_LIMIT = 64 << 20
"""Largest data.pkl read, in bytes: 100,000 tensors need about 15 MB."""
DIRECTORY_LIMIT = 64 << 20
"""Largest single read while the zip directory is parsed, in bytes."""
LOCAL_HEADER = struct.Struct("<4s5H3L2H")
"""Local file header, APPNOTE.TXT 4.3.7."""
ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class Archive:
    """One torch archive: its pickle, and where each storage's bytes lie in the file."""

    pickle: bytes
    storages: Mapping[str, tuple[int, int]]
    """Storage key -> absolute (start, end) in the file."""


def read_archive(source: Source, file: str) -> Archive:
    """The archive in `file`. Raises `Refusal` unless torch.save could have written it: stored, plain, little-endian."""
    size_bytes = source.files()[file]
    probe = source.read(file, 0, min(size_bytes, 512))
    refuse_other_formats(probe, file)
    if not probe.startswith(b"PK"):
        raise Refusal(_legacy(file, probe))
    ranged = _RangedFile(source, file, size_bytes)
    try:
        with zipfile.ZipFile(ranged) as archive:
            entries = archive.infolist()
    # zipfile raises these on damaged directories: seeks before the start, short structs, unknown versions.
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error, LookupError) as error:
        raise Refusal(_damaged(file, f"{error}")) from error
    return _described(source, file, entries)


def _described(source: Source, file: str, entries: list[zipfile.ZipInfo]) -> Archive:
    findings = [finding for entry in entries if (finding := _entry_problem(file, entry)) is not None]
    names = [entry.filename for entry in entries]
    roots = [name.removesuffix("data.pkl") for name in names if name == "data.pkl" or name.endswith("/data.pkl")]
    if len(set(names)) != len(names):
        findings.append(_damaged(file, "an entry name stands twice"))
    if any("/code/" in name or name.endswith("constants.pkl") for name in names):
        findings.append(_damaged(file, "a TorchScript program, not a dictionary of tensors"))
    if len(roots) != 1:
        findings.append(_damaged(file, f"{len(roots)} entries named data.pkl"))
    if findings:
        raise Refusal(*findings[:20])
    by_name = {entry.filename: _range(source, file, entry) for entry in entries}
    root = roots[0]
    pickle_start, pickle_end = by_name[f"{root}data.pkl"]
    if pickle_end - pickle_start > PICKLE_LIMIT:
        raise Refusal(
            Finding(
                "pickle-too-large",
                f"{file} has a data.pkl of {pickle_end - pickle_start} bytes",
                place=f"{file}: data.pkl",
                got=f"{pickle_end - pickle_start} bytes",
                expected=f"at most {PICKLE_LIMIT} bytes",
                hint="a table of tensors is far smaller: save the state dict alone",
            )
        )
    _refuse_big_endian(source, file, by_name.get(f"{root}byteorder"))
    storages = {
        name.removeprefix(f"{root}data/"): span for name, span in by_name.items() if name.startswith(f"{root}data/")
    }
    return Archive(source.read(file, pickle_start, pickle_end), storages)


def _refuse_big_endian(source: Source, file: str, span: tuple[int, int] | None) -> None:
    if span is None:  # torch before 2.1 writes no byteorder entry
        return
    order = source.read(file, span[0], min(span[1], span[0] + 16))
    if order != b"little":
        raise Refusal(
            Finding(
                "pickle-byte-order",
                f"{file} was saved in {order.decode('ascii', 'replace')!r} byte order",
                place=f"{file}: byteorder",
                got=order.decode("ascii", "replace"),
                expected="little",
                hint="save it again on a little-endian machine, or as safetensors",
            )
        )


def _entry_problem(file: str, entry: zipfile.ZipInfo) -> Finding | None:
    if entry.flag_bits & ENCRYPTED:
        got = "encrypted"
    elif entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
        got = f"compressed, {entry.compress_size} of {entry.file_size} bytes"
    else:
        return None
    return Finding(
        "pickle-compressed",
        f"{file} holds the entry {entry.filename!r} {got}",
        place=f"{file}: {entry.filename}",
        got=got,
        expected="stored as it is, the way torch.save writes it",
        hint="load it where you trust it and save it again with torch.save, or better as safetensors",
    )


def _range(source: Source, file: str, entry: zipfile.ZipInfo) -> tuple[int, int]:
    """Absolute byte range of the entry's data, from its local header, which must agree with the directory."""
    start, size_bytes = entry.header_offset, source.files()[file]
    end = start + LOCAL_HEADER.size
    if not 0 <= start <= end <= size_bytes:
        raise Refusal(_damaged(file, f"{entry.filename!r} lies outside the file"))
    fields = LOCAL_HEADER.unpack(source.read(file, start, end))
    magic, flags, method, name_bytes, extra_bytes = fields[0], fields[2], fields[3], fields[9], fields[10]
    data = end + name_bytes + extra_bytes
    if magic != b"PK\x03\x04" or data + entry.file_size > size_bytes or method or flags & ENCRYPTED:
        raise Refusal(_damaged(file, f"the local header of {entry.filename!r} does not agree with the directory"))
    name = source.read(file, end, end + name_bytes)
    if name != entry.orig_filename.encode("utf-8" if flags & 0x800 else "cp437"):
        raise Refusal(_damaged(file, f"{entry.filename!r} is named otherwise in its local header"))
    return data, data + entry.file_size


def _legacy(file: str, probe: bytes) -> Finding:
    return Finding(
        "pickle-legacy",
        f"{file} is not the zip archive that torch.save has written since version 1.6",
        place=file,
        got=repr(probe[:8]),
        expected="a file that starts with PK",
        hint="load it where you trust it and save it again with a current torch, or better as safetensors",
    )


def _damaged(file: str, reason: str) -> Finding:
    return Finding(
        "pickle-malformed",
        f"{file} is not a plain torch archive: {reason}",
        place=file,
        got=reason,
        expected="an archive as torch.save writes it",
        hint="download or save the file again",
    )


class _RangedFile(io.RawIOBase):
    """A source's file as the seekable stream that `zipfile` wants, never reading much at once."""

    def __init__(self, source: Source, file: str, size_bytes: int) -> None:
        self._source, self._file, self._size, self._at = source, file, size_bytes, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        target = offset + (0, self._at, self._size)[whence]
        if target < 0:
            raise ValueError("seek before the start")
        self._at = target
        return target

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        if end - self._at > DIRECTORY_LIMIT:
            raise ValueError(f"a directory of more than {DIRECTORY_LIMIT} bytes")
        data = self._source.read(self._file, self._at, end)
        self._at = end
        return data
