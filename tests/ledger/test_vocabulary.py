"""Vocabulary maps that were never filled, damaged, or made for another target."""

from __future__ import annotations

import pytest

from tests.cases.builders import DRAFTED, Folder, d0, f32, i64, mask, random, t0
from tests.cases.running import BOUNDARY, convert, only, refused, target

ROWS = {"d2t": i64(range(DRAFTED))}
"""A default of 0, 1, 2, ...: token ids where offsets are read."""


def larger() -> Folder:
    """A target with 352 tokens."""
    model = t0().config_with(vocab_size=352)
    return model.with_tensors({name: random(name, 352, 64) for name in ("model.embed_tokens.weight", "lm_head.weight")})


def test_row_numbers_in_place_of_offsets_do_not_fit_the_mask(tmp_path):
    only(refused(tmp_path, d0().with_tensors(ROWS), *BOUNDARY, "--target", target(tmp_path)), "map-against-mask")


def test_row_numbers_without_a_mask_are_asked_about(tmp_path):
    draft = d0().with_tensors(ROWS).without("t2d")
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "map-absolute")
    assert "the first 96 as token ids" in finding["message"]


@pytest.mark.parametrize(("said", "marked"), [("absolute", range(DRAFTED)), ("offsets", range(0, 2 * DRAFTED, 2))])
def test_row_numbers_are_written_as_they_are_meant_once_said(tmp_path, said, marked):
    draft = d0().with_tensors(ROWS).without("t2d")
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--set", f"map={said}")
    assert written.tensors["t2d"] == mask(marked)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (i64([*(2 * row for row in range(DRAFTED - 1)), 900]), "map-out-of-range"),
        (f32([2 * row for row in range(DRAFTED)]), "map-dtype"),
        (i64(2 * row for row in range(DRAFTED + 8)), "tensor-shape"),
    ],
    ids=["past the vocabulary", "no whole numbers", "of another size"],
)
def test_a_malformed_map_is_refused(tmp_path, table, code):
    draft = d0().with_tensors({"d2t": table}).without("t2d")
    assert code in refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))


def test_a_target_with_another_vocabulary_is_refused(tmp_path):
    errors = refused(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path, larger()))
    assert "320, this target has 352" in only(errors, "target-size")["message"]


@pytest.mark.parametrize("layout", ["portable", "vllm", "sglang", "specforge"])
def test_the_target_s_vocabulary_and_the_drafted_one_are_kept_apart(tmp_path, layout):
    config = convert(tmp_path, d0(), *BOUNDARY, "--target", target(tmp_path), "--to", layout).config
    assert (config["vocab_size"], config["draft_vocab_size"]) == (320, 96)
