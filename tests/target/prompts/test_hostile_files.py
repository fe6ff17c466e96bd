"""Files that are no prompts, or broken ones: each is refused at its place with what was found there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglekit.report import Refusal
from eaglekit.target.prompts import read_prompts, rows
from eaglekit.target.prompts.tokenizer import Tokenizer
from tests.target.prompts.making import lines, refused

USER = {"role": "user", "content": "why ?"}

BYTES = [
    pytest.param(b"the eagle flies\n", "json-invalid", "p.jsonl:1", id="plain text"),
    pytest.param(b'{"tokens": [1]}\n{"tokens": [2]\n', "json-invalid", "p.jsonl:2", id="half a line"),
    pytest.param(b'{"tokens": [1]}\n[1, 2]\n', "json-not-an-object", "p.jsonl:2", id="a line that is no object"),
    pytest.param(b'{"tokens": [1]}\nnull\n', "json-not-an-object", "p.jsonl:2", id="null"),
    pytest.param(b'[{"tokens": [1]}, 5]', "json-not-an-object", "p.jsonl[1]", id="an element that is no object"),
    pytest.param(b'{"text": "\xff\xfe"}\n', "json-encoding", "p.jsonl:1", id="invalid UTF-8"),
    pytest.param(b'\xef\xbb\xbf{"tokens": [1]}\n', "json-encoding", "p.jsonl:1", id="byte order mark"),
    pytest.param('{"tokens": [1]}\n'.encode("utf-16"), "json-encoding", "p.jsonl", id="UTF-16"),
    pytest.param(b'{"tokens": [1, NaN]}\n', "json-number", "p.jsonl:1: tokens[1]", id="NaN"),
    pytest.param(b'{"tokens": [1], "tokens": [2]}\n', "json-duplicate-key", "p.jsonl:1: tokens", id="key twice"),
    pytest.param(b'{"text": "\\ud800"}\n', "json-encoding", "p.jsonl:1", id="half a surrogate pair"),
    pytest.param(b"PAR1\x15\x04", "prompts-parquet", "p.jsonl", id="Parquet"),
    pytest.param(b"\x1f\x8b\x08\x00", "prompts-compressed", "p.jsonl", id="gzip"),
    pytest.param(b"", "prompts-none", "p.jsonl", id="empty"),
    pytest.param(b" \n\r\n\n", "prompts-none", "p.jsonl", id="blank lines only"),
    pytest.param(b"[]", "prompts-none", "p.jsonl", id="empty array"),
]
ROWS = [
    pytest.param({"tokens": [1, 13]}, "prompts-token-outside", id="an id past the vocabulary"),
    pytest.param({"tokens": [1, -100]}, "prompts-token-id", id="a negative id"),
    pytest.param({"tokens": [1, True]}, "prompts-token-id", id="a boolean"),
    pytest.param({"tokens": [1, 2.0]}, "prompts-token-id", id="a float"),
    pytest.param({"tokens": ["the", "eagle"]}, "prompts-token-id", id="words for ids"),
    pytest.param({"tokens": [[1, 2]]}, "prompts-token-id", id="a batch"),
    pytest.param({"tokens": [1, 1 << 40]}, "prompts-token-id", id="an id beyond any vocabulary"),
    pytest.param({"tokens": "1 2 3"}, "prompts-field", id="ids as text"),
    pytest.param({"tokens": []}, "prompts-empty", id="no ids"),
    pytest.param({"prompt_ids": [1], "response_ids": []}, "prompts-empty", id="an empty response"),
    pytest.param({"tokens": [1, 2], "prompt_length": 3}, "prompts-field", id="a prompt longer than its tokens"),
    pytest.param({"tokens": [1, 2], "prompt_length": 0}, "prompts-field", id="no prompt"),
    pytest.param({"tokens": [1, 2], "prompt_length": True}, "prompts-field", id="a length that is true"),
    pytest.param({"input_ids": [1, 2], "loss_mask": [1, 1]}, "prompts-field", id="a mask without prompt"),
    pytest.param({"input_ids": [1, 2], "loss_mask": [0]}, "prompts-field", id="a mask that is too short"),
    pytest.param({"text": ""}, "prompts-empty", id="an empty text"),
    pytest.param({"prompt": " \n"}, "prompts-empty", id="a blank prompt"),
    pytest.param({"prompt": "the", "response": ""}, "prompts-empty", id="a blank response"),
    pytest.param({"prompt": [1, 2]}, "prompts-field", id="ids under prompt"),
    pytest.param({"messages": []}, "prompts-field", id="no messages"),
    pytest.param({"messages": "why ?"}, "prompts-field", id="messages that are text"),
    pytest.param({"messages": ["why ?"]}, "prompts-field", id="a message that is text"),
    pytest.param({"messages": [{"role": "narrator", "content": "why"}]}, "prompts-message", id="an unknown role"),
    pytest.param({"conversations": [{"from": "nobody", "value": "why"}]}, "prompts-message", id="an unknown speaker"),
    pytest.param({"conversations": [{"from": ["human"], "value": "why"}]}, "prompts-message", id="a list of speakers"),
    pytest.param({"messages": [{"role": "assistant", "content": "high"}, USER]}, "prompts-message", id="answer first"),
    pytest.param({"messages": [{"role": "system", "content": "high"}]}, "prompts-message", id="nobody asks"),
    pytest.param({"messages": [{"role": "user", "content": ""}]}, "prompts-empty", id="an empty question"),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "prompts-field",
        id="an image",
    ),
    pytest.param({"messages": [USER], "tools": ["search"]}, "prompts-field", id="tools by name"),
    pytest.param({"turns": [5], "question_id": 1}, "prompts-field", id="turns of numbers"),
    pytest.param({"turns": [""], "question_id": 1}, "prompts-empty", id="an empty turn"),
    pytest.param({"answer_id": "x", "choices": [{"turns": ["high"]}]}, "prompts-schema-unknown", id="answers alone"),
    pytest.param({"question": "why ?"}, "prompts-schema-unknown", id="a key nobody knows"),
    pytest.param({}, "prompts-schema-unknown", id="an empty object"),
    pytest.param({"tokens": [1], "id": 1.5}, "prompts-field", id="a name that is a float"),
    pytest.param({"tokens": [1], "id": ""}, "prompts-field", id="an empty name"),
    pytest.param({"tokens": [1], "category": 3}, "prompts-field", id="a category that is a number"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code", "place"), BYTES)
def test_what_is_no_prompt_file_is_refused_at_its_place(data: bytes, code: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(data)
    with pytest.raises(Refusal) as caught:
        read_prompts(path)
    (finding,) = caught.value.findings
    assert (finding.code, finding.place.removeprefix(f"{tmp_path}/")) == (code, place)
    assert finding.hint


@pytest.mark.parametrize(("row", "code"), ROWS)
def test_a_row_that_cannot_be_right_is_refused(
    row: dict[str, Any], code: str, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    finding = refused(lines(tmp_path / "p.jsonl", [row]), code, tokenizer=tokenizer, vocab_size=13)
    assert finding.place.startswith("p.jsonl:1")


def test_every_broken_row_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"tokens": [1.5]}\n{"tokens": [1]}\nnonsense\n{"tokens": []}\n')
    with pytest.raises(Refusal) as caught:
        read_prompts(path)
    assert [finding.place.partition(": ")[0] for finding in caught.value.findings] == [
        "p.jsonl:1",
        "p.jsonl:3",
        "p.jsonl:4",
    ]


def test_a_file_of_nothing_but_broken_rows_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("nonsense\n" * 5000)
    with pytest.raises(Refusal) as caught:
        read_prompts(path)
    (finding,) = caught.value.findings
    assert finding.message == "none of the first 10 lines of p.jsonl is a JSON object"


def test_two_schemas_in_one_file_are_refused(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = lines(tmp_path / "p.jsonl", [{"messages": [USER]}, {"prompt": "why ?"}])
    finding = refused(path, "prompts-schema-mixed", tokenizer=tokenizer)
    assert (finding.place, finding.got) == ("p.jsonl:2", "text")


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", [{"id": 7, "tokens": [1]}, {"id": "7", "tokens": [2]}])
    assert refused(path, "prompts-identity-repeated").place == "p.jsonl:2"


def test_text_without_a_tokenizer_is_refused_once(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", [{"text": "the"}, {"text": "eagle"}])
    assert "2 of 2 rows" in refused(path, "prompts-tokenizer-missing").message


def test_a_tokenizer_of_another_model_is_seen_by_its_ids(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = lines(tmp_path / "p.jsonl", [{"text": "the eagle ."}])
    assert "tokenizer" in refused(path, "prompts-token-outside", tokenizer=tokenizer, vocab_size=10).hint


def test_a_line_too_long_to_be_a_prompt_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LINE_LIMIT", 64)
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"tokens": [1] * 64}) + "\n")
    assert refused(path, "prompts-too-long").place == "p.jsonl:1"


def test_an_array_too_large_for_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "ARRAY_LIMIT", 64)
    path = tmp_path / "p.json"
    path.write_text(json.dumps([{"tokens": [1] * 64}]))
    assert "JSONL" in refused(path, "prompts-too-long").hint


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_what_cannot_be_opened_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path if kind == "folder" else tmp_path / "missing.jsonl"
    assert ("folder" in refused(path, "prompts-unreadable").hint) == (kind == "folder")


def test_the_command_that_exports_parquet_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "test.parquet"
    path.write_bytes(b"PAR1\x15\x04")
    hint = refused(path, "prompts-parquet").hint
    assert "read_parquet('test.parquet')" in hint
    assert "'test.jsonl'" in hint
