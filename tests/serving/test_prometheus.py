"""vLLM's counters in a server's /metrics, as it writes them and as no one should."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglekit.serving.counters import Counters
from eaglekit.serving.prometheus import samples, scrape

RECORDED = (Path(__file__).parent / "data" / "metrics-vllm-0.32.txt").read_text(encoding="utf-8")
"""What vLLM 0.32 answered behind 62 requests."""
PLAIN = """
vllm:spec_decode_num_drafts_total{model_name="m"} 10
vllm:spec_decode_num_draft_tokens_total{model_name="m"} 20
vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 7
vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name="m",position="0"} 5
vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name="m",position="1"} 2
"""
COUNTED = Counters(10, 20, 7, (5, 2))


def test_the_counters_of_a_real_server_are_read() -> None:
    now = scrape(RECORDED, "llama")
    assert now.counters == Counters(339, 1017, 636, (263, 199, 174))
    assert (now.finished, now.running) == (62, 0)


def test_the_acceptance_length_counts_the_bonus_token() -> None:
    assert COUNTED.acceptance_length == 1.7


def test_no_rounds_make_no_acceptance_length() -> None:
    assert Counters(0, 0, 0, ()).acceptance_length is None


def test_counters_of_another_model_on_the_same_server_are_left_out() -> None:
    assert scrape(PLAIN + PLAIN.replace('"m"', '"other"'), "m").counters == COUNTED


def test_the_engines_of_a_data_parallel_server_are_added_up() -> None:
    both = PLAIN.replace('"m"', '"m",engine="0"') + PLAIN.replace('"m"', '"m",engine="1"')
    assert scrape(both, "m").counters == Counters(20, 40, 14, (10, 4))


def test_a_server_that_does_not_speculate_has_no_counters() -> None:
    assert scrape("vllm:num_requests_running 1\n").counters is None


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('vllm:spec_decode_num_drafts_total{model_name="m"} NaN', id="no number"),
        pytest.param('vllm:spec_decode_num_drafts_total{model_name="m"} +Inf', id="infinity"),
        pytest.param('vllm:spec_decode_num_drafts_total{model_name="m"} -5', id="below zero"),
        pytest.param('vllm:spec_decode_num_drafts_total{model_name="m"} ten', id="words"),
        pytest.param('vllm:spec_decode_num_drafts_total{model_name="m"', id="cut off"),
        pytest.param('vllm:spec_decode_num_drafts_total{model_name="m} 5', id="open quote"),
        pytest.param("vllm:spec_decode_num_drafts_total", id="no value"),
        pytest.param('vllm:x{a="' + "\\" * 20_000, id="a line without end"),
        pytest.param("# vllm:spec_decode_num_drafts_total 5", id="comment"),
        pytest.param("nvllm:spec_decode_num_drafts_total 5", id="another program"),
        pytest.param("\x1b[31m\x00\xff", id="control characters"),
        pytest.param('vllm:spec_decode_num_accepted_tokens_per_pos_total{position="-1"} 9', id="position below zero"),
        pytest.param('vllm:spec_decode_num_accepted_tokens_per_pos_total{position="99999"} 9', id="position far out"),
        pytest.param('vllm:spec_decode_num_accepted_tokens_per_pos_total{position="²"} 9', id="odd digit"),
        pytest.param("vllm:spec_decode_num_accepted_tokens_per_pos_total 9", id="no position"),
    ],
)
def test_a_line_that_is_none_is_passed_by(line: str) -> None:
    assert scrape(f"{line}\n{PLAIN}{line}", "m").counters == COUNTED


def test_a_position_that_is_left_out_makes_the_counters_unreadable() -> None:
    assert scrape(PLAIN.replace('position="0"', 'position="7"'), "m").counters is None


def test_moments_and_exemplars_behind_a_value_are_passed_by() -> None:
    assert scrape(PLAIN.replace("} 10", '} 10 1700000000 # {trace_id="x"} 1'), "m").counters == COUNTED


def test_escapes_in_labels_are_undone() -> None:
    (sample,) = samples(r'vllm:x{model_name="a\"b\\c\nd,e}",position="1"} 2')
    assert sample.labels == {"model_name": 'a"b\\c\nd,e}', "position": "1"}
