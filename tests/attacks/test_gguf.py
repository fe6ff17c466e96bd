"""Attacks on GGUF: files that take long or say much, names that llama.cpp refuses, numbers that do not fit in one."""

from __future__ import annotations

import json
import shutil
import struct
import time
from pathlib import Path
from typing import Any

import pytest

import eaglekit
from eaglekit.checkpoint.gguf_header import parse_gguf
from eaglekit.checkpoint.gguf_types import Kind
from eaglekit.report import Finding, Refusal
from tests.checkpoint.test_gguf import described, file_of, parsed, refused, text
from tests.cli.running import CHECKPOINTS

STRINGS = text("tokens") + struct.pack("<II", Kind.ARRAY, Kind.STRING)


def test_millions_of_empty_strings_are_passed_over_in_seconds() -> None:
    data = file_of(keys=STRINGS + struct.pack("<Q", 2_000_000) + bytes(16_000_000), key_count=1)
    start = time.process_time()
    assert parsed(data).config == {"tokens": {"of": "STRING", "length": 2_000_000}}
    assert time.process_time() - start < 3


def test_a_long_list_is_read_over_pieces_of_the_file() -> None:
    entries = b"".join(text("x" * (number % 5000)) for number in range(3000))
    after = text("a") + struct.pack("<IB", Kind.UINT8, 7)
    data = file_of(keys=STRINGS + struct.pack("<Q", 3000) + entries + after, key_count=2)
    header = parse_gguf(lambda start, end: data[start:end], len(data), "drafter.gguf")
    assert header.config == {"tokens": {"of": "STRING", "length": 3000}, "a": 7}


@pytest.mark.parametrize("length", [2**64 - 1, 2**40], ids=["of 2**64 bytes", "of a terabyte"])
def test_a_string_in_a_long_list_ends_within_the_file(length: int) -> None:
    entries = bytes(8 * 99) + struct.pack("<Q", length)
    assert refused(file_of(keys=STRINGS + struct.pack("<Q", 100) + entries, key_count=1)).code == "file-truncated"


def test_a_key_of_a_megabyte_is_not_told_whole() -> None:
    key = text("k" * (1 << 20)) + struct.pack("<IB", Kind.UINT8, 1)
    assert len(str(refused(file_of(keys=key + key, key_count=2)))) < 2000


@pytest.mark.parametrize(("name", "fits"), [("n" * 63, True), ("n" * 64, False), ("ö" * 32, False)])
def test_a_name_that_llama_cpp_refuses_is_refused(name: str, fits: bool) -> None:
    data = file_of(tensors=described(name, (1,), 0, 0), tensor_count=1, data=bytes(32))
    if fits:
        assert set(parsed(data).tensors) == {name}
    else:
        assert refused(data).code == "gguf-invalid"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("rope_theta", 1e308, id="a number above single precision"),
        pytest.param("rms_norm_eps", 1e-60, id="a number below it"),
        pytest.param("pad_token_id", 2**33, id="an id of more than 32 bits"),
        pytest.param("eos_token_id", [1, 2**31], id="a list of such ids"),
    ],
)
def test_a_number_that_metadata_cannot_hold_is_refused(key: str, value: Any, tmp_path: Path) -> None:
    finding = conversion_refused(tmp_path, key, value)
    assert finding.code == "dialect-cannot-hold"
    assert finding.got == str(value)
    assert not (tmp_path / "out").exists()


def conversion_refused(folder: Path, key: str, value: Any) -> Finding:
    """What a conversion to GGUF of a drafter with this value is refused with."""
    shutil.copytree(CHECKPOINTS / "speculators-0.9-llama", folder / "drafter")
    file = folder / "drafter" / "config.json"
    config = json.loads(file.read_text())
    layer = config["transformer_layer_config"]
    (layer["rope_parameters"] if key == "rope_theta" else layer)[key] = value
    file.write_text(json.dumps(config))
    with pytest.raises(Refusal) as caught:
        eaglekit.convert(folder / "drafter", folder / "out", to="gguf")
    (finding,) = [one for one in caught.value.findings if one.severity is eaglekit.Severity.ERROR]
    return finding
