"""Tokenizers: which are loaded, which are refused, and where the response begins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eaglekit.report import Refusal
from eaglekit.target.prompts import load_tokenizer, read_prompts
from eaglekit.target.prompts.tokenizer import Tokenizer
from tests.target.prompts.making import THINKING, lines, merging_tokenizer, only, refused, words_tokenizer

CHAT = {"messages": [{"role": "user", "content": "why ?"}, {"role": "assistant", "content": "high ."}]}


def load_refused(folder: Path) -> str:
    with pytest.raises(Refusal) as caught:
        load_tokenizer(folder)
    (finding,) = caught.value.findings
    assert finding.got
    assert "prompt_token_ids" in finding.hint
    return finding.code


@pytest.mark.parametrize(
    "auto_map",
    [
        pytest.param({"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}, id="as Kimi"),
        pytest.param({"AutoTokenizer": "tokenization.Own"}, id="one name"),
        pytest.param(["tokenization.Own", None], id="the old list"),
    ],
)
def test_a_tokenizer_that_is_code_is_refused_by_name_and_not_run(auto_map: object, tmp_path: Path) -> None:
    folder = words_tokenizer(tmp_path / "t", auto_map=auto_map)
    for name in ("tokenization_kimi.py", "tokenization.py"):
        (folder / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    assert load_refused(folder) == "prompts-tokenizer-code"
    assert not (tmp_path / "ran").exists()


def test_code_for_the_model_does_not_hinder_the_tokenizer(tmp_path: Path) -> None:
    folder = words_tokenizer(tmp_path / "t")
    config = {"model_type": "kimi_k2", "auto_map": {"AutoConfig": "configuration.Own"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "configuration.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    assert load_tokenizer(folder).encode("the eagle", add_special_tokens=False) == [5, 6]
    assert not (tmp_path / "ran").exists()


def test_a_tokenizer_file_alone_is_enough(tmp_path: Path) -> None:
    folder = words_tokenizer(tmp_path / "t")
    (folder / "tokenizer_config.json").unlink()
    assert load_tokenizer(folder).encode("the eagle", add_special_tokens=False) == [5, 6]


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", '{"model": {"type": "Nonsense"}}', '{"model": 5}'])
def test_a_broken_tokenizer_file_is_refused(content: str, tmp_path: Path) -> None:
    folder = words_tokenizer(tmp_path / "t")
    (folder / "tokenizer.json").write_text(content)
    assert load_refused(folder) == "prompts-tokenizer-unusable"


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    assert load_refused(tmp_path) == "prompts-tokenizer-unusable"


def test_a_name_that_is_no_folder_is_not_looked_up_on_the_hub(tmp_path: Path) -> None:
    assert load_refused(tmp_path / "org" / "model") == "prompts-tokenizer-unusable"


def test_a_tokenizer_config_that_is_not_json_is_refused(tmp_path: Path) -> None:
    folder = words_tokenizer(tmp_path / "t")
    (folder / "tokenizer_config.json").write_text("{'eos_token': 1}")
    with pytest.raises(Refusal, match="json-invalid"):
        load_tokenizer(folder)


def test_a_chat_without_a_template_is_refused(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(words_tokenizer(tmp_path / "t", template=None))
    refused(lines(tmp_path / "p.jsonl", [CHAT]), "prompts-chat-template-missing", tokenizer=tokenizer)


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("{{ raise_exception('roles must alternate') }}", id="raises"),
        pytest.param("{% for m in messages %}{{ m.content + 1 }}{% endfor %}", id="adds a number to text"),
        pytest.param("{% for %}", id="is no template"),
        pytest.param("{{ ''.__class__.__mro__[1].__subclasses__() }}", id="wants out of the sandbox"),
    ],
)
def test_a_template_that_fails_is_told(template: str, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(words_tokenizer(tmp_path / "t", template=template))
    refused(lines(tmp_path / "p.jsonl", [CHAT]), "prompts-chat-template-failed", tokenizer=tokenizer)


def test_what_the_template_puts_behind_the_end_of_the_turn_is_no_response(tmp_path: Path, tokenizer: Tokenizer) -> None:
    assert only(read_prompts(lines(tmp_path / "p.jsonl", [CHAT]), tokenizer=tokenizer))[1] == "high . </s>"


def test_a_template_that_rewrites_answered_turns_is_refused(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(words_tokenizer(tmp_path / "t", template=THINKING))
    finding = refused(lines(tmp_path / "p.jsonl", [CHAT]), "prompts-boundary", tokenizer=tokenizer)
    assert "why ?" in finding.got


def test_a_template_that_leaves_the_prompt_empty_is_refused(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(words_tokenizer(tmp_path / "t", template="{# nothing #}"))
    refused(lines(tmp_path / "p.jsonl", [{"messages": CHAT["messages"][:1]}]), "prompts-empty", tokenizer=tokenizer)


def test_a_token_across_the_boundary_is_split_as_an_engine_would_and_told(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(merging_tokenizer(tmp_path / "t"))
    prompts = read_prompts(lines(tmp_path / "p.jsonl", [{"prompt": "xa", "response": "by"}]), tokenizer=tokenizer)
    (text,) = prompts.texts
    apart = [tokenizer.encode(part, add_special_tokens=False) for part in ("xa", "by")]
    assert (list(text.tokens), text.prompt_length) == (apart[0] + apart[1], 2)
    assert [finding.code for finding in prompts.findings] == ["prompts-boundary-merged"]


def test_a_token_across_the_boundary_of_a_chat_is_split_too(tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m.content }}{% if m.role == 'user' %}a{% endif %}{% endfor %}"
    tokenizer = load_tokenizer(merging_tokenizer(tmp_path / "t", template=template))
    chat = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "by"}]
    (text,) = read_prompts(lines(tmp_path / "p.jsonl", [{"messages": chat}]), tokenizer=tokenizer).texts
    assert (len(text.tokens), text.prompt_length) == (4, 2)


def test_a_boundary_inside_a_character_is_refused(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(words_tokenizer(tmp_path / "t"))
    path = lines(tmp_path / "p.jsonl", [{"prompt": "the ea", "response": "gle"}])
    refused(path, "prompts-boundary", tokenizer=tokenizer)


def test_a_word_that_the_tokenizer_cannot_take_is_told_at_its_line(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(words_tokenizer(tmp_path / "t", unknown="nowhere"))
    path = lines(tmp_path / "p.jsonl", [{"text": "the"}, {"text": "zebra"}])
    assert refused(path, "prompts-tokenizer-unusable", tokenizer=tokenizer).place == "p.jsonl:2"


def test_tools_reach_the_template(tmp_path: Path) -> None:
    template = "{% for t in tools %}{{ t.name }} {% endfor %}" + "{% for m in messages %}{{ m.content }} {% endfor %}"
    tokenizer = load_tokenizer(words_tokenizer(tmp_path / "t", template=template))
    row = {"messages": [{"role": "user", "content": "why ?"}], "tools": [{"name": "eagle"}]}
    assert only(read_prompts(lines(tmp_path / "p.jsonl", [row]), tokenizer=tokenizer))[0] == "eagle why ?"
