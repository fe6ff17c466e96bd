"""Folders made to hurt: headers that lie, indexes that climb, configs that explode, files that are none.

All of it must end in a refusal, soon, without reading outside the folder and without much memory.
"""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.checkpoint.header import HEADER_LIMIT
from eaglekit.checkpoint.json_document import CONFIG_LIMIT
from tests.checkpoint.making import ONE_TENSOR, entry, file_of, folder_of, framed, only, refused

SHARD = "model-00001-of-00001.safetensors"
INDEX = "model.safetensors.index.json"


def opening(path: Path):
    return refused(lambda: open_folder(path))


def with_weights(path: Path, weights: bytes) -> Path:
    return folder_of(path, {"model.safetensors": weights})


def with_index(path: Path, shard: str) -> Path:
    return folder_of(path / "drafter", {SHARD: ONE_TENSOR, INDEX: {"weight_map": {"weight": shard}}})


@pytest.mark.parametrize("cut", [1, 10, len(ONE_TENSOR) - 9, len(ONE_TENSOR) - 8, len(ONE_TENSOR) - 1, len(ONE_TENSOR)])
def test_a_file_cut_anywhere_is_refused(tmp_path, cut):
    only(opening(with_weights(tmp_path, ONE_TENSOR[: len(ONE_TENSOR) - cut])), "file-truncated")


def test_ten_bytes_short_is_told_with_expected_and_found_length(tmp_path):
    data = file_of({"weight": entry(0, 100)}, bytes(100))
    finding = only(opening(with_weights(tmp_path, data[:-10])), "file-truncated")
    assert (finding.expected, finding.got) == (f"{len(data)} bytes", f"{len(data) - 10} bytes")


def test_sixteen_bytes_appended_are_told_with_expected_and_found_length(tmp_path):
    finding = only(opening(with_weights(tmp_path, ONE_TENSOR + bytes(16))), "file-appended")
    assert (finding.expected, finding.got) == (f"{len(ONE_TENSOR)} bytes", f"{len(ONE_TENSOR) + 16} bytes")


@pytest.mark.parametrize("length", [200_000_000, 2**63, 2**64 - 1])
def test_a_huge_header_is_refused_before_memory_is_taken_for_it(tmp_path, length):
    path = with_weights(tmp_path, length.to_bytes(8, "little") + b"{}")
    os.truncate(path / "model.safetensors", 300_000_000)  # sparse: the file is long enough for the first of them
    tracemalloc.start()
    try:
        only(opening(path), "header-too-large")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


def test_a_large_header_in_a_short_file_is_refused_before_memory_is_taken_for_it(tmp_path):
    path = with_weights(tmp_path, HEADER_LIMIT.to_bytes(8, "little") + b"{}")
    tracemalloc.start()
    try:
        only(opening(path), "file-truncated")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


@pytest.mark.parametrize(
    ("header", "code"),
    [
        pytest.param(b"[" * 1_000_000, "json-too-deep", id="a million brackets"),
        pytest.param(b'{"a":' * 1_000_000, "json-too-deep", id="a million objects"),
        pytest.param(b'{"a": NaN}', "json-number", id="NaN"),
        pytest.param(b'{"__metadata__": {}, "__metadata__": {}}', "json-duplicate-key", id="metadata twice"),
        pytest.param(b"\xff\xfe{}", "json-encoding", id="bytes that are no text"),
        pytest.param(b"PK\3\4", "json-invalid", id="a zip"),
    ],
)
def test_a_header_that_is_no_table_is_refused(tmp_path, header, code):
    only(opening(with_weights(tmp_path, framed(header))), code)


def test_tensors_over_the_same_bytes_are_refused(tmp_path):
    data = file_of({"lm_head.weight": entry(0, 4), "embed_tokens.weight": entry(0, 4)}, bytes(4))
    only(opening(with_weights(tmp_path, data)), "tensor-bytes")


@pytest.mark.parametrize("shard", ["../secret", "/etc/passwd", "..\\secret", "a/../../secret", "./../secret"])
def test_an_index_that_leaves_the_folder_is_refused_and_nothing_is_read(tmp_path, shard):
    (tmp_path / "secret").write_bytes(ONE_TENSOR)
    assert only(opening(with_index(tmp_path, shard)), "index-path-unsafe").got == shard


def test_a_shard_that_is_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(ONE_TENSOR)
    path = with_index(tmp_path, "shard.safetensors")
    (path / "shard.safetensors").symlink_to(tmp_path / "secret")
    assert set(opening(path)) == {"link-leaves-folder"}


def test_a_shard_below_a_linked_folder_is_refused(tmp_path):
    folder_of(tmp_path / "elsewhere", {"shard.safetensors": ONE_TENSOR})
    path = with_index(tmp_path, "deeper/shard.safetensors")
    (path / "deeper").symlink_to(tmp_path / "elsewhere")
    assert set(opening(path)) == {"link-leaves-folder"}


def test_a_config_that_is_a_link_to_a_secret_is_not_read(tmp_path):
    (tmp_path / "secret.json").write_text('{"token": "hf_secret"}')
    path = with_weights(tmp_path / "drafter", ONE_TENSOR)
    (path / "config.json").unlink()
    (path / "config.json").symlink_to(tmp_path / "secret.json")
    assert "hf_secret" not in str(opening(path))


def test_an_unlisted_tensor_cannot_ride_along_in_a_listed_shard(tmp_path):
    path = with_index(tmp_path, SHARD)
    (path / SHARD).write_bytes(file_of({"weight": entry(0, 4), "stowaway": entry(4, 8)}, bytes(8)))
    only(opening(path), "index-tensor-unlisted")


@pytest.mark.parametrize(
    ("config", "code"),
    [
        pytest.param(b"[]", "json-not-an-object", id="a list"),
        pytest.param(b"null", "json-not-an-object", id="null"),
        pytest.param(b'{"rope_theta": NaN}', "json-number", id="NaN"),
        pytest.param(b'{"vocab_size": 1e400}', "json-number", id="a float beyond all floats"),
        pytest.param(b'{"vocab_size": 1' + b"0" * 5000 + b"}", "json-number", id="an integer of 5000 digits"),
        pytest.param(b'{"norm_output": true, "norm_output": false}', "json-duplicate-key", id="a key twice"),
        pytest.param('{"a": 1}'.encode("utf-16"), "json-encoding", id="UTF-16"),
        pytest.param(b"\xef\xbb\xbf{}", "json-encoding", id="byte order mark"),
        pytest.param(b'{"a": "\xff"}', "json-encoding", id="bytes that are no text"),
        pytest.param(b'{"a":' * 500_000, "json-too-deep", id="nested half a million deep"),
        pytest.param(b'{"a": 1', "json-invalid", id="half a config"),
        pytest.param(b"", "json-invalid", id="nothing"),
        pytest.param(b"<!DOCTYPE html>", "json-invalid", id="a web page"),
    ],
)
def test_a_config_that_is_none_is_refused(tmp_path, config, code):
    path = with_weights(tmp_path, ONE_TENSOR)
    (path / "config.json").write_bytes(config)
    only(opening(path), code)


def test_a_config_of_a_hundred_megabytes_is_refused_without_being_read(tmp_path):
    path = with_weights(tmp_path, ONE_TENSOR)
    os.truncate(path / "config.json", 100 << 20)
    tracemalloc.start()
    try:
        assert only(opening(path), "json-too-large").expected == f"at most {CONFIG_LIMIT} bytes"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "README.md"])
def test_a_named_pipe_is_refused_instead_of_waited_for(tmp_path, name):
    path = with_weights(tmp_path, ONE_TENSOR)
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    assert opening(path)["special-file"].place == name


def test_a_link_to_a_device_is_refused(tmp_path):
    path = with_weights(tmp_path, ONE_TENSOR)
    (path / "README.md").symlink_to("/dev/zero")
    only(opening(path), "link-leaves-folder")


def test_folders_that_link_to_each_other_do_not_keep_us_busy(tmp_path):
    path = with_weights(tmp_path, ONE_TENSOR)
    (path / "loop").symlink_to(".")
    only(opening(path), "special-file")


def test_a_tensor_name_cannot_speak_to_the_terminal(tmp_path):
    name = "\x1b]0;owned\x07"
    data = file_of({name: entry(0, 4, 5)}, bytes(4))
    assert "\x1b" not in only(opening(with_weights(tmp_path, data)), "header-entry").message
