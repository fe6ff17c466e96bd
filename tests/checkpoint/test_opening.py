"""Which files of a folder count, and what a checkpoint tells about itself."""

from __future__ import annotations

import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from eaglekit.checkpoint import open_folder, open_source
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.model import READ_LIMIT
from tests.checkpoint.making import ONE_TENSOR, entry, file_of, folder_of, only, refused

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 1700000000\n"


def opening(path):
    return refused(lambda: open_folder(path))


def test_a_folder_saved_by_the_library_is_read_back(tmp_path):
    tensors = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.arange(4)}
    folder_of(tmp_path, {"config.json": {"hidden_size": 64}})
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    opened = open_folder(tmp_path)
    assert (opened.config, opened.metadata, opened.layout) == ({"hidden_size": 64}, {"format": "pt"}, "single")
    assert list(opened.tensors) == ["a", "b"]
    assert {name: opened.read(name) for name in tensors} == {name: array.tobytes() for name, array in tensors.items()}


def test_a_tensor_is_streamed_in_pieces_of_the_size_asked_for(tmp_path):
    path = folder_of(tmp_path, {"model.safetensors": file_of({"a": entry(0, 10)}, b"0123456789")})
    assert list(open_folder(path).chunks("a", size_bytes=4)) == [b"0123", b"4567", b"89"]


def test_a_large_tensor_is_not_taken_into_memory(tmp_path):
    size = READ_LIMIT + 1
    path = folder_of(tmp_path, {"model.safetensors": file_of({"a": entry(0, size)})})
    os.truncate(path / "model.safetensors", (path / "model.safetensors").stat().st_size + size)
    opened = open_folder(path)
    only(refused(lambda: opened.read("a")), "tensor-too-large")


def test_other_files_are_listed_apart(tmp_path):
    path = folder_of(tmp_path, {"model.safetensors": ONE_TENSOR, "README.md": "text", "tokenizer/vocab.txt": "a"})
    assert open_folder(path).extra_files == {"README.md": 4, "tokenizer/vocab.txt": 1}


def test_the_only_safetensors_file_may_have_any_name(tmp_path):
    path = folder_of(tmp_path, {"eagle3.safetensors": ONE_TENSOR})
    assert open_folder(path).weight_files == ("eagle3.safetensors",)


def test_an_adapter_is_opened_for_others_to_recognise(tmp_path):
    path = folder_of(tmp_path, {"adapter_config.json": {"peft_type": "LORA"}, "adapter_model.safetensors": ONE_TENSOR})
    (path / "config.json").unlink()
    assert open_folder(path).config == {"peft_type": "LORA"}


def test_several_safetensors_files_without_an_index_are_refused(tmp_path):
    path = folder_of(tmp_path, {"model.safetensors": ONE_TENSOR, "extra.safetensors": ONE_TENSOR})
    assert only(opening(path), "several-weight-files").place == "extra.safetensors, model.safetensors"


def test_a_folder_with_a_cut_gguf_file_is_refused_as_such(tmp_path):
    path = folder_of(tmp_path, {"draft.gguf": b"GGUF"})
    (path / "config.json").unlink()
    assert only(opening(path), "file-truncated").place == "draft.gguf"


def test_a_gguf_file_under_another_name_is_refused_as_such(tmp_path):
    only(opening(folder_of(tmp_path, {"model.safetensors": b"GGUF\3\0\0\0" + bytes(64)})), "gguf-unsupported")


def test_a_git_lfs_pointer_is_refused_with_what_it_points_to(tmp_path):
    finding = only(opening(folder_of(tmp_path, {"model.safetensors": POINTER})), "weights-not-downloaded")
    assert finding.got == "pointer to sha256:" + "ab" * 32
    assert finding.expected == "1700000000 bytes of weights"
    assert "git lfs pull" in finding.hint


def test_a_folder_without_weights_is_refused(tmp_path):
    only(opening(folder_of(tmp_path, {})), "weights-missing")


def test_a_trainer_s_raw_state_is_named(tmp_path):
    assert only(opening(folder_of(tmp_path, {"state.pt": b"x"})), "weights-missing").got == "state.pt"


def test_a_file_without_tensors_is_no_weights(tmp_path):
    only(opening(folder_of(tmp_path, {"model.safetensors": file_of({})})), "weights-missing")


def test_a_missing_config_and_damaged_weights_are_told_at_once(tmp_path):
    path = folder_of(tmp_path, {"model.safetensors": ONE_TENSOR[:-1]})
    (path / "config.json").unlink()
    assert set(opening(path)) == {"config-missing", "file-truncated"}


def test_a_config_one_folder_below_is_pointed_out(tmp_path):
    path = folder_of(tmp_path / "run", {"epoch_3/config.json": "{}", "epoch_3/model.safetensors": ONE_TENSOR})
    (path / "config.json").unlink()
    assert "epoch_3" in opening(path)["config-missing"].hint


def test_a_config_above_the_limit_is_refused_before_it_is_read(tmp_path):
    path = folder_of(tmp_path, {"model.safetensors": ONE_TENSOR})
    os.truncate(path / "config.json", 100 << 20)
    only(opening(path), "json-too-large")


def test_a_pickle_beside_safetensors_is_a_warning(tmp_path):
    path = folder_of(tmp_path, {"model.safetensors": ONE_TENSOR, "pytorch_model.bin": b"x"})
    opened = open_folder(path)
    assert [finding.code for finding in opened.findings] == ["two-weight-formats"]
    assert opened.layout == "single"


def test_the_fingerprint_is_the_same_for_the_same_files(tmp_path):
    path = folder_of(tmp_path, {"model.safetensors": ONE_TENSOR})
    assert open_folder(path).fingerprint() == open_source(LocalFolder(path, "elsewhere")).fingerprint()
    assert open_folder(path).fingerprint().startswith("sha256:")


def change_config(path):
    (path / "config.json").write_text("{ }")


def change_header(path):
    keep = (path / "model.safetensors").stat()
    (path / "model.safetensors").write_bytes(ONE_TENSOR.replace(b"weight", b"weighT"))
    os.utime(path / "model.safetensors", ns=(keep.st_atime_ns, keep.st_mtime_ns))


def change_time(path):
    os.utime(path / "model.safetensors", ns=(1, 1))


@pytest.mark.parametrize("change", [change_config, change_header, change_time])
def test_the_fingerprint_changes_with_the_files(tmp_path, change):
    path = folder_of(tmp_path, {"model.safetensors": ONE_TENSOR})
    before = open_folder(path).fingerprint()
    change(path)
    assert open_folder(path).fingerprint() != before
