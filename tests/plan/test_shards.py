"""Weights over several files: split where the limit says, merged where it does not, the index right."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eaglekit.dialects.tables import DIALECTS
from eaglekit.plan.sizes import parse_size
from tests.dialects.folders import files_of, folder_of
from tests.dialects.strategies import PLAIN
from tests.plan.converting import converted, refused, tensors_in, tensors_of

INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A source in one file, and what it is converted to."""
    folder = tmp_path_factory.mktemp("whole")
    converted(folder_of(folder / "source", PLAIN, DIALECTS["vllm"]), folder / "out", to="vllm")
    return folder


def data_bytes(folder: Path) -> dict[str, int]:
    """Weight file -> bytes of its tensors."""
    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        raw = file.read_bytes()
        found[file.name] = len(raw) - 8 - int.from_bytes(raw[:8], "little")
    return found


@settings(max_examples=25)
@given(some.integers(1, 4000))
def test_split_weights_are_the_same_tensors_within_the_limit(whole, limit):
    with tempfile.TemporaryDirectory() as name:
        out = converted(whole / "source", Path(name) / "out", to="vllm", max_shard_bytes=limit)
        assert tensors_of(out) == tensors_of(whole / "out")
        largest = {file: max(len(s.data) for s in tensors_in(out / file).values()) for file in data_bytes(out)}
        assert [f for f, size in data_bytes(out).items() if size > max(limit, largest[f])] == []


@pytest.mark.parametrize("limit", [1, 100, 500, 2000])
def test_the_index_names_the_file_of_every_tensor(whole, limit, tmp_path):
    out = converted(whole / "source", tmp_path / "out", to="vllm", max_shard_bytes=limit)
    stored = {name: file for file in data_bytes(out) for name in tensors_in(out / file)}
    assert json.loads((out / INDEX).read_text())["weight_map"] == stored


@pytest.mark.parametrize("limit", [1, 100, 500, 2000])
def test_the_total_size_counts_the_bytes_of_all_tensors(whole, limit, tmp_path):
    out = converted(whole / "source", tmp_path / "out", to="vllm", max_shard_bytes=limit)
    total = sum(len(stored.data) for stored in tensors_of(out).values())
    assert json.loads((out / INDEX).read_text())["metadata"] == {"total_size": total}
    assert sum(data_bytes(out).values()) == total


def test_files_are_numbered_from_one_to_their_number(whole, tmp_path):
    out = converted(whole / "source", tmp_path / "out", to="vllm", max_shard_bytes=500)
    total = len(data_bytes(out))
    assert total > 2
    assert list(data_bytes(out)) == [f"model-{n:05d}-of-{total:05d}.safetensors" for n in range(1, total + 1)]


def test_a_tensor_larger_than_the_limit_has_a_file_of_its_own(whole, tmp_path):
    out = converted(whole / "source", tmp_path / "out", to="vllm", max_shard_bytes=1)
    assert {len(tensors_in(out / file)) for file in data_bytes(out)} == {1}


def test_weights_within_the_limit_are_one_file_without_an_index(whole, tmp_path):
    out = converted(whole / "source", tmp_path / "out", to="vllm", max_shard_bytes=1 << 20)
    assert files_of(out) == files_of(whole / "out")


@pytest.mark.parametrize("shards", [2, 3, 7])
def test_shards_are_merged_into_the_file_that_one_file_gives(whole, shards, tmp_path):
    source = folder_of(tmp_path / "source", PLAIN, DIALECTS["vllm"], shards=shards)
    out = converted(source, tmp_path / "out", to="vllm")
    assert files_of(out)["model.safetensors"] == files_of(whole / "out")["model.safetensors"]
    assert INDEX not in files_of(out)


def test_what_was_split_is_merged_again_byte_for_byte(whole, tmp_path):
    split = converted(whole / "source", tmp_path / "split", to="vllm", max_shard_bytes=300)
    merged = converted(split, tmp_path / "merged", to="vllm")
    assert files_of(merged)["model.safetensors"] == files_of(whole / "out")["model.safetensors"]


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("500MB", 500_000_000), ("2GB", 2_000_000_000), ("1GiB", 1 << 30), ("1.5 kib", 1536), ("7 B", 7)],
)
def test_a_size_as_people_write_it(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "MB", "1TB", "1e9", "1,5GB", "nan", "0.1"])
def test_what_is_no_size_is_refused(text):
    assert set(refused(lambda: parse_size(text))) == {"shard-size"}
