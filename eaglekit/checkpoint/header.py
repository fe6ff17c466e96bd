"""One safetensors header, parsed and proved: every byte of the data belongs to exactly one tensor."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.checkpoint.json_document import FINDINGS_SHOWN, read_object
from eaglekit.checkpoint.model import ITEM_BITS, Tensor
from eaglekit.report import Finding, Refusal

HEADER_LIMIT = 100_000_000
"""Largest header read, in bytes; the safetensors library has the same limit (tensor.rs, MAX_HEADER_SIZE)."""
PROBE_BYTES = 64 << 10
"""First read: most headers are shorter, so that one request is enough for a remote file."""
LENGTH_BYTES = 8
U64_END = 1 << 64

Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class Header:
    """What one weight file says about its tensors, checked against its size."""

    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    digest: str
    """SHA-256 over the length field and the header bytes (of a pickle: over data.pkl), hexadecimal."""


def parse_header(read: Read, size_bytes: int, file: str) -> Header:
    """The tensors of `file` with absolute byte ranges. `read(start, end)` gives its bytes, local or remote.

    Raises `Refusal` unless the ranges tile the file exactly. Nothing is allocated on the word of a length field.
    """
    probe = read(0, min(size_bytes, PROBE_BYTES))
    refuse_other_formats(probe, file)
    length = _header_length(probe, size_bytes, file)
    end = LENGTH_BYTES + length
    body = probe[:end] if end <= len(probe) else probe + read(len(probe), end)
    document = read_object(body[LENGTH_BYTES:], f"{file} header", limit_bytes=HEADER_LIMIT)
    findings: list[Finding] = []
    metadata = _metadata(document.pop("__metadata__", None), file, findings)
    tensors = dict(_tensors(document, file, end, findings))
    if not findings:
        findings.extend(_tiling(tensors, file, end, size_bytes))
    if findings:
        raise Refusal(*shortened(findings))
    return Header(tensors, metadata, hashlib.sha256(body).hexdigest())


def shortened(findings: list[Finding]) -> list[Finding]:
    """The first findings, the last one saying how many were left out."""
    if len(findings) <= FINDINGS_SHOWN:
        return findings
    last = findings[FINDINGS_SHOWN - 1]
    left = len(findings) - FINDINGS_SHOWN
    return [
        *findings[: FINDINGS_SHOWN - 1],
        Finding(last.code, f"{last.message}; {left} more findings like these are not shown", place=last.place),
    ]


def refuse_other_formats(probe: bytes, file: str) -> None:
    """Raise `Refusal` when the first bytes of a weight file are a Git LFS pointer or GGUF."""
    if probe.startswith(b"version https://git-lfs"):
        raise Refusal(_pointer(probe, file))
    if probe.startswith(b"GGUF"):
        raise Refusal(gguf(file))


def _pointer(text: bytes, file: str) -> Finding:
    oid = re.search(rb"oid sha256:([0-9a-f]{64})", text)
    size = re.search(rb"size (\d{1,20})", text)
    return Finding(
        "weights-not-downloaded",
        f"{file} is a Git LFS pointer of {len(text)} bytes, not weights",
        place=file,
        got="pointer to sha256:" + (oid[1].decode() if oid else "(no oid)"),
        expected=f"{size[1].decode()} bytes of weights" if size else "weights",
        hint="fetch the real file with `git lfs pull`, or the whole folder with `hf download`",
    )


def gguf(file: str) -> Finding:
    """The finding for a llama.cpp file under the name of another format."""
    return Finding(
        "gguf-unsupported",
        f"{file} is a GGUF file under another name",
        place=file,
        got="GGUF",
        expected="a safetensors file, or a name that ends in .gguf",
        hint="give the file a name that ends in .gguf, in a folder without other weights",
    )


def _header_length(probe: bytes, size_bytes: int, file: str) -> int:
    if size_bytes < LENGTH_BYTES:
        raise Refusal(
            Finding(
                "file-truncated",
                f"{file} is {size_bytes} bytes, too short for the length field of a safetensors header",
                place=file,
                got=f"{size_bytes} bytes",
                expected=f"at least {LENGTH_BYTES} bytes",
                hint="download or copy the file again",
            )
        )
    length = int.from_bytes(probe[:LENGTH_BYTES], "little")
    if length > HEADER_LIMIT:
        raise Refusal(
            Finding(
                "header-too-large",
                f"{file} announces a header of {length} bytes; it starts with {probe[:16]!r}",
                place=file,
                got=f"{length} bytes",
                expected=f"at most {HEADER_LIMIT} bytes",
                hint="this is not a safetensors file, or its first bytes are damaged: get it again",
            )
        )
    if LENGTH_BYTES + length > size_bytes:
        raise Refusal(
            Finding(
                "file-truncated",
                f"{file} announces a header of {length} bytes and ends before it does",
                place=file,
                got=f"{size_bytes} bytes",
                expected=f"at least {LENGTH_BYTES + length} bytes",
                hint="download or copy the file again",
            )
        )
    return length


def _metadata(value: Any, file: str, findings: list[Finding]) -> Mapping[str, str]:
    if value is None:
        return {}
    if isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
        return value
    wrong = [key for key, text in value.items() if not isinstance(text, str)] if isinstance(value, dict) else []
    findings.append(
        Finding(
            "header-metadata",
            f"{file} has __metadata__ that is not text to text"
            + (f": {', '.join(map(repr, wrong[:5]))}" if wrong else ""),
            place=f"{file}: __metadata__",
            got=type(value[wrong[0]]).__name__ if wrong else type(value).__name__,
            expected="an object whose values are strings",
            hint="write the file again with every metadata value as a string",
        )
    )
    return {}


def _tensors(
    document: Mapping[str, Any], file: str, data_start: int, findings: list[Finding]
) -> Iterator[tuple[str, Tensor]]:
    for name, entry in document.items():
        problem = _entry_problem(entry)
        if problem:
            message, got, expected = problem
            findings.append(
                Finding("header-entry", f"{file} describes {name!r} with {message}", name, got=got, expected=expected)
            )
            continue
        start, end = entry["data_offsets"]
        yield name, Tensor(name, entry["dtype"], tuple(entry["shape"]), file, data_start + start, data_start + end)


def _entry_problem(entry: Any) -> tuple[str, str, str] | None:
    """(what is wrong, got, expected) of one header entry, or None. Overflow is judged in 64 bits as engines do."""
    if not isinstance(entry, dict) or not entry.keys() >= {"dtype", "shape", "data_offsets"}:
        return "an entry that lacks dtype, shape or data_offsets", _shown(entry), "an object with all three"
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in ITEM_BITS:
        return "an unknown dtype", _shown(dtype), ", ".join(ITEM_BITS)
    if not isinstance(shape, list) or not all(_is_size(item) for item in shape):
        return "a shape that is not a list of sizes", _shown(shape), "non-negative integers"
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_is_size(item) for item in offsets):
        return "data_offsets that are not a pair of offsets", _shown(offsets), "two non-negative integers"
    elements = 1
    for item in (*shape, ITEM_BITS[dtype]):
        elements *= item
        if elements >= U64_END:
            return "a shape whose byte count overflows 64 bits", f"{shape} of {dtype}", "fewer than 2^64 bits"
    bits = elements
    if bits % 8:
        return "a size that does not end on a byte", f"{bits} bits", "a multiple of 8 bits"
    if offsets[1] - offsets[0] != bits // 8:
        return (
            f"{offsets[1] - offsets[0]} bytes for a shape that needs {bits // 8}",
            f"data_offsets {offsets}",
            f"{bits // 8} bytes for {shape} of {dtype}",
        )
    return None


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 0


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _tiling(tensors: Mapping[str, Tensor], file: str, data_start: int, size_bytes: int) -> Iterator[Finding]:
    cursor, before = data_start, "the header"
    for tensor in sorted(tensors.values(), key=lambda tensor: (tensor.start, tensor.end)):
        if tensor.start != cursor:
            kind = "overlaps" if tensor.start < cursor else "leaves a hole behind"
            yield Finding(
                "tensor-bytes",
                f"{tensor.name!r} in {file} {kind} {before}",
                place=f"{file}: {tensor.name}",
                got=f"starts at byte {tensor.start}",
                expected=f"starts at byte {cursor}",
                hint="write the file again with the safetensors library: readers refuse such a file or misread it",
            )
        cursor, before = tensor.end, repr(tensor.name)
    if cursor != size_bytes:
        short = size_bytes < cursor
        yield Finding(
            "file-truncated" if short else "file-appended",
            f"{file} is {abs(size_bytes - cursor)} bytes {'shorter' if short else 'longer'} than its header describes",
            place=file,
            got=f"{size_bytes} bytes",
            expected=f"{cursor} bytes",
            hint="download or copy the file again"
            if short
            else "find out what was appended: readers refuse the file, and no tensor covers those bytes",
        )
