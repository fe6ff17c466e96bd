"""Tiny files for the tests of the checkpoint room, written without the code under test."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglekit.report import Finding, Refusal

TRICKY = 'ab. "\\/\n\x00\x1f\x7fé\u2028\U0001f600'
"""Characters that JSON writers escape differently, among plain ones."""


def framed(header: bytes, data: bytes = b"") -> bytes:
    """A safetensors file with this header text, right or wrong."""
    return struct.pack("<Q", len(header)) + header + data


def file_of(document: Mapping[str, Any], data: bytes = b"") -> bytes:
    """A safetensors file with this header document."""
    return framed(json.dumps(document).encode(), data)


def entry(start: int, end: int, *shape: int, dtype: str = "U8") -> dict[str, Any]:
    """One header entry; a vector over its bytes when no shape is given."""
    return {"dtype": dtype, "shape": list(shape or (end - start,)), "data_offsets": [start, end]}


ONE_TENSOR = file_of({"weight": entry(0, 4)}, b"\1\2\3\4")


def folder_of(path: Path, files: Mapping[str, bytes | str | Mapping[str, Any]]) -> Path:
    """A folder with these files; mappings become JSON, and a config.json is there unless named."""
    path.mkdir(parents=True, exist_ok=True)
    for name, content in {"config.json": "{}", **files}.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content) if isinstance(content, Mapping) else content
        target.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refused(call: Callable[[], object]) -> dict[str, Finding]:
    """The findings of the refusal that `call` must end in, by code."""
    with pytest.raises(Refusal) as caught:
        call()
    return {finding.code: finding for finding in caught.value.findings}


def only(findings: Mapping[str, Finding], code: str) -> Finding:
    """The finding with `code`, which must be the only one."""
    assert list(findings) == [code]
    return findings[code]
