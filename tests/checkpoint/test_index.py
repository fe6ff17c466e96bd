"""The index is an allow-list, checked in both directions."""

from __future__ import annotations

import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.report import Severity
from tests.checkpoint.making import entry, file_of, folder_of, only, refused

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


def shard(*names: str, metadata: dict[str, str] | None = None) -> bytes:
    document = {name: entry(2 * at, 2 * at + 2) for at, name in enumerate(names)}
    return file_of(document | ({"__metadata__": metadata} if metadata else {}), bytes(2 * len(names)))


def sharded(path, weight_map=None, total=None, **changes):
    """Tensors a, b in the first shard and c in the second, with `changes` by file."""
    index = {"weight_map": {"a": FIRST, "b": FIRST, "c": SECOND} if weight_map is None else weight_map}
    index |= {} if total is None else {"metadata": {"total_size": total}}
    files = {FIRST: shard("a", "b"), SECOND: shard("c"), INDEX: index, **changes.pop("files", {})}
    return folder_of(path, {name: content for name, content in files.items() if content is not None})


def opening(path):
    return refused(lambda: open_folder(path))


def test_shards_are_one_table(tmp_path):
    opened = open_folder(sharded(tmp_path, total=6))
    assert {name: tensor.file for name, tensor in opened.tensors.items()} == {"a": FIRST, "b": FIRST, "c": SECOND}
    assert (opened.layout, opened.weight_files, opened.extra_files, opened.findings) == (
        "sharded", (FIRST, SECOND), {}, (),
    )  # fmt: skip


def test_a_shard_that_is_named_and_absent_is_refused(tmp_path):
    assert only(opening(sharded(tmp_path, files={SECOND: None})), "shard-missing").place == SECOND


def test_a_tensor_that_no_shard_holds_is_refused(tmp_path):
    path = sharded(tmp_path, {"a": FIRST, "b": FIRST, "c": SECOND, "mtp.fc.weight": SECOND})
    assert only(opening(path), "index-tensor-missing").got == "in no shard"


def test_a_tensor_in_another_shard_than_listed_is_refused_with_the_place_found(tmp_path):
    finding = opening(sharded(tmp_path, {"a": FIRST, "b": SECOND, "c": SECOND}))["index-tensor-missing"]
    assert finding.got == f"found in {FIRST}"


def test_a_tensor_the_index_does_not_list_is_refused(tmp_path):
    finding = only(opening(sharded(tmp_path, {"a": FIRST, "c": SECOND})), "index-tensor-unlisted")
    assert finding.place == f"{FIRST}: b"


def test_a_tensor_in_two_shards_is_refused(tmp_path):
    finding = only(opening(sharded(tmp_path, files={SECOND: shard("c", "a")})), "tensor-in-two-shards")
    assert finding.got == f"{FIRST} and {SECOND}"


def test_a_wrong_total_size_is_a_warning(tmp_path):
    (finding,) = open_folder(sharded(tmp_path, total=7)).findings
    assert (finding.code, finding.severity, finding.expected) == ("index-total-size", Severity.WARNING, "6")


def test_a_weight_file_outside_the_index_is_a_warning(tmp_path):
    opened = open_folder(sharded(tmp_path, files={"model_mtp.safetensors": shard("mtp")}))
    assert [finding.code for finding in opened.findings] == ["weights-file-unlisted"]
    assert "mtp" not in opened.tensors


def test_metadata_of_all_shards_is_merged(tmp_path):
    files = {FIRST: shard("a", "b", metadata={"format": "pt"}), SECOND: shard("c", metadata={"step": "3"})}
    assert open_folder(sharded(tmp_path, files=files)).metadata == {"format": "pt", "step": "3"}


def test_a_metadata_key_with_two_values_is_a_warning(tmp_path):
    files = {FIRST: shard("a", "b", metadata={"step": "1"}), SECOND: shard("c", metadata={"step": "2"})}
    (finding,) = open_folder(sharded(tmp_path, files=files)).findings
    assert (finding.code, finding.got, finding.expected) == ("metadata-conflict", "2", "1")


def test_an_index_beside_a_single_file_that_it_does_not_name_is_refused(tmp_path):
    only(opening(sharded(tmp_path, files={"model.safetensors": shard("a")})), "index-and-single-file")


def test_an_index_that_names_the_single_file_is_read(tmp_path):
    files = {"model.safetensors": shard("a"), INDEX: {"weight_map": {"a": "model.safetensors"}}}
    assert set(open_folder(folder_of(tmp_path, files)).tensors) == {"a"}


@pytest.mark.parametrize(
    "index",
    [
        pytest.param({}, id="no weight_map"),
        pytest.param({"weight_map": {}}, id="empty weight_map"),
        pytest.param({"weight_map": ["a"]}, id="a list"),
        pytest.param({"weight_map": {"a": 3}}, id="a number for a file"),
    ],
)
def test_an_index_without_a_usable_weight_map_is_refused(tmp_path, index):
    only(opening(sharded(tmp_path, files={INDEX: index})), "index-invalid")


def test_damage_in_several_shards_is_told_at_once(tmp_path):
    files = {FIRST: shard("a", "b")[:-1], SECOND: shard("c") + b"x"}
    assert set(opening(sharded(tmp_path, files=files))) == {"file-truncated", "file-appended"}


def test_two_shards_that_are_one_file_on_some_disk_are_refused(tmp_path):
    twin = FIRST.replace("model", "MODEL")
    path = sharded(tmp_path, {"a": FIRST, "b": FIRST, "c": twin}, files={twin: shard("c"), SECOND: None})
    assert only(opening(path), "index-path-unsafe").got == f"{twin} and {FIRST}"
