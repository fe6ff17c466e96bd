"""Files laid out by us are byte for byte the files the safetensors library writes."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import safetensors
from hypothesis import given
from hypothesis import strategies as some
from safetensors.numpy import save

from eaglekit.checkpoint import layout
from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header
from eaglekit.checkpoint.model import ITEM_BITS
from tests.checkpoint.making import TRICKY, only, refused

FRAMEWORK_NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32",
    "I64": "int64", "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E5M2": "float8_e5m2", "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
"""Names the library's writer knows dtypes by; F4 and F6 have no plain one."""


def written_by_us(tensors: dict[str, tuple[str, tuple[int, ...], bytes]], metadata: dict[str, str] | None) -> bytes:
    entries = [Entry(name, dtype, shape) for name, (dtype, shape, _) in tensors.items()]
    return safetensors_header(entries, metadata) + b"".join(tensors[entry.name][2] for entry in file_order(entries))


def written_by_the_library(
    tensors: dict[str, tuple[str, tuple[int, ...], bytes]], metadata: dict[str, str] | None
) -> bytes:
    kept = {name: ctypes.create_string_buffer(data, len(data) or 1) for name, (_, _, data) in tensors.items()}
    specs = {
        name: safetensors.TensorSpec(
            dtype=FRAMEWORK_NAMES[dtype], shape=list(shape), data_ptr=ctypes.addressof(kept[name]), data_len=len(data)
        )
        for name, (dtype, shape, data) in tensors.items()
    }
    return bytes(safetensors.serialize(specs, metadata))


@some.composite
def tables(draw: some.DrawFn) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    tensors = {}
    for name in draw(some.lists(some.text(TRICKY, max_size=4), unique=True, min_size=1, max_size=5)):
        dtype = draw(some.sampled_from(sorted(FRAMEWORK_NAMES)))
        shape = tuple(draw(some.lists(some.integers(0, 3), max_size=3)))
        size = Entry(name, dtype, shape).size_bytes
        tensors[name] = (dtype, shape, draw(some.binary(min_size=size, max_size=size)))
    return tensors


@given(
    tables(), some.none() | some.dictionaries(some.text(TRICKY, max_size=3), some.text(TRICKY, max_size=3), max_size=1)
)
def test_a_whole_file_equals_the_library_s(tensors, metadata):
    assert written_by_us(tensors, metadata) == written_by_the_library(tensors, metadata)


def test_one_tensor_of_every_dtype_is_ordered_as_the_library_orders_them():
    tensors = {
        f"{order}{dtype}": (dtype, (1,), bytes(ITEM_BITS[dtype] // 8)) for dtype in FRAMEWORK_NAMES for order in "ba"
    }
    assert written_by_us(tensors, None) == written_by_the_library(tensors, None)


def test_a_drafter_s_file_equals_the_numpy_writer_s():
    arrays = {"fc.weight": np.ones((4, 12), np.float16), "d2t": np.arange(8), "t2d": np.ones(16, np.bool_)}
    names = {"float16": "F16", "int64": "I64", "bool": "BOOL"}
    tensors = {name: (names[array.dtype.name], array.shape, array.tobytes()) for name, array in arrays.items()}
    assert written_by_us(tensors, {"format": "pt"}) == save(arrays, {"format": "pt"})


@given(tables())
def test_data_starts_on_a_multiple_of_eight(tensors):
    assert len(safetensors_header([Entry(name, row[0], row[1]) for name, row in tensors.items()])) % 8 == 0


@given(some.dictionaries(some.text(TRICKY, max_size=3), some.text(TRICKY, max_size=3), max_size=5))
def test_metadata_in_any_order_gives_the_same_bytes(metadata):
    backwards = dict(reversed(metadata.items()))
    assert safetensors_header([], metadata) == safetensors_header([], backwards)


def test_a_header_no_reader_would_accept_is_not_written(monkeypatch):
    monkeypatch.setattr(layout, "HEADER_LIMIT", 50)
    only(refused(lambda: safetensors_header([Entry("a" * 20, "U8", (1,))])), "header-too-large")


@pytest.mark.parametrize("pieces", [("a", "U8", (3, 2), 6), ("a", "BF16", (), 2), ("a", "F4", (4,), 2)])
def test_an_entry_knows_its_size(pieces):
    name, dtype, shape, size = pieces
    assert Entry(name, dtype, shape).size_bytes == size
