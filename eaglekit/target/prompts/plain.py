"""Reads rows that hold plain text, a prompt with or without its response."""

from __future__ import annotations

from eaglekit.report import Finding, Refusal
from eaglekit.target.prompts.forms import PlainText
from eaglekit.target.prompts.rows import Row
from eaglekit.target.prompts.token_ids import first_of

PROMPT_KEYS = ("prompt", "text")
RESPONSE_KEYS = ("response", "completion", "output")


def read_plain(row: Row) -> PlainText:
    """The prompt and the response, when one is given."""
    prompt = text_at(row, first_of(row, PROMPT_KEYS))
    response_key = first_of(row, RESPONSE_KEYS)
    return PlainText(prompt, text_at(row, response_key) if response_key else None)


def text_at(row: Row, key: str) -> str:
    """The text under `key`. Raises `Refusal` when it is none, or blank."""
    value = row.value[key]
    if not isinstance(value, str):
        raise Refusal(
            Finding(
                "prompts-field",
                f"{row.place} has a {key} that is no text",
                place=f"{row.place}: {key}",
                got=f"{value!r:.60}",
                expected="a string",
                hint="token ids go under prompt_token_ids, chat messages under messages",
            )
        )
    if not value.strip():
        raise Refusal(blank(row, key))
    return value


def blank(row: Row, key: str) -> Finding:
    """The finding for a prompt or a response without a word."""
    return Finding(
        "prompts-empty",
        f"{row.place} has nothing under {key}",
        place=f"{row.place}: {key}",
        got="no text",
        expected="text",
        hint="leave the row out, or the key when there is no response",
    )
