"""Our header reader and the safetensors library take and refuse the same files, but for what is explained here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from safetensors import SafetensorError, deserialize

from eaglekit.checkpoint.header import parse_header
from eaglekit.report import Refusal

BITS = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16,
        "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4,
        "F6_E2M3": 6, "F6_E3M2": 6}  # fmt: skip
EXPLAINED = {
    "json-duplicate-key": "the library keeps the last of two tensors of one name; which one is meant, nobody can know",
}
"""Codes of files that the library opens and we refuse, and why. There is none the other way round."""


def ours(data: bytes) -> set[str]:
    """Why our reader refuses; nothing when it does not."""
    try:
        parse_header(lambda start, end: data[start:end], len(data), "file")
    except Refusal as refusal:
        return {finding.code for finding in refusal.findings}
    return set()


def theirs(data: bytes) -> bool:
    """Whether the library opens it."""
    try:
        deserialize(data)
    except SafetensorError:
        return False
    return True


def file_of(text: str | bytes, size_bytes: int = 0) -> bytes:
    """A file with this header and so many bytes behind it."""
    body = text.encode() if isinstance(text, str) else text
    return len(body).to_bytes(8, "little") + body + bytes(size_bytes)


@some.composite
def files(draw: some.DrawFn) -> bytes:
    """A file that is nearly right."""
    position, document = 0, {}
    for name in draw(some.lists(some.sampled_from(["a", "b", "", "x/y", "ä", "\0", "__metadata__x"]), max_size=3)):
        dtype = draw(some.sampled_from([*BITS, "f32", "XX"]))
        shape = draw(some.lists(some.integers(0, 5), max_size=3))
        count = 1
        for length in shape:
            count *= length
        size = count * BITS.get(dtype, 8) // 8
        entry: dict[str, Any] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + size]}
        match draw(some.integers(0, 30)):
            case 0:
                entry["more"] = draw(some.none() | some.integers() | some.text(max_size=3))
            case 1:
                del entry[draw(some.sampled_from(sorted(entry)))]
            case 2:
                entry[draw(some.sampled_from(sorted(entry)))] = draw(
                    some.none() | some.integers() | some.floats() | some.lists(some.integers(), max_size=3)
                )
            case 3:
                entry["shape"] = [draw(some.sampled_from([-1, 2**32, 2**63, 2**64, 2**70]))] * 2
            case 4:
                entry["data_offsets"] = [position + 1, position + size + 1]
            case 5:
                entry["data_offsets"].reverse()
        document[name] = entry
        position += size
    if draw(some.booleans()):
        values = some.dictionaries(
            some.text(max_size=3), some.text(max_size=3) | some.none() | some.integers(), max_size=2
        )
        document["__metadata__"] = draw(values | some.none() | some.lists(some.text(), max_size=1))
    text = json.dumps(document, ensure_ascii=draw(some.booleans()))
    match draw(some.integers(0, 12)):
        case 0:
            text += draw(some.sampled_from([" ", "\n", "x", "\0", "{}"]))
        case 1:
            text = draw(some.sampled_from([" ", "\n", "\ufeff"])) + text
        case 2:
            place = draw(some.integers(0, len(text)))
            text = (
                text[:place] + draw(some.sampled_from(['"', "1", "e5", ".0", "\\ud800", "\\u0000", "-"])) + text[place:]
            )
    return file_of(
        text.encode("utf-8", "surrogatepass"), max(0, position + draw(some.sampled_from([0] * 20 + [-1, 1, 8])))
    )


@settings(max_examples=3000, deadline=None)
@given(files())
@example(file_of("{}"))
@example(file_of('{"a":1'))
@example(b"")
@example(b"\xff" * 16)
@example(file_of(b'{"\xff":1}'))
@example(file_of("[" * 2000))
@example(file_of('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', 4))
def test_the_library_and_we_open_the_same_files(data: bytes) -> None:
    codes = ours(data)
    if codes & EXPLAINED.keys():
        return
    assert (codes == set()) == theirs(data), codes


@pytest.mark.parametrize("code", EXPLAINED)
def test_what_we_refuse_alone_is_opened_by_the_library(code: str) -> None:
    entry = '"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}'
    data = {"json-duplicate-key": file_of(f"{{{entry}, {entry}}}")}[code]
    assert ours(data) == {code}
    assert theirs(data)
