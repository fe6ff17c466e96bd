"""K18: whose embedding, whose head."""

from __future__ import annotations

import numpy
import pytest

from tests.cases.builders import HIDDEN, VOCABULARY, Folder, bf16, d0, headless, stored_in, t0
from tests.cases.running import BOUNDARY, convert, files_opened, only, refused, target

EMBEDDING, HEAD = (t0().tensors[name] for name in ("model.embed_tokens.weight", "lm_head.weight"))
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def copied() -> Folder:
    return d0().with_tensors({"embed_tokens.weight": EMBEDDING})


def untrained() -> Folder:
    noise = numpy.random.default_rng(18).standard_normal((VOCABULARY, HIDDEN))
    return d0().with_tensors({"embed_tokens.weight": bf16(noise)})


def test_k18a_a_copy_of_the_target_s_embedding_is_recognised_and_its_size_told(tmp_path):
    written = convert(tmp_path, copied(), *BOUNDARY, "--target", target(tmp_path))
    finding = written.findings("note")["embedding-copy"]
    assert "copy of the target's embedding (41.0 kB)" in finding["message"]
    assert "--embedding drop" in finding["hint"]


def test_k18a_the_copy_is_kept_by_itself(tmp_path):
    written = convert(tmp_path, copied(), *BOUNDARY, "--target", target(tmp_path))
    assert written.tensors["embed_tokens.weight"] == EMBEDDING
    assert written.config["eaglekit"]["embedding"] == "own"


def test_k18a_the_copy_is_dropped_by_option(tmp_path):
    written = convert(tmp_path, copied(), *BOUNDARY, "--target", target(tmp_path), "--embedding", "drop")
    assert "embed_tokens.weight" not in written.tensors
    assert written.left() == {"embed_tokens.weight": "the target's embedding is shared"}
    assert written.config["eaglekit"]["embedding"] == "shared with the target"


def test_k18b_an_embedding_of_noise_is_refused(tmp_path):
    finding = only(refused(tmp_path, untrained(), *BOUNDARY, "--target", target(tmp_path)), "embedding-untrained")
    assert "not the target's embedding and looks untrained" in finding["message"]
    assert "--embedding keep" in finding["hint"]


@pytest.mark.parametrize(("word", "stored"), [("keep", True), ("drop", False)])
def test_k18b_the_user_s_word_overrides(tmp_path, word, stored):
    written = convert(tmp_path, untrained(), *BOUNDARY, "--target", target(tmp_path), "--embedding", word)
    assert ("embed_tokens.weight" in written.tensors) is stored


def test_k18c_a_draft_without_an_embedding_shares_the_target_s_and_says_so(tmp_path):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path))
    assert "embed_tokens.weight" not in written.tensors
    assert written.config["eaglekit"]["embedding"] == "shared with the target"


def test_k18c_a_draft_of_another_width_must_bring_its_own(tmp_path):
    wide = t0().config_with(hidden_size=128)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        wide.tensors[name] = bf16(numpy.ones((VOCABULARY, 128)))
    draft = d0().config_with(target_hidden_size=128)
    draft.tensors["fc.weight"] = bf16(numpy.ones((HIDDEN, 3 * 128)))
    message = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path, wide)), "embedding-needed")
    assert "64 wide and its target 128" in message["message"]


def test_k18d_for_sglang_no_head_is_written_as_no_size(tmp_path):
    written = convert(tmp_path, headless(d0()), *BOUNDARY, "--target", target(tmp_path), "--to", "sglang")
    assert "draft_vocab_size" in written.config
    assert written.config["draft_vocab_size"] is None
    assert "lm_head.weight" not in written.tensors
    assert written.config["eaglekit"]["head"] == "shared with the target"


def test_k18d_the_target_s_head_is_copied_by_option(tmp_path):
    options = (*BOUNDARY, "--target", target(tmp_path), "--to", "sglang", "--head", "copy")
    written = convert(tmp_path, headless(d0()), *options)
    assert written.tensors["lm_head.weight"] == HEAD
    assert written.config["draft_vocab_size"] == 320


def test_k18d_a_size_of_a_head_that_is_not_there_is_never_written(tmp_path):
    draft = d0().without("lm_head.weight", "d2t", "t2d")
    options = (*BOUNDARY, "--target", target(tmp_path), "--to", "sglang")
    assert "96 of 320" in only(refused(tmp_path, draft, *options), "head-missing")["message"]


def test_k18d_reading_the_target_opens_its_second_shard_only(tmp_path):
    source, model = headless(d0()).write(tmp_path / "source"), target(tmp_path)
    words = ("convert", source, tmp_path / "out", *BOUNDARY, "--target", model, "--head", "copy", "--embedding", "copy")
    assert files_opened(tmp_path, model, *words) == {"config.json", "model.safetensors.index.json", SECOND}
    assert stored_in(tmp_path / "out")["lm_head.weight"] == HEAD


@pytest.mark.parametrize("state", ["damaged", "absent"])
def test_k18d_the_first_shard_need_not_even_be_readable(tmp_path, state):
    model = target(tmp_path)
    (model / FIRST).unlink()
    if state == "damaged":
        (model / FIRST).write_bytes(b"no safetensors")
    written = convert(tmp_path, headless(d0()), *BOUNDARY, "--target", model, "--head", "copy")
    assert written.tensors["lm_head.weight"] == HEAD


def test_k18d_a_second_shard_that_is_absent_is_named(tmp_path):
    model = target(tmp_path)
    (model / SECOND).unlink()
    errors = refused(tmp_path, headless(d0()), *BOUNDARY, "--target", model, "--head", "copy")
    assert SECOND in only(errors, "shard-missing")["message"]
