"""K19: the tied flag."""

from __future__ import annotations

import pytest

from tests.cases.builders import HIDDEN, VOCABULARY, Folder, d0, headless, random, t0
from tests.cases.running import BOUNDARY, convert, only, refused, target

EMBEDDING = t0().tensors["model.embed_tokens.weight"]


def tied(*, head_equal: bool) -> Folder:
    """A tied target that still ships a head: the embedding again, or something else."""
    model = t0().config_with(tie_word_embeddings=True)
    return model.with_tensors({"lm_head.weight": EMBEDDING}) if head_equal else model


def without_head() -> Folder:
    """An untied target that ships no head."""
    model = t0().without("lm_head.weight")
    del model.shards["lm_head.weight"]
    return model


def tied_draft() -> Folder:
    """A draft whose config ties the head, which is not stored, to an embedding that is."""
    own = {"embed_tokens.weight": random("embedding of D0", VOCABULARY, HIDDEN)}
    return headless(d0()).with_tensors(own).config_with(tie_word_embeddings=True)


def test_k19a_a_copied_flag_is_set_to_false_and_reported(tmp_path):
    written = convert(tmp_path, d0().config_with(tie_word_embeddings=True), *BOUNDARY, "--target", target(tmp_path))
    assert written.config["tie_word_embeddings"] is False
    assert "96 rows against 320" in written.findings("warning")["tie-corrected"]["message"]
    assert written.tensors["lm_head.weight"] == d0().tensors["lm_head.weight"]


@pytest.mark.parametrize(("word", "shared"), [("true", False), ("false", True)])
def test_k19a_a_draft_tied_to_its_own_embedding_is_written_as_the_user_says(tmp_path, word, shared):
    options = (*BOUNDARY, "--target-family", "llama", "--set", f"tie_word_embeddings={word}")
    written = convert(tmp_path, tied_draft(), *options)
    assert written.config["tie_word_embeddings"] is False
    embedding = written.tensors["embed_tokens.weight"]
    assert written.tensors.get("lm_head.weight") == (None if shared else embedding)
    assert written.config["draft_vocab_size"] == (None if shared else 320)


def test_k19a_a_draft_tied_to_its_own_embedding_is_asked_about(tmp_path):
    finding = only(refused(tmp_path, tied_draft(), *BOUNDARY, "--target-family", "llama"), "tie-question")
    assert "embed_tokens.weight" in finding["message"]
    assert "--set tie_word_embeddings=true" in finding["hint"]


def test_k19b_a_tied_target_that_ships_the_same_head_again_gives_either(tmp_path):
    model = target(tmp_path, tied(head_equal=True))
    written = convert(tmp_path, headless(d0()), *BOUNDARY, "--target", model, "--head", "copy")
    assert written.tensors["lm_head.weight"] == EMBEDDING


def test_k19c_a_tied_target_that_ships_another_head_is_refused(tmp_path):
    model = target(tmp_path, tied(head_equal=False))
    message = only(refused(tmp_path, d0(), *BOUNDARY, "--target", model), "target-tie-contradiction")["message"]
    assert "lm_head.weight differs from model.embed_tokens.weight" in message


@pytest.mark.parametrize("options", [(), ("--head", "copy"), ("--to", "specforge")], ids=["share", "copy", "needs one"])
def test_k19d_an_untied_target_without_a_head_is_asked_about(tmp_path, options):
    model = target(tmp_path, without_head())
    errors = refused(tmp_path, headless(d0()), *BOUNDARY, "--target", model, *options)
    finding = errors["target-head-question"]
    assert "is untied and has no head" in finding["message"]
    assert "--head embedding" in finding["hint"]


def test_k19d_its_embedding_becomes_the_head_once_said(tmp_path):
    model = target(tmp_path, without_head())
    written = convert(tmp_path, headless(d0()), *BOUNDARY, "--target", model, "--head", "embedding")
    assert written.tensors["lm_head.weight"] == EMBEDDING


def test_k19d_a_draft_with_its_own_head_does_not_care(tmp_path):
    written = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, without_head()))
    assert written.tensors["lm_head.weight"] == d0().tensors["lm_head.weight"]
