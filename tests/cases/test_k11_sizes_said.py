"""K11: sizes said, sizes real."""

from __future__ import annotations

import json

import pytest

from tests.cases.builders import d0, full_vocabulary
from tests.cases.running import BOUNDARY, convert, only, refused, target

WRITERS = ["portable", "vllm", "sglang", "specforge", "modelopt", "trtllm", "tokenspeed"]


def test_k11a_the_rows_of_the_head_are_written_where_nothing_is_said(tmp_path):
    draft = d0().config_with(draft_vocab_size=...)
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    assert written.config["draft_vocab_size"] == 96


def test_k11b_a_full_head_is_written_as_320_without_maps(tmp_path):
    draft = full_vocabulary(d0()).config_with(draft_vocab_size=...)
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))
    assert written.config["draft_vocab_size"] == 320
    assert not {"d2t", "t2d"} & set(written.tensors)


def test_k11c_a_size_that_is_not_the_head_s_is_refused(tmp_path):
    draft = d0().config_with(draft_vocab_size=32000)
    message = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "size-disagrees")["message"]
    assert "32000 against 96" in message


def test_k11d_the_drafter_s_own_vocabulary_cannot_stand_for_the_target_s(tmp_path):
    draft = d0().config_with(vocab_size=96)
    finding = only(refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path)), "size-disagrees")
    assert "96 against 320" in finding["message"]
    assert "vocab_size must be the target's" in finding["hint"]


@pytest.mark.parametrize("layout", WRITERS)
@pytest.mark.parametrize("full", [False, True], ids=["reduced", "full"])
def test_k11_no_layout_supplies_a_size_on_its_own(tmp_path, layout, full):
    draft = (full_vocabulary(d0()) if full else d0()).config_with(draft_vocab_size=...)
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", layout)
    assert "32000" not in json.dumps(written.config)
    assert written.config["draft_vocab_size"] == (320 if full else 96)
