"""Two drafters compared: every verdict once, and what counts as another function."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eaglekit.checkpoint.numbers import cast
from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from eaglekit.drafter import Feedback, FusionNorm
from eaglekit.plan.diff import diff, read_on_its_own
from eaglekit.report import Report
from tests.dialects.folders import Stored, folder_of, named_contents, put
from tests.dialects.strategies import PLAIN, fitted, specs
from tests.plan.converting import converted, tensors_of


def compared(first: Path, second: Path) -> Report:
    """The report on two folders."""
    return diff(*(read_on_its_own(open_folder(folder), Given()) for folder in (first, second)))


def verdicts(report: Report) -> dict[str, tuple[str, str]]:
    """Role -> verdict and detail."""
    (table,) = (table for table in report.tables if table.name == "diff-tensors")
    return {row[0]: (row[3], row[4]) for row in table.rows}


def meanings(report: Report) -> dict[str, str]:
    """Fact that differs -> whether it changes the function."""
    (table,) = (table for table in report.tables if table.name == "diff-meaning")
    return {row[0]: row[3] for row in table.rows}


def folder_with(path: Path, spec, **changed: Stored) -> Path:
    """A vLLM folder of `spec` with some tensors replaced; names have `_` for `.`."""
    config = folder_of(path.with_name(f"{path.name}-plain"), spec, DIALECTS["vllm"]) / "config.json"
    tensors = named_contents(spec, DIALECTS["vllm"])
    for name, stored in changed.items():
        tensors[name] = stored
    return put(path, json.loads(config.read_text()), tensors)


NUMBERS = Stored("F32", (8,), bytes.fromhex("cdcc8c3f" * 7 + "0000803f"))
"""Seven times 1.1, which BF16 rounds, and a one."""


@pytest.fixture
def plain(tmp_path):
    """The folder that the others are compared to."""
    return folder_with(tmp_path / "plain-drafter", PLAIN, **{"norm.weight": NUMBERS})


def test_a_drafter_is_the_same_as_itself(plain):
    report = compared(plain, plain)
    assert {verdict for verdict, _ in verdicts(report).values()} == {"same"}
    assert report.ok


def test_a_renamed_tensor_is_the_same_and_both_names_are_told(plain, tmp_path):
    report = compared(plain, converted(plain, tmp_path / "out", to="torchspec"))
    assert verdicts(report)["query 0"] == (
        "same",
        "layers.0.self_attn.q_proj.weight is called midlayer.self_attn.q_proj.weight",
    )
    assert report.ok


def test_a_cast_tensor_is_told_as_one(plain, tmp_path):
    rounded = Stored("BF16", (8,), cast(NUMBERS.data, "F32", "BF16")[0])
    report = compared(plain, folder_with(tmp_path / "other", PLAIN, **{"norm.weight": rounded}))
    assert verdicts(report)["final norm"] == ("cast", "F32 against BF16")
    assert report.ok


def test_permuted_rows_of_the_head_are_told_as_such(plain, tmp_path):
    order = tuple(reversed(PLAIN.target_ids))
    head = tensors_of(plain)["lm_head.weight"]
    width = len(head.data) // 7
    turned = b"".join(head.data[row * width : (row + 1) * width] for row in reversed(range(7)))
    spec = replace(PLAIN, target_ids=order)
    changed = {"norm.weight": NUMBERS, "lm_head.weight": Stored("BF16", head.shape, turned)}
    report = compared(plain, folder_with(tmp_path / "other", spec, **changed))
    assert verdicts(report)["head"][0] == "permuted"
    assert report.ok


def test_a_head_that_was_sorted_and_cast_at_once_is_permuted(tmp_path):
    spec = replace(PLAIN, target_ids=tuple(reversed(PLAIN.target_ids)), dtype="F32")
    numbers = Stored("F32", (7, 8), struct.pack("<56f", *(0.1 * n for n in range(56))))
    source = folder_with(tmp_path / "source", spec, **{"lm_head.weight": numbers})
    out = converted(source, tmp_path / "out", to="vllm", sort_vocabulary=True, dtype="BF16", force_overflow=True)
    assert verdicts(compared(source, out))["head"] == (
        "permuted",
        "rows follow another order of the same vocabulary, F32 against BF16",
    )


def test_the_same_rows_for_other_tokens_are_different(plain, tmp_path):
    spec = replace(PLAIN, target_ids=tuple(reversed(PLAIN.target_ids)))
    report = compared(plain, folder_with(tmp_path / "other", spec, **{"norm.weight": NUMBERS}))
    assert verdicts(report)["head"] == ("different", "its rows stand for other tokens")
    assert not report.ok


def test_a_different_tensor_is_told_with_the_largest_difference(plain, tmp_path):
    other = Stored("F32", (8,), NUMBERS.data[:-4] + bytes.fromhex("0000c03f"))
    report = compared(plain, folder_with(tmp_path / "other", PLAIN, **{"norm.weight": other}))
    assert verdicts(report)["final norm"] == ("different", "largest difference 0.5")
    assert [finding.code for finding in report.errors] == ["diff-tensor"]


def test_many_different_tensors_are_one_finding_and_the_table_has_them_all(plain, tmp_path):
    names = ("norm.weight", "layers.0.hidden_norm.weight", "layers.0.input_layernorm.weight",
             "layers.0.post_attention_layernorm.weight")  # fmt: skip
    other = Stored("F32", (8,), NUMBERS.data[:-4] + bytes.fromhex("0000c03f"))
    report = compared(plain, folder_with(tmp_path / "other", PLAIN, **dict.fromkeys(names, other)))
    (finding,) = report.errors
    assert finding.message.startswith("4 tensors are different: final norm (largest difference 0.5), ")
    assert finding.message.endswith(" and 1 more")
    assert [verdict for verdict, _ in verdicts(report).values()].count("different") == 4


def test_a_missing_norm_is_told_with_the_side_that_has_it(plain, tmp_path):
    spec = replace(PLAIN, fusion_norm=FusionNorm.PER_STATE)
    report = compared(plain, folder_with(tmp_path / "other", spec, **{"norm.weight": NUMBERS}))
    assert verdicts(report)["norm of one captured state 1"][0] == "only in the second"
    assert not report.ok


def test_a_shared_embedding_against_an_own_one_is_the_reader_s_to_judge(plain, tmp_path):
    report = compared(plain, converted(plain, tmp_path / "out", to="vllm", embedding="drop"))
    assert verdicts(report)["embedding"][0] == "only in the first"
    assert report.ok


def test_another_shape_is_a_difference(plain, tmp_path):
    report = compared(plain, folder_with(tmp_path / "other", replace(PLAIN, intermediate_size=4)))
    assert verdicts(report)["gate 0"] == ("different", "[10, 8] against [4, 8]")


def test_another_meaning_is_another_function(plain, tmp_path):
    spec = replace(PLAIN, feedback=Feedback.NORMED)
    report = compared(plain, folder_with(tmp_path / "other", spec, **{"norm.weight": NUMBERS}))
    assert meanings(report) == {"feedback": "yes"}
    assert [finding.code for finding in report.errors] == ["diff-meaning"]


def test_a_fact_about_the_drafter_is_no_other_function(plain, tmp_path):
    spec = replace(PLAIN, max_position_embeddings=4096, trained_context_length=4096, token_ids={"bos": 1})
    report = compared(plain, folder_with(tmp_path / "other", spec, **{"norm.weight": NUMBERS}))
    assert set(meanings(report).values()) == {"no"}
    assert report.ok


def test_a_word_about_both_files_does_not_hide_what_one_of_them_says(tmp_path):
    marked = folder_of(tmp_path / "marked", PLAIN, DIALECTS["speculators"])
    unsaid = folder_of(tmp_path / "unsaid", PLAIN, DIALECTS["vllm"], mark=False)
    readings = [read_on_its_own(open_folder(folder), Given(aux_layers=(2, 3, 4))) for folder in (marked, unsaid)]
    assert [reading.drafter.spec.aux_layers for reading in readings] == [(3, 17, 30), (2, 3, 4)]


@settings(max_examples=25)
@given(some.data())
def test_a_conversion_is_the_same_function(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("same")
    start, to = (data.draw(some.sampled_from(["vllm", "portable", "sglang", "trtllm"])) for _ in range(2))
    spec = data.draw(specs())
    for name in (start, to, start, to):
        spec = fitted(spec, DIALECTS[name])
    source = folder_of(folder / "source", spec, DIALECTS[start])
    out = converted(source, folder / "out", to=to, sort_vocabulary=data.draw(some.booleans()))
    first, second = (read(open_folder(path)) for path in (source, out))
    assert diff(first, second).errors == ()
