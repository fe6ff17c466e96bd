"""What can be wrong with a GGUF file, as findings."""

from __future__ import annotations

from collections.abc import Sequence

from eaglekit.report import Finding

SHOWN = 4
LONGEST = 300
"""Characters of what is wrong: keys and values come from the file."""


def cut(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def invalid(file: str, what: str, position: int) -> Finding:
    """A file that breaks the format at a byte."""
    what = cut(what)
    return Finding(
        "gguf-invalid",
        f"{file} is no GGUF file that can be read: {what}",
        place=f"{file}: byte {position}",
        got=what,
        expected="metadata and tensors as llama.cpp writes them",
        hint="convert the drafter to GGUF again, or get the file again",
    )


def truncated(file: str, size_bytes: int, needed: int, what: str) -> Finding:
    """A file that ends before something it announces."""
    return Finding(
        "file-truncated",
        f"{file} ends at byte {size_bytes}, before {cut(what)} does",
        place=file,
        got=f"{size_bytes} bytes",
        expected=f"at least {needed} bytes",
        hint="download or copy the file again",
    )


def appended(file: str, size_bytes: int, end: int) -> Finding:
    """A file that goes on after its last tensor."""
    return Finding(
        "file-appended",
        f"{file} is {size_bytes - end} bytes longer than its header describes",
        place=file,
        got=f"{size_bytes} bytes",
        expected=f"{end} bytes",
        hint="find out what was appended: no tensor covers those bytes",
    )


def too_large(file: str, limit: int) -> Finding:
    """A header longer than any is."""
    return Finding(
        "header-too-large",
        f"the header of {file} has more than {limit} bytes",
        place=file,
        got=f"more than {limit} bytes",
        expected=f"at most {limit} bytes",
        hint="this is no drafter, or its first bytes are damaged: get it again",
    )


def version(file: str, number: int) -> Finding:
    """A version that is not read, or one in the other byte order."""
    swapped = int.from_bytes(number.to_bytes(4, "little"), "big")
    other = swapped in (1, 2, 3) and number > swapped
    return Finding(
        "gguf-unsupported",
        f"{file} is a GGUF file for {'big-endian machines' if other else f'readers of version {number}'}",
        place=file,
        got=f"version {swapped}, big-endian" if other else f"version {number}",
        expected="version 2 or 3, little-endian",
        hint="gguf-convert-endian of the gguf package turns it round" if other else "convert the drafter to GGUF again",
    )


def split(file: str, parts: object) -> Finding:
    """One part of a file that was split."""
    return Finding(
        "gguf-unsupported",
        f"{file} is one of {parts} parts of a split GGUF file",
        place=file,
        got=f"{parts} parts",
        expected="one file",
        hint="put them together first: llama-gguf-split --merge FIRST_PART WHOLE.gguf",
    )


def quantised(file: str, found: Sequence[tuple[str, str]]) -> Finding:
    """Tensors, by name and type, that hold other numbers than were trained."""
    types = sorted({kind for _, kind in found})
    names = ", ".join(name for name, _ in found[:SHOWN]) + (
        f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    )
    return Finding(
        "gguf-quantised",
        f"{names} in {file} {'is' if len(found) == 1 else 'are'} quantised: {', '.join(types)}",
        place=f"{file}: {found[0][0]}",
        got=", ".join(types),
        expected="F32, F16 or BF16",
        hint="give the checkpoint, or the file as it was before llama-quantize: the trained numbers are gone here",
    )


def tensor_type(file: str, name: str, number: int) -> Finding:
    """A tensor of a type that no table knows."""
    return Finding(
        "gguf-invalid",
        f"tensor {name!r} in {file} has ggml type {number}, which is not known",
        place=f"{file}: {name}",
        got=f"type {number}",
        expected="F32, F16 or BF16",
        hint="if llama.cpp has a new type, the drafter is quantised with it: give the file before that",
    )


def tensor_bytes(file: str, name: str, got: str, expected: str) -> Finding:
    """A tensor that does not lie where the one before it ends."""
    return Finding(
        "tensor-bytes",
        f"{name!r} in {file} does not lie where the tensor before it ends",
        place=f"{file}: {name}",
        got=got,
        expected=expected,
        hint="convert the drafter to GGUF again: llama.cpp refuses such a file too",
    )
