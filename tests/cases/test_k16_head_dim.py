"""K16: head_dim."""

from __future__ import annotations

import pytest

from tests.cases.builders import d0
from tests.cases.running import BOUNDARY, convert, refused, target


@pytest.mark.parametrize("layout", ["portable", "vllm", "sglang", "specforge"])
def test_k16a_a_width_that_the_hidden_size_cannot_give_is_written_from_the_rows(tmp_path, layout):
    draft = d0().config_with(head_dim=...)
    written = convert(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path), "--to", layout)
    assert written.config["head_dim"] == 32


def test_k16b_a_width_against_the_rows_is_refused(tmp_path):
    errors = refused(tmp_path, d0().config_with(head_dim=16), *BOUNDARY, "--target", target(tmp_path))
    message = errors["heads-disagree"]["message"]
    assert "6 heads x 16 = 96" in message
    assert "192 rows" in message


@pytest.mark.parametrize("width", [32, ...], ids=["width said", "width unsaid"])
def test_k16c_a_head_count_that_queries_and_keys_cannot_share_is_refused(tmp_path, width):
    draft = d0().config_with(num_attention_heads=4, head_dim=width)
    message = refused(tmp_path, draft, *BOUNDARY, "--target", target(tmp_path))["heads-disagree"]["message"]
    assert "48" in message
    assert "does not agree with 32 from the key projection" in message
