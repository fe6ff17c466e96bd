"""Reads rows that hold token ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eaglekit.report import Finding, Refusal
from eaglekit.target.prompts.forms import TokenIds
from eaglekit.target.prompts.rows import Row

PROMPT_KEYS = ("prompt_token_ids", "prompt_ids")
RESPONSE_KEYS = ("response_token_ids", "response_ids", "output_token_ids", "output_ids", "completion_token_ids")
WHOLE_KEYS = ("tokens", "token_ids", "input_ids")
LENGTH_KEYS = ("prompt_length", "prompt_len")
MASK_KEY = "loss_mask"
"""speculators' prepared rows: 1 where the assistant speaks."""
SHOWN = 3
"""Ids of one row that findings name."""


def read_pair(row: Row) -> TokenIds:
    """The ids of a row with separate prompt and response."""
    prompt_key = first_of(row, PROMPT_KEYS)
    response_key = first_of(row, RESPONSE_KEYS)
    prompt = _ids(row, prompt_key)
    return TokenIds(prompt, _ids(row, response_key) if response_key else ())


def read_whole(row: Row) -> TokenIds:
    """The ids of a row with one list, split at its `prompt_length` or its last unmasked run; else all prompt."""
    key = first_of(row, WHOLE_KEYS)
    ids = _ids(row, key)
    length_key = first_of(row, LENGTH_KEYS)
    if length_key:
        length = row.value[length_key]
        if not _is_integer(length) or not 1 <= length <= len(ids):
            raise Refusal(
                Finding(
                    "prompts-field",
                    f"{row.place} has {length_key} {length!r:.40} for {len(ids)} tokens",
                    place=f"{row.place}: {length_key}",
                    got=f"{length!r:.40}",
                    expected=f"an integer from 1 to {len(ids)}",
                    hint=f"{length_key} counts the tokens of the prompt",
                )
            )
        return TokenIds(ids[:length], ids[length:])
    if row.value.get(MASK_KEY) is not None:
        start, end = _last_run(row, len(ids))
        return TokenIds(ids[:start], ids[start:end])
    return TokenIds(ids)


def first_of(row: Row, keys: Sequence[str]) -> str:
    """The first of `keys` that the row has with a value, or nothing."""
    return next((key for key in keys if row.value.get(key) is not None), "")


def check_ids(ids: Sequence[int], vocabulary_size: int | None, row: Row, whose: str) -> list[Finding]:
    """A finding when ids are outside the target's vocabulary. `whose` says where they come from."""
    if vocabulary_size is None:
        return []
    outside = sorted({token for token in ids if token >= vocabulary_size})
    if not outside:
        return []
    return [
        Finding(
            "prompts-token-outside",
            f"{row.place} has {len(outside)} token ids outside the vocabulary, the largest {outside[-1]}",
            place=row.place,
            got=", ".join(map(str, outside[:SHOWN])) + (", ..." if len(outside) > SHOWN else ""),
            expected=f"ids from 0 to {vocabulary_size - 1}",
            hint=f"{whose} belongs to another model: tokenise with the target's own tokenizer",
        )
    ]


def _ids(row: Row, key: str) -> tuple[int, ...]:
    value = row.value[key]
    if not isinstance(value, list):
        raise Refusal(
            Finding(
                "prompts-field",
                f"{row.place} has a {key} that is no list",
                place=f"{row.place}: {key}",
                got=f"{value!r:.60}",
                expected="a list of token ids",
                hint="text goes under prompt and response, ids under prompt_token_ids and response_token_ids",
            )
        )
    if not value:
        raise Refusal(
            Finding(
                "prompts-empty",
                f"{row.place} has an empty {key}",
                place=f"{row.place}: {key}",
                got="no token",
                expected="at least one token id",
                hint="leave the row out, or the key when there is no response",
            )
        )
    odd = [index for index, item in enumerate(value) if not _is_token(item)]
    if odd:
        raise Refusal(_odd(row, key, odd[0], value[odd[0]], len(odd)))
    return tuple(value)


def _odd(row: Row, key: str, index: int, item: Any, count: int) -> Finding:
    more = f", the first of {count} such entries" if count > 1 else ""
    return Finding(
        "prompts-token-id",
        f"{row.place} has {item!r:.40} at {key}[{index}], which is no token id{more}",
        place=f"{row.place}: {key}[{index}]",
        got=f"{item!r:.40}",
        expected="an integer of at least 0",
        hint="write ids as plain integers; padding such as -100 belongs to labels, not to tokens",
    )


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_token(value: Any) -> bool:
    return _is_integer(value) and 0 <= value < 1 << 31


def _last_run(row: Row, count: int) -> tuple[int, int]:
    """Begin and end of the last run of ones: what comes before it is the prompt of the last answer."""
    mask = row.value[MASK_KEY]
    good = isinstance(mask, list) and len(mask) == count and all(_is_integer(bit) and bit in (0, 1) for bit in mask)
    if not good or 1 not in mask or mask[0] == 1:
        raise Refusal(
            Finding(
                "prompts-field",
                f"{row.place} has a {MASK_KEY} that does not split {count} tokens into prompt and response",
                place=f"{row.place}: {MASK_KEY}",
                got=f"{len(mask)} entries" if isinstance(mask, list) else f"{mask!r:.40}",
                expected=f"{count} entries of 0 and 1: 0 for the prompt at the start, 1 for the response",
                hint="or give prompt_length instead",
            )
        )
    end = count - mask[::-1].index(1)
    start = end
    while mask[start - 1] == 1:
        start -= 1
    return start, end
