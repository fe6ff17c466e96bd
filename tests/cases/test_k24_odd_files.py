"""K24: odd files."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy
import pytest

from tests.cases.builders import (
    DRAFTED,
    HIDDEN,
    SINGLE,
    TARGET_IDS,
    Folder,
    View,
    archive,
    d0,
    full_vocabulary,
    i64,
    stored_in,
    t0,
)
from tests.cases.running import BOUNDARY, convert, only, refused, run, snapshot, target

EMBEDDING = t0().tensors["model.embed_tokens.weight"]
QUERY = "midlayer.self_attn.q_proj.weight"


def there(tmp_path: Path) -> Path:
    return tmp_path / "source"


def named(tensors: dict) -> dict:
    return {name.replace("midlayer.", "layers.0."): tensor for name, tensor in tensors.items()}


def with_weights(tmp_path: Path, change) -> Path:
    """D0 with the bytes of its weights file changed."""
    source = d0().write(there(tmp_path))
    weights = source / SINGLE
    weights.write_bytes(change(weights.read_bytes()))
    return source


def sharing() -> tuple[Folder, dict[str, View]]:
    """A draft whose head and embedding are one storage."""
    draft = full_vocabulary(d0()).with_tensors({"lm_head.weight": EMBEDDING, "embed_tokens.weight": EMBEDDING})
    view = View("shared", (HIDDEN, 1), EMBEDDING.data)
    return draft, {"lm_head.weight": view, "embed_tokens.weight": view}


def test_k24a_a_pickle_is_converted_to_safetensors(tmp_path):
    draft = d0()
    written = convert(tmp_path, draft.write_pickle(there(tmp_path)), *BOUNDARY, "--target", target(tmp_path))
    assert written.tensors == named(draft.tensors)
    assert not list(written.folder.glob("*.bin"))


def test_k24b_a_pickle_with_another_class_is_refused_and_the_class_named(tmp_path):
    canary = tmp_path / "canary"
    source = d0().write_pickle(there(tmp_path))
    call = b"X\x05\0\0\0extracposix\nsystem\n(X" + len(f"touch {canary}").to_bytes(4, "little")
    weights = archive(d0().tensors, {}, call + f"touch {canary}".encode() + b"tR")
    (source / "pytorch_model.bin").write_bytes(weights)
    errors = refused(tmp_path, source, *BOUNDARY, "--target", target(tmp_path))
    assert "posix.system" in " ".join(entry["message"] for entry in errors.values())
    assert not canary.exists()


def test_k24c_a_pointer_is_told_from_weights(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 123456\n"
    source = with_weights(tmp_path, lambda _: pointer)
    finding = only(refused(tmp_path, source, *BOUNDARY, "--target", target(tmp_path)), "weights-not-downloaded")
    assert "Git LFS pointer" in finding["message"]
    assert "not weights" in finding["message"]


@pytest.mark.parametrize(
    ("change", "code", "gap"),
    [(lambda data: data[:-10], "file-truncated", -10), (lambda data: data + bytes(16), "file-appended", 16)],
    ids=["d", "e"],
)
def test_k24d_and_e_a_file_of_another_length_is_refused_with_both_lengths(tmp_path, change, code, gap):
    source = with_weights(tmp_path, change)
    finding = only(refused(tmp_path, source, *BOUNDARY, "--target", target(tmp_path)), code)
    found = (source / SINGLE).stat().st_size
    assert f"{abs(gap)} bytes" in finding["message"]
    assert (finding["got"], finding["expected"]) == (f"{found} bytes", f"{found - gap} bytes")


def test_k24f_the_source_as_destination_is_refused_and_stays_as_it_was(tmp_path):
    source, model = d0().write(there(tmp_path)), target(tmp_path)
    before = snapshot(source)
    answer = run("convert", source, source, *BOUNDARY, "--target", model)
    assert answer.exit_code == 1
    assert "overlap" in only(answer.findings("error"), "destination-inside-source")["message"]
    assert snapshot(source) == before


@pytest.mark.parametrize("way", ["link", "inside", "relative"])
def test_k24f_the_source_by_another_way_is_refused_too(tmp_path, way, monkeypatch):
    source, model = d0().write(there(tmp_path)), target(tmp_path)
    (tmp_path / "link").symlink_to(source)
    monkeypatch.chdir(tmp_path)
    before = snapshot(source)
    destination = {"link": tmp_path / "link", "inside": source / "out", "relative": Path("source")}[way]
    answer = run("convert", source, destination, *BOUNDARY, "--target", model)
    assert answer.exit_code == 1
    only(answer.findings("error"), "destination-inside-source")
    assert snapshot(source) == before


def test_k24g_head_and_embedding_in_one_storage_are_written_as_two_copies(tmp_path):
    draft, views = sharing()
    source = draft.write_pickle(there(tmp_path), **views)
    written = convert(tmp_path, source, *BOUNDARY, "--target", target(tmp_path))
    assert written.tensors["lm_head.weight"] == written.tensors["embed_tokens.weight"] == EMBEDDING
    assert written.config["tie_word_embeddings"] is False


def test_k24g_head_and_embedding_in_one_storage_are_written_once_by_option(tmp_path):
    draft, views = sharing()
    source = draft.write_pickle(there(tmp_path), **views)
    written = convert(tmp_path, source, *BOUNDARY, "--target", target(tmp_path), "--embedding", "drop")
    assert written.tensors["lm_head.weight"] == EMBEDDING
    assert "embed_tokens.weight" not in written.tensors


def test_k24h_a_transposed_tensor_is_written_contiguous_with_equal_values(tmp_path):
    draft = d0()
    query = draft.tensors[QUERY]
    turned = numpy.ascontiguousarray(numpy.frombuffer(query.data, "<u2").reshape(query.shape).T)
    source = draft.write_pickle(there(tmp_path), **{QUERY: View("turned", (1, query.shape[0]), turned.tobytes())})
    written = convert(tmp_path, source, *BOUNDARY, "--target", target(tmp_path))
    assert written.tensors == named(draft.tensors)


def test_k24h_a_transposed_head_is_sorted_with_its_map(tmp_path):
    draft = d0()
    head, rows = draft.tensors["lm_head.weight"], numpy.arange(DRAFTED)
    order = numpy.random.default_rng(24).permutation(DRAFTED)
    draft.tensors["d2t"] = i64(numpy.array(TARGET_IDS)[order] - rows)
    turned = numpy.ascontiguousarray(numpy.frombuffer(head.data, "<u2").reshape(head.shape).T)
    source = draft.write_pickle(there(tmp_path), **{"lm_head.weight": View("turned", (1, DRAFTED), turned.tobytes())})
    written = convert(tmp_path, source, *BOUNDARY, "--target", target(tmp_path), "--sort-vocabulary").tensors
    assert written["d2t"] == d0().tensors["d2t"]
    assert (written["lm_head.weight"].values[order] == head.values).all()


def test_k24i_a_header_that_announces_200_mb_is_refused_before_anything_is_allocated(tmp_path):
    source = with_weights(tmp_path, lambda data: (200_000_000).to_bytes(8, "little") + data[8:])
    finding = only(refused(tmp_path, source, *BOUNDARY, "--target", target(tmp_path)), "header-too-large")
    assert "200000000 bytes" in finding["message"]


def test_k24i_not_even_a_file_that_is_long_enough_makes_it_read_the_header(tmp_path):
    source = with_weights(tmp_path, lambda data: (200_000_000).to_bytes(8, "little") + data[8:])
    with (source / SINGLE).open("r+b") as weights:
        weights.truncate(8 + 200_000_000 + 1000)
    tracemalloc.start()
    answer = run("inspect", source)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    only(answer.findings("error"), "header-too-large")
    assert peak_bytes < 50_000_000  # a quarter of the header that the file announces


def test_k24_the_bytes_of_a_pickle_and_of_safetensors_give_the_same_folder(tmp_path):
    draft, model = d0(), target(tmp_path)
    pickled = convert(tmp_path, draft.write_pickle(tmp_path / "pickled"), *BOUNDARY, "--target", model, name="one")
    plain = convert(tmp_path, draft.write(tmp_path / "plain"), *BOUNDARY, "--target", model, name="two")
    assert stored_in(pickled.folder) == stored_in(plain.folder)
    assert pickled.config == plain.config
