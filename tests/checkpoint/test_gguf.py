"""GGUF files: what the gguf library writes is read as it was meant, and no file can make us believe what it says."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES
from hypothesis import given
from hypothesis import strategies as some

from eaglekit.checkpoint.gguf_header import parse_gguf
from eaglekit.checkpoint.gguf_layout import gap, gguf_header
from eaglekit.checkpoint.gguf_types import DTYPES, QUANTISED, Kind
from eaglekit.checkpoint.layout import Entry
from eaglekit.checkpoint.opening import open_folder
from eaglekit.report import Finding, Refusal
from tests.checkpoint.making import ONE_TENSOR

Q8_0 = gguf.GGMLQuantizationType.Q8_0


def written(path: Path, *fill: Callable[[gguf.GGUFWriter], None]) -> bytes:
    """What the gguf library writes of an `eagle3` model."""
    writer = gguf.GGUFWriter(path, "eagle3")
    for add in fill:
        add(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def parsed(data: bytes) -> Any:
    """The header of a file with these bytes."""
    return parse_gguf(lambda start, end: data[start:end], len(data), "drafter.gguf")


def refused(data: bytes) -> Finding:
    """The one finding that these bytes are refused with."""
    with pytest.raises(Refusal) as caught:
        parsed(data)
    (finding,) = caught.value.findings
    return finding


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def file_of(*, keys: bytes = b"", key_count: int = 0, tensors: bytes = b"", tensor_count: int = 0, data: bytes = b"",
            version: int = 3) -> bytes:  # fmt: skip
    """A file put together by hand; the data begins at the next multiple of 32."""
    head = b"GGUF" + struct.pack("<IQQ", version, tensor_count, key_count) + keys + tensors
    return head + bytes(-len(head) % 32) + data


def described(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def test_numbers_words_and_short_lists_are_kept_and_dots_make_levels(tmp_path):
    data = written(
        tmp_path / "a.gguf",
        lambda writer: writer.add_uint32("eagle3.block_count", 1),
        lambda writer: writer.add_array("eagle3.target_layers", [2, 4, 5]),
        lambda writer: writer.add_bool("eagle3.norm_before_fc", True),
        lambda writer: writer.add_float64("eagle3.double", 0.1),
        lambda writer: writer.add_string("general.name", "a drafter"),
    )
    assert parsed(data).config == {
        "general": {"architecture": "eagle3", "name": "a drafter"},
        "eagle3": {"block_count": 1, "target_layers": [2, 4, 5], "norm_before_fc": True, "double": 0.1},
    }


def test_a_number_in_32_bits_is_the_shortest_decimal_that_it_can_be(tmp_path):
    data = written(tmp_path / "a.gguf", lambda writer: writer.add_float32("eagle3.epsilon", 1e-5))
    assert parsed(data).config["eagle3"] == {"epsilon": 1e-5}


@given(some.floats(width=32, allow_nan=False, allow_infinity=False))
def test_no_number_in_32_bits_changes_by_being_written_short(value):
    data = file_of(keys=text("a") + struct.pack("<If", Kind.FLOAT32, value), key_count=1)
    assert struct.pack("<f", parsed(data).config["a"]) == struct.pack("<f", value)


def test_of_a_long_list_only_its_kind_and_length_are_kept(tmp_path):
    data = written(
        tmp_path / "a.gguf",
        lambda writer: writer.add_token_list([f"token {number}" for number in range(300)]),
        lambda writer: writer.add_token_scores([0.0] * 300),
    )
    ggml = parsed(data).config["tokenizer"]["ggml"]
    assert ggml == {"tokens": {"of": "STRING", "length": 300}, "scores": {"of": "FLOAT32", "length": 300}}


def test_a_key_that_is_also_the_beginning_of_another_keeps_its_value(tmp_path):
    data = written(
        tmp_path / "a.gguf",
        lambda writer: writer.add_string("tokenizer.chat_template", "plain"),
        lambda writer: writer.add_string("tokenizer.chat_template.tool_use", "tools"),
    )
    assert parsed(data).config["tokenizer"] == {"chat_template": {"": "plain", "tool_use": "tools"}}


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int64", "int32", "int16", "int8"])
def test_a_tensor_lies_where_the_library_put_it(tmp_path, dtype):
    first, second = np.arange(6, dtype=dtype).reshape(2, 3), np.arange(5, dtype=dtype)
    data = written(
        tmp_path / "a.gguf",
        lambda writer: writer.add_tensor("one", first),
        lambda writer: writer.add_tensor("two", second),
    )
    found = parsed(data).tensors
    for name, array in (("one", first), ("two", second)):
        assert (found[name].shape, data[found[name].start : found[name].end]) == (array.shape, array.tobytes())


def test_bf16_is_read_as_it_is_stored(tmp_path):
    raw = np.arange(8, dtype=np.uint8).reshape(2, 4)
    bf16 = gguf.GGMLQuantizationType.BF16
    data = written(tmp_path / "a.gguf", lambda writer: writer.add_tensor("one", raw, raw_dtype=bf16))
    tensor = parsed(data).tensors["one"]
    assert (tensor.dtype, tensor.shape, data[tensor.start : tensor.end]) == ("BF16", (2, 2), raw.tobytes())


def test_every_type_that_the_library_knows_is_read_or_refused_by_name():
    plain = {kind.value: kind.name for kind in gguf.GGMLQuantizationType if GGML_QUANT_SIZES[kind][0] == 1}
    packed = {kind.value: kind.name for kind in gguf.GGMLQuantizationType if GGML_QUANT_SIZES[kind][0] > 1}
    assert dict(DTYPES) == plain
    assert packed.items() <= QUANTISED.items()


def test_quantised_tensors_are_refused_by_name_and_type(tmp_path):
    numbers = gguf.quants.quantize(np.ones((2, 32), np.float32), Q8_0)
    data = written(tmp_path / "a.gguf", lambda writer: writer.add_tensor("fc.weight", numbers, raw_dtype=Q8_0))
    finding = refused(data)
    assert (finding.code, finding.got) == ("gguf-quantised", "Q8_0")
    assert "fc.weight" in finding.message


def test_another_alignment_is_followed(tmp_path):
    def aligned(writer: gguf.GGUFWriter) -> None:
        writer.add_custom_alignment(64)
        writer.add_tensor("one", np.ones(3, np.float32))
        writer.add_tensor("two", np.full(3, 2, np.float32))

    data = written(tmp_path / "a.gguf", aligned)
    tensor = parsed(data).tensors["two"]
    assert data[tensor.start : tensor.end] == np.full(3, 2, np.float32).tobytes()


KEY = text("a")
LIARS: Mapping[str, tuple[bytes, str]] = {
    "keys": (file_of(key_count=1 << 60), "gguf-invalid"),
    "tensors": (file_of(tensor_count=1 << 60), "gguf-invalid"),
    "the length of a key": (file_of(keys=struct.pack("<Q", 1 << 62), key_count=1), "gguf-invalid"),
    "the length of a list of numbers": (
        file_of(keys=KEY + struct.pack("<IIQ", Kind.ARRAY, Kind.UINT8, 1 << 60), key_count=1), "file-truncated",
    ),
    "the length of a list of words": (
        file_of(keys=KEY + struct.pack("<IIQ", Kind.ARRAY, Kind.STRING, 1 << 60), key_count=1), "file-truncated",
    ),
    "the length of a word": (
        file_of(keys=KEY + struct.pack("<IQ", Kind.STRING, (1 << 64) - 1), key_count=1), "gguf-invalid",
    ),
    "the size of a tensor": (
        file_of(tensors=described("a", (1 << 40, 1 << 40), 0, 0), tensor_count=1, data=bytes(64)), "file-truncated",
    ),
    "the number of axes": (
        file_of(tensors=text("a") + struct.pack("<I", 1 << 31), tensor_count=1), "gguf-invalid",
    ),
}  # fmt: skip
"""What a file can lie about -> such a file, and how it is refused."""


@pytest.mark.parametrize("lie", LIARS)
def test_a_count_or_length_that_the_file_cannot_hold_costs_no_memory(lie):
    data, code = LIARS[lie]
    tracemalloc.start()
    finding = refused(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert finding.code == code
    assert peak < 1 << 20


WRONG: Mapping[str, bytes] = {
    "another magic": b"GGML" + bytes(60),
    "a list of lists": file_of(keys=KEY + struct.pack("<IIQ", Kind.ARRAY, Kind.ARRAY, 1), key_count=1),
    "a type that is none": file_of(keys=KEY + struct.pack("<I", 99), key_count=1),
    "a key twice": file_of(keys=(KEY + struct.pack("<II", Kind.UINT32, 1)) * 2, key_count=2),
    "a key of many parts": file_of(keys=text("." * 99) + struct.pack("<II", Kind.UINT32, 1), key_count=1),
    "not a number": file_of(keys=KEY + struct.pack("<If", Kind.FLOAT32, float("nan")), key_count=1),
    "an alignment of three": file_of(
        keys=text("general.alignment") + struct.pack("<II", Kind.UINT32, 3), key_count=1
    ),
    "a tensor twice": file_of(tensors=described("a", (1,), 0, 0) * 2, tensor_count=2, data=bytes(64)),
    "a tensor of an unknown type": file_of(tensors=described("a", (1,), 77, 0), tensor_count=1, data=bytes(64)),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_breaks_the_format_is_refused(what):
    assert refused(WRONG[what]).code == "gguf-invalid"


@pytest.mark.parametrize("offset", [32, 16, 1 << 63])
def test_a_tensor_that_does_not_follow_the_one_before_is_refused(offset):
    data = file_of(tensors=described("a", (2,), 0, offset), tensor_count=1, data=bytes(128))
    assert refused(data).code == "tensor-bytes"


def test_two_tensors_over_the_same_bytes_are_refused():
    tensors = described("a", (8,), 0, 0) + described("b", (8,), 0, 0)
    assert refused(file_of(tensors=tensors, tensor_count=2, data=bytes(64))).code == "tensor-bytes"


def test_bytes_behind_the_last_tensor_are_refused():
    data = file_of(tensors=described("a", (8,), 0, 0), tensor_count=1, data=bytes(64))
    assert refused(data).code == "file-appended"


def test_a_last_tensor_without_padding_is_read():
    data = file_of(tensors=described("a", (2,), 0, 0), tensor_count=1, data=bytes(8))
    assert parsed(data).tensors["a"].size_bytes == 8


@pytest.mark.parametrize(("version", "got"), [(1, "version 1"), (3 << 24, "version 3, big-endian")])
def test_another_version_and_another_byte_order_are_refused(version, got):
    finding = refused(file_of(version=version))
    assert (finding.code, finding.got) == ("gguf-unsupported", got)


def test_a_part_of_a_split_file_is_refused():
    data = file_of(keys=text("split.count") + struct.pack("<IH", Kind.UINT16, 3), key_count=1)
    assert refused(data).code == "gguf-unsupported"


@given(some.data())
def test_a_damaged_file_is_read_or_refused_and_nothing_else(data):
    whole = bytearray(_sample())
    for _ in range(data.draw(some.integers(1, 4))):
        whole[data.draw(some.integers(0, len(whole) - 1))] = data.draw(some.integers(0, 255))
    cut = bytes(whole[: data.draw(some.integers(0, len(whole)))])
    for damaged in (bytes(whole), cut):
        try:
            found = parsed(damaged)
        except Refusal:
            continue
        assert all(tensor.end <= len(damaged) for tensor in found.tensors.values())


def _sample() -> bytes:
    entries = [Entry("fc.weight", "F32", (2, 3)), Entry("d2t", "I64", (4,))]
    metadata = {"general": {"architecture": "eagle3"}, "eagle3": {"layers": [1, 2, 3], "on": True, "epsilon": 1e-5}}
    return gguf_header(entries, metadata) + b"".join(bytes(entry.size_bytes) + gap(entry) for entry in entries)


def test_the_library_reads_what_we_write(tmp_path):
    entries = [Entry("fc.weight", "F32", (2, 3)), Entry("d2t", "I64", (5,)), Entry("one", "BF16", (3,))]
    arrays = [np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(5), np.array([1, 2, 3], np.uint16)]
    metadata = {
        "general": {"architecture": "eagle3"},
        "eagle3": {"layers": [1, 2, 3], "on": True, "epsilon": 1e-5, "count": 4, "name": "näme", "all": [0.5, 1.5]},
    }
    data = gguf_header(entries, metadata)
    for entry, array in zip(entries, arrays, strict=True):
        data += array.tobytes() + gap(entry)
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    reader = gguf.GGUFReader(path)
    values = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    assert values == {
        "general.architecture": "eagle3", "eagle3.layers": [1, 2, 3], "eagle3.on": True, "eagle3.count": 4,
        "eagle3.epsilon": np.float32(1e-5), "eagle3.name": "näme", "eagle3.all": [0.5, 1.5],
    }  # fmt: skip
    assert next(iter(values)) == "general.architecture"
    for tensor, entry, array in zip(reader.tensors, entries, arrays, strict=True):
        assert (tensor.name, tensor.shape.tolist()) == (entry.name, list(entry.shape[::-1]))
        assert tensor.data.tobytes() == array.tobytes()


def test_we_read_what_we_write():
    found = parsed(_sample())
    assert found.config == {
        "general": {"architecture": "eagle3"}, "eagle3": {"layers": [1, 2, 3], "on": True, "epsilon": 1e-5},
    }  # fmt: skip
    assert {tensor.name: tensor.shape for tensor in found.tensors.values()} == {"fc.weight": (2, 3), "d2t": (4,)}


def opened(folder: Path, **files: bytes) -> Any:
    folder.mkdir()
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return open_folder(folder)


def test_a_folder_with_one_gguf_file_needs_no_config(tmp_path):
    checkpoint = opened(tmp_path / "drafter", a_gguf=_sample())
    assert (checkpoint.layout, checkpoint.weight_files, checkpoint.config_file) == ("gguf", ("a.gguf",), None)


def test_a_gguf_file_is_opened_by_its_own_name_and_nothing_beside_it(tmp_path):
    (tmp_path / "a.gguf").write_bytes(_sample())
    (tmp_path / "b.gguf").write_bytes(b"another")
    assert dict(open_folder(tmp_path / "a.gguf").source.files()) == {"a.gguf": len(_sample())}


def test_two_gguf_files_are_one_too_many(tmp_path):
    with pytest.raises(Refusal) as caught:
        opened(tmp_path / "drafter", a_gguf=_sample(), b_gguf=_sample())
    assert [finding.code for finding in caught.value.findings] == ["several-weight-files"]


def test_safetensors_go_before_a_gguf_file_beside_them(tmp_path):
    checkpoint = opened(tmp_path / "drafter", a_gguf=_sample(), model_safetensors=ONE_TENSOR, config_json=b"{}")
    assert (checkpoint.layout, "a.gguf" in checkpoint.extra_files) == ("single", True)


def test_the_fingerprint_follows_the_metadata(tmp_path):
    first = opened(tmp_path / "one", a_gguf=_sample())
    second = opened(tmp_path / "two", a_gguf=_sample().replace(b"eagle3.on", b"eagle3.no"))
    assert first.content_digest() != second.content_digest()
