"""Makes tiny tokenizers and prompt files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from eaglekit.report import Finding, Refusal
from eaglekit.target.prompts import Prompts, read_prompts

WORDS = (
    "<s>",
    "</s>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "the",
    "eagle",
    "flies",
    "high",
    "why",
    "low",
    "?",
    ".",
)
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }}"
    "{% if m['role'] == 'assistant' %} </s> .{% endif %} {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)
"""Writes something behind the end of the turn, as ChatML's line break."""
THINKING = (
    "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> why ? {% endif %}"
)
"""Opens the answer with words that an answered turn does not have."""


def words_tokenizer(folder: Path, template: str | None = TEMPLATE, unknown: str = ".", **config: Any) -> Path:
    """A tokenizer folder: one id per word of `WORDS`, split at blanks; other words become `unknown`."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return _save(tokenizer, folder, template, config)


def merging_tokenizer(folder: Path, template: str | None = TEMPLATE) -> Path:
    """A tokenizer folder: bytes, with a single merge of `a` and `b`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: index for index, letter in enumerate([*letters, "ab"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[("a", "b")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return _save(tokenizer, folder, template, {"eos_token": None})


def _save(tokenizer: Any, folder: Path, template: str | None, config: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    document = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"} | config
    if template is not None:
        document["chat_template"] = template
    (folder / "tokenizer_config.json").write_text(json.dumps(document))
    return folder


def lines(path: Path, rows: Iterable[object]) -> Path:
    """A JSONL file of `rows`."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def spelled(ids: Iterable[int]) -> str:
    """The words of ids of `words_tokenizer`."""
    return " ".join(WORDS[token] for token in ids)


def refused(path: Path, code: str, **options: Any) -> Finding:
    """The only finding with which reading is refused, which has to be `code` and complete."""
    with pytest.raises(Refusal) as caught:
        read_prompts(path, **options)
    findings = [finding for finding in caught.value.findings if finding.code == code]
    assert [finding.code for finding in caught.value.report.errors] == [code], caught.value
    finding = findings[0]
    assert finding.place
    assert finding.got
    assert finding.expected
    assert finding.hint
    return finding


def only(prompts: Prompts) -> tuple[str, str]:
    """Prompt and response of a file with one text, in words."""
    (text,) = prompts.texts
    return spelled(text.tokens[: text.prompt_length]), spelled(text.tokens[text.prompt_length :])
