"""Our verdict on a safetensors header against the safetensors library's, and one test per way to be wrong."""

from __future__ import annotations

import json

import pytest
import safetensors
from hypothesis import example, given, settings
from hypothesis import strategies as some

from eaglekit.checkpoint.header import HEADER_LIMIT, PROBE_BYTES, parse_header
from eaglekit.checkpoint.model import ITEM_BITS
from eaglekit.report import Refusal
from tests.checkpoint.making import ONE_TENSOR, TRICKY, entry, file_of, framed, only, refused


def parsed(data: bytes):
    return parse_header(lambda start, end: data[start:end], len(data), "model.safetensors")


def parsing(data: bytes):
    return refused(lambda: parsed(data))


def library(data: bytes) -> dict[str, tuple[str, tuple[int, ...], bytes]] | None:
    """What the safetensors library reads, or None when it refuses."""
    try:
        tensors = safetensors.deserialize(data)
    except safetensors.SafetensorError:
        return None
    return {name: (tensor["dtype"], tuple(tensor["shape"]), bytes(tensor["data"])) for name, tensor in tensors}


def ours(data: bytes) -> dict[str, tuple[str, tuple[int, ...], bytes]] | None:
    try:
        tensors = parsed(data).tensors
    except Refusal:
        return None
    return {name: (tensor.dtype, tensor.shape, data[tensor.start : tensor.end]) for name, tensor in tensors.items()}


SIZES = some.integers(0, 4)
ODD = some.sampled_from([-1, 2**63, 2**64 - 1, 2**64, 1.0, 1.5, True, None, "1"]) | some.builds(dict)


@some.composite
def right_files(draw: some.DrawFn) -> tuple[dict, int]:
    """A valid header document over `size` bytes of data."""
    document, at = {}, 0
    for name in draw(some.lists(some.sampled_from(["a", "b", "c.weight", "", "é"]), unique=True, max_size=4)):
        dtype = draw(some.sampled_from(sorted(ITEM_BITS)))
        shape = draw(some.lists(SIZES, max_size=3))
        bits = ITEM_BITS[dtype]
        for size in shape:
            bits *= size
        document[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + bits // 8]}
        at += bits // 8
    if draw(some.booleans()):
        document["__metadata__"] = draw(
            some.dictionaries(some.text(TRICKY, max_size=3), some.text(TRICKY, max_size=3), max_size=2)
        )
    return document, at


@some.composite
def damaged_files(draw: some.DrawFn) -> bytes:
    """A file made from a valid one by a few random changes to its header, its length field or its data."""
    document, size = draw(right_files())
    for _ in range(draw(some.integers(0, 2))):
        name = draw(some.sampled_from([*document, "new"]))
        value = document.get(name)
        key = draw(some.sampled_from(["dtype", "shape", "data_offsets", "extra", "whole"]))
        odd = draw(ODD | some.lists(SIZES | ODD, max_size=3) | some.sampled_from(["F32", "u8", "F4", "F128"]))
        if key == "whole" or not isinstance(value, dict):
            document[name] = odd
        elif draw(some.booleans()):
            value[key] = odd
        else:
            value.pop(key, None)
    text = json.dumps(document, ensure_ascii=draw(some.booleans())).encode()
    text = draw(some.sampled_from([text, text + b"  ", b" " + text, text[:-1], text + b"x", b"\xff" + text]))
    length = max(0, len(text) + draw(some.sampled_from([0, 0, 0, 0, 1, -1, 8])))
    data = bytes(max(0, size + draw(some.sampled_from([0, 0, 0, 0, 1, -1]))))
    return length.to_bytes(8, "little") + text + data


@given(right_files())
def test_a_right_file_is_read_as_the_library_reads_it(made):
    document, size = made
    data = file_of(document, bytes(range(256)) * (size // 256 + 1))
    data = data[: len(data) - (256 * (size // 256 + 1) - size)]
    assert ours(data) == library(data)


@settings(max_examples=400)
@given(damaged_files())
@example(file_of({"a": {"dtype": "F32", "shape": [2**63, 4, 0], "data_offsets": [0, 0]}}))
@example(file_of({"a": {"dtype": "F32", "shape": [0, 2**63, 4], "data_offsets": [0, 0]}}))
@example(file_of({"a": {"dtype": "F4", "shape": [3], "data_offsets": [0, 1]}}, b"\0"))
@example(file_of({"a": entry(0, 4) | {"extra": 1}}, bytes(4)))
@example(framed(b"{}"))
@example(framed(b""))
@example(b"")
def test_our_verdict_on_a_damaged_file_is_the_library_s_verdict(data):
    assert ours(data) == library(data)


@given(some.binary(max_size=64))
def test_random_bytes_get_the_library_s_verdict(data):
    assert (ours(data) is None) == (library(data) is None)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b'{"a":["U8",[4],[0,4]]}', id="an entry written as a list"),
        pytest.param(
            b'{"a":{"dtype":{"U8":null},"shape":[4],"data_offsets":[0,4]}}', id="a dtype written as an object"
        ),
        pytest.param(
            b'{"__metadata__":{"k":"1","k":"2"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', id="keys"
        ),
    ],
)
def test_we_are_stricter_than_the_library_where_it_accepts_by_accident(header):
    data = framed(header, bytes(4))
    assert library(data) is not None
    assert ours(data) is None


def test_offsets_are_absolute_in_the_file():
    tensor = parsed(ONE_TENSOR).tensors["weight"]
    assert ONE_TENSOR[tensor.start : tensor.end] == b"\1\2\3\4"


def test_tensors_may_stand_in_any_order_in_the_header():
    data = file_of({"b": entry(2, 4), "a": entry(0, 2)}, b"aabb")
    assert ours(data) == {"a": ("U8", (2,), b"aa"), "b": ("U8", (2,), b"bb")}


@pytest.mark.parametrize(
    ("tensors", "word"),
    [
        pytest.param({"a": entry(0, 3), "b": entry(2, 4)}, "overlaps", id="overlap"),
        pytest.param({"a": entry(0, 1), "b": entry(2, 4)}, "leaves a hole", id="hole"),
        pytest.param({"a": entry(1, 4)}, "leaves a hole behind the header", id="hole at the start"),
    ],
)
def test_bytes_that_belong_to_two_tensors_or_to_none_are_refused(tensors, word):
    assert word in only(parsing(file_of(tensors, bytes(4))), "tensor-bytes").message


def test_a_tensor_that_stands_twice_is_refused_by_name():
    twice = b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
    assert "'a'" in only(parsing(framed(twice, bytes(4))), "json-duplicate-key").message


@pytest.mark.parametrize(
    ("change", "word"),
    [
        pytest.param({"dtype": "F128"}, "unknown dtype", id="unknown dtype"),
        pytest.param({"shape": [-4]}, "shape", id="negative size"),
        pytest.param({"shape": [True, 4]}, "shape", id="true as a size"),
        pytest.param({"shape": [2**62, 2**62]}, "overflows", id="overflow"),
        pytest.param({"shape": [5]}, "needs 5", id="size that does not fit"),
        pytest.param({"data_offsets": [4, 0]}, "-4 bytes", id="backwards"),
        pytest.param({"data_offsets": [0]}, "pair", id="half a range"),
        pytest.param({"data_offsets": ["0", "4"]}, "pair", id="offsets as text"),
    ],
)
def test_an_entry_that_cannot_be_is_refused_with_the_tensor_s_name(change, word):
    finding = only(parsing(file_of({"q_proj": entry(0, 4) | change}, bytes(4))), "header-entry")
    assert word in finding.message
    assert finding.place == "q_proj"


def test_every_wrong_entry_is_told_at_once():
    data = file_of({name: entry(0, 4, 5) for name in ("a", "b")}, bytes(4))
    with pytest.raises(Refusal) as caught:
        parsed(data)
    assert [finding.place for finding in caught.value.findings] == ["a", "b"]


def test_a_thousand_wrong_entries_are_told_as_twenty():
    data = file_of({f"t{number}": entry(0, 4, 5) for number in range(1000)}, bytes(4))
    with pytest.raises(Refusal) as caught:
        parsed(data)
    assert len(caught.value.findings) == 20
    assert "980 more findings" in caught.value.findings[-1].message


def test_metadata_is_kept():
    assert parsed(file_of({"__metadata__": {"format": "pt"}})).metadata == {"format": "pt"}


@pytest.mark.parametrize("value", [{"step": 3}, "text", ["a"], {"a": None}])
def test_metadata_that_is_not_text_to_text_is_refused(value):
    only(parsing(file_of({"__metadata__": value})), "header-metadata")


def test_a_header_longer_than_the_first_read_is_read_whole():
    document = {f"{'t' * 100}{number}": entry(0, 0) for number in range(1000)}
    data = file_of(document)
    assert len(data) > PROBE_BYTES
    assert len(parsed(data).tensors) == 1000


def test_one_read_is_enough_for_an_ordinary_file():
    reads = []

    def read(start: int, end: int) -> bytes:
        reads.append((start, end))
        return ONE_TENSOR[start:end]

    parse_header(read, len(ONE_TENSOR), "model.safetensors")
    assert reads == [(0, len(ONE_TENSOR))]


def test_the_digest_covers_the_header_and_not_the_data():
    other_data, other_header = ONE_TENSOR[:-1] + b"\xff", file_of({"weighT": entry(0, 4)}, b"\1\2\3\4")
    assert parsed(ONE_TENSOR).digest == parsed(other_data).digest
    assert parsed(ONE_TENSOR).digest != parsed(other_header).digest


def test_a_header_that_lies_about_its_length_is_refused():
    finding = only(parsing((2_000).to_bytes(8, "little") + ONE_TENSOR[8:]), "file-truncated")
    assert (finding.got, finding.expected) == (f"{len(ONE_TENSOR)} bytes", "at least 2008 bytes")


def test_a_header_above_the_limit_is_refused():
    finding = only(parsing((HEADER_LIMIT + 1).to_bytes(8, "little") + b"{}"), "header-too-large")
    assert finding.got == f"{HEADER_LIMIT + 1} bytes"
