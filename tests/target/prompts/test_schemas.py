"""Every schema is recognised by its own keys and gives the same texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglekit.target.prompts import read_prompts
from eaglekit.target.prompts.schemas import SCHEMAS, UNFILLED
from eaglekit.target.prompts.tokenizer import Tokenizer
from tests.target.prompts.making import lines, only, refused, spelled

ASK, ANSWER = "why the eagle ?", "high ."
MESSAGES = [{"role": "user", "content": ASK}, {"role": "assistant", "content": ANSWER}]
SPEED = {
    "question_id": "a1",
    "category": "coding",
    "sub_category": "python",
    "source": "somewhere",
    "src_id": "7",
    "difficulty": None,
    "multiturn": False,
}
CHAT_PROMPT = "<|user|> why the eagle ? <|assistant|>"

WITH_RESPONSE = [
    pytest.param({"messages": MESSAGES}, "chat messages", id="messages"),
    pytest.param(
        {"conversations": [{"from": "human", "value": ASK}, {"from": "gpt", "value": ANSWER}]},
        "ShareGPT",
        id="ShareGPT",
    ),
    pytest.param({"conversation": MESSAGES}, "ShareGPT", id="conversation of roles"),
    pytest.param({"prompt": ASK, "messages": MESSAGES}, "chat messages", id="messages beside their first question"),
    pytest.param({**SPEED, "messages": MESSAGES}, "SPEED-Bench, prepared", id="SPEED-Bench prepared, with answers"),
]
QUESTIONS = [
    pytest.param({**SPEED, "turns": [ASK]}, "SPEED-Bench", id="SPEED-Bench"),
    pytest.param({**SPEED, "messages": MESSAGES[:1]}, "SPEED-Bench, prepared", id="SPEED-Bench prepared"),
    pytest.param({"question_id": 81, "category": "writing", "turns": [ASK, "why low ?"]}, "MT-Bench", id="MT-Bench"),
    pytest.param(
        {"question_id": 101, "category": "math", "turns": [ASK], "reference": ["high", "low"]}, "MT-Bench",
        id="MT-Bench with reference",
    ),
    pytest.param(
        {"prompt": [ASK, "why low ?"], "prompt_id": 3, "category": "math", "reference": []}, "MT-Bench of the Hub",
        id="MT-Bench of the Hub",
    ),
    pytest.param({"turns": [ASK]}, "turns", id="bare turns"),
]  # fmt: skip
IDS = [
    pytest.param({"prompt_token_ids": [9, 5], "response_token_ids": [8, 1]}, id="prompt_token_ids"),
    pytest.param({"prompt_ids": [9, 5], "output_ids": [8, 1]}, id="prompt_ids and output_ids"),
    pytest.param({"tokens": [9, 5, 8, 1], "prompt_length": 2}, id="tokens and prompt_length"),
    pytest.param({"input_ids": [9, 5, 8, 1], "loss_mask": [0, 0, 1, 1]}, id="input_ids and loss_mask"),
    pytest.param(
        {"input_ids": [9, 5, 8, 1, 12], "loss_mask": [0, 0, 1, 1, 0]}, id="a mask that ends before the tokens"
    ),
    pytest.param({"prompt_token_ids": [9, 5], "response_ids": [8, 1], "prompt": "why the"}, id="ids beside their text"),
]


@pytest.mark.parametrize(("row", "schema"), WITH_RESPONSE)
def test_a_chat_with_an_answer_is_split_before_the_answer(
    row: dict[str, Any], schema: str, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    prompts = read_prompts(lines(tmp_path / "p.jsonl", [row]), tokenizer=tokenizer)
    assert (prompts.schema, only(prompts)) == (schema, (CHAT_PROMPT, "high . </s>"))


@pytest.mark.parametrize(("row", "schema"), QUESTIONS)
def test_a_question_is_a_prompt_without_response(
    row: dict[str, Any], schema: str, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    prompts = read_prompts(lines(tmp_path / "p.jsonl", [row]), tokenizer=tokenizer)
    assert (prompts.schema, only(prompts)) == (schema, (CHAT_PROMPT, ""))


@pytest.mark.parametrize("row", IDS)
def test_ids_are_taken_as_they_are_and_without_a_tokenizer(row: dict[str, Any], tmp_path: Path) -> None:
    (text,) = read_prompts(lines(tmp_path / "p.jsonl", [row])).texts
    assert (text.tokens, text.prompt_length) == ((9, 5, 8, 1), 2)


def test_one_list_of_ids_without_a_length_is_all_prompt(tmp_path: Path) -> None:
    (text,) = read_prompts(lines(tmp_path / "p.jsonl", [{"tokens": [4, 5]}])).texts
    assert text.prompt_length == len(text.tokens) == 2


@pytest.mark.parametrize("key", ["response", "completion", "output"])
def test_plain_text_goes_without_the_chat_template(key: str, tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = lines(tmp_path / "p.jsonl", [{"prompt": "the eagle", key: " flies high"}])
    assert only(read_prompts(path, tokenizer=tokenizer)) == ("the eagle", "flies high")


def test_a_text_alone_is_a_prompt(tmp_path: Path, tokenizer: Tokenizer) -> None:
    assert only(read_prompts(lines(tmp_path / "p.jsonl", [{"text": "the eagle"}]), tokenizer=tokenizer)) == (
        "the eagle",
        "",
    )


def test_categories_and_names_are_kept(tmp_path: Path, tokenizer: Tokenizer) -> None:
    rows = [{**SPEED, "turns": [ASK]}, {**SPEED, "question_id": "a2", "category": "math", "turns": [ASK]}]
    texts = read_prompts(lines(tmp_path / "p.jsonl", rows), tokenizer=tokenizer).texts
    assert [(text.identity, text.category) for text in texts] == [("a1", "coding"), ("a2", "math")]


def test_rows_without_a_name_are_called_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"tokens": [1]}\r\n\r\n{"tokens": [2]}\r\n')
    assert [text.identity for text in read_prompts(path).texts] == ["line-1", "line-3"]


def test_an_array_is_read_like_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([{"tokens": [1]}, {"tokens": [2], "id": 5}], indent=1))
    assert [(text.identity, text.tokens) for text in read_prompts(path).texts] == [("row-0", (1,)), ("5", (2,))]


def test_earlier_answers_belong_to_the_prompt(tmp_path: Path, tokenizer: Tokenizer) -> None:
    again = [*MESSAGES, {"role": "user", "content": "why low ?"}, {"role": "assistant", "content": "low ."}]
    prompt, response = only(read_prompts(lines(tmp_path / "p.jsonl", [{"messages": again}]), tokenizer=tokenizer))
    assert prompt == "<|user|> why the eagle ? <|assistant|> high . </s> . <|user|> why low ? <|assistant|>"
    assert response == "low . </s>"


def test_an_open_question_behind_answers_is_a_prompt(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = lines(tmp_path / "p.jsonl", [{"messages": [*MESSAGES, {"role": "user", "content": "why low ?"}]}])
    prompts = read_prompts(path, tokenizer=tokenizer)
    assert (only(prompts)[1], prompts.findings) == ("", ())


def test_a_second_question_without_an_answer_to_the_first_is_left_out_and_told(
    tmp_path: Path, tokenizer: Tokenizer
) -> None:
    turns = [{"role": "user", "content": ASK}, {"role": "user", "content": "why low ?"}]
    rows = [{**SPEED, "messages": turns}, {**SPEED, "question_id": "a2", "messages": turns[:1]}]
    prompts = read_prompts(lines(tmp_path / "p.jsonl", rows), tokenizer=tokenizer)
    assert {spelled(text.tokens) for text in prompts.texts} == {CHAT_PROMPT}
    assert [(finding.code, finding.place) for finding in prompts.findings] == [("prompts-first-turn", "p.jsonl:1")]
    assert "1 of 2 rows" in prompts.findings[0].message


def test_text_parts_of_a_message_are_joined_by_line_breaks(tmp_path: Path, tokenizer: Tokenizer) -> None:
    parts = [{"type": "text", "text": "why"}, {"type": "text", "text": "the eagle ?"}]
    path = lines(tmp_path / "p.jsonl", [{"messages": [{"role": "user", "content": parts}]}])
    assert only(read_prompts(path, tokenizer=tokenizer))[0] == CHAT_PROMPT


def test_placeholders_of_the_benchmark_are_refused_in_one_finding(tmp_path: Path, tokenizer: Tokenizer) -> None:
    rows = [{**SPEED, "question_id": f"q{i}", "turns": [f"{UNFILLED}\n\n{{article}}" if i else ASK]} for i in range(9)]
    finding = refused(lines(tmp_path / "p.jsonl", rows), "prompts-unfilled", tokenizer=tokenizer)
    assert "8 of 9 rows" in finding.message


def test_the_limit_reads_no_further(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", [{"tokens": [1]}, {"tokens": [2]}, {"tokens": "broken"}])
    assert [text.tokens for text in read_prompts(path, limit=2).texts] == [(1,), (2,)]


def test_the_digest_is_that_of_the_whole_file(tmp_path: Path) -> None:
    import hashlib

    path = lines(tmp_path / "p.jsonl", [{"tokens": [1]}, {"tokens": [2]}])
    assert read_prompts(path, limit=1).digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_no_two_schemas_have_one_name() -> None:
    names = [schema.name for schema in SCHEMAS]
    assert len(set(names)) == len(names)
