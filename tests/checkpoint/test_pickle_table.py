"""Archives written by torch itself (fixtures/pickles.py), read without torch and compared with torch's own account."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.checkpoint.pickle_child import DTYPES
from tests.checkpoint.making import folder_of, only, refused

DATA = Path(__file__).parent / "data"
RECORDED = json.loads((DATA / "pickles.json").read_text())
READABLE = ["every-dtype", "parameters", "shared", "state-dict", "strided"]


def specimen(path: Path, name: str) -> Path:
    folder_of(path, {})
    shutil.copy(DATA / f"{name}.bin", path / "pytorch_model.bin")
    return path


def opening(path: Path):
    return refused(lambda: open_folder(path))


@pytest.mark.parametrize("name", READABLE)
def test_what_torch_saved_is_read_with_the_same_bytes(tmp_path, name):
    opened = open_folder(specimen(tmp_path, name))
    found = {
        name: (tensor.dtype, list(tensor.shape), hashlib.sha256(opened.read(name)).hexdigest())
        for name, tensor in opened.tensors.items()
    }
    assert found == {name: (DTYPES[row["dtype"]], row["shape"], row["sha256"]) for name, row in RECORDED[name].items()}


def test_a_pickle_has_its_own_layout(tmp_path):
    opened = open_folder(specimen(tmp_path, "state-dict"))
    assert (opened.layout, opened.weight_files) == ("pickle", ("pytorch_model.bin",))


def test_tensors_that_share_a_storage_are_two_ranges_of_the_same_bytes(tmp_path):
    tensors = open_folder(specimen(tmp_path, "shared")).tensors
    head, embedding, row = tensors["lm_head.weight"], tensors["embed_tokens.weight"], tensors["row"]
    assert (head.start, head.end) == (embedding.start, embedding.end)
    assert row.start == embedding.start + 2 * embedding.size_bytes // 4


def test_a_contiguous_tensor_has_no_strides(tmp_path):
    assert all(tensor.strides is None for tensor in open_folder(specimen(tmp_path, "every-dtype")).tensors.values())


def test_a_transposed_tensor_comes_out_contiguous(tmp_path):
    opened = open_folder(specimen(tmp_path, "strided"))
    words = np.frombuffer(opened.read("transposed"), np.uint16).astype(np.uint32) << 16
    assert words.view(np.float32).reshape(6, 4).tolist() == np.arange(24.0).reshape(4, 6).T.tolist()


def test_a_transposed_tensor_is_streamed_in_pieces(tmp_path):
    opened = open_folder(specimen(tmp_path, "strided"))
    pieces = list(opened.chunks("transposed", size_bytes=16))
    assert [len(piece) for piece in pieces] == [16, 16, 16]
    assert b"".join(pieces) == opened.read("transposed")


def test_shards_of_pickles_are_one_table(tmp_path):
    for name in ("parameters", "state-dict"):
        shutil.copy(DATA / f"{name}.bin", tmp_path / f"{name}.bin")
    with (tmp_path / "pytorch_model.bin.index.json").open("w") as index:
        json.dump({"weight_map": {"weight": "state-dict.bin", "bias": "state-dict.bin"}}, index)
    opened = open_folder(folder_of(tmp_path, {}))
    assert (set(opened.tensors), opened.weight_files) == ({"weight", "bias"}, ("state-dict.bin",))


@pytest.mark.parametrize(
    ("name", "code", "word"),
    [
        pytest.param("legacy", "pickle-legacy", "version 1.6", id="format before torch 1.6"),
        pytest.param("module", "pickle-global", "torch.nn.modules.linear.Linear", id="a whole module"),
        pytest.param("tensor", "pickle-not-a-dictionary", "a tensor instead", id="a bare tensor"),
        pytest.param("expanded", "pickle-storage", "an expanded view", id="an expanded view"),
        pytest.param("negated", "pickle-malformed", "lazily negated", id="a lazily negated view"),
    ],
)
def test_what_torch_saved_and_is_no_table_of_tensors_is_refused(tmp_path, name, code, word):
    assert word in only(opening(specimen(tmp_path, name)), code).message


def test_a_nested_state_dict_is_not_unwrapped_silently(tmp_path):
    findings = opening(specimen(tmp_path, "nested"))
    assert "'state_dict'" in findings["pickle-nested"].message
    assert "step (int)" in findings["pickle-value"].message
