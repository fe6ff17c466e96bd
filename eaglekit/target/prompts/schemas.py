"""The table of schemas, each recognised by keys of its own; the first row that fits is the one that is read.

Exactness orders the table: ids say more than messages, messages more than the text they were made of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eaglekit.report import Finding, Refusal
from eaglekit.target.prompts import chat, plain, token_ids
from eaglekit.target.prompts.forms import Form
from eaglekit.target.prompts.rows import Row


@dataclass(frozen=True, slots=True)
class Schema:
    """One way in which people write prompts down."""

    name: str
    any_of: tuple[str, ...]
    """A row of this schema has at least one of these keys with a value ..."""
    all_of: tuple[str, ...]
    """... and every one of these."""
    read: Callable[[Row], Form]
    lists: bool | None = None
    """Whether the first of `any_of` holds a list; None when that does not tell schemas apart."""

    def fits(self, row: Row) -> bool:
        """Whether the row is written in this schema."""
        key = token_ids.first_of(row, self.any_of)
        if not key or any(row.value.get(needed) is None for needed in self.all_of):
            return False
        return self.lists is None or isinstance(row.value[key], list) is self.lists


SCHEMAS: tuple[Schema, ...] = (
    Schema("token ids", token_ids.PROMPT_KEYS, (), token_ids.read_pair),
    Schema("token ids in one list", token_ids.WHOLE_KEYS, (), token_ids.read_whole),
    # nvidia/SPEED-Bench as NeMo Skills prepares it (nemo_skills/dataset/speed-bench/prepare.py), then as published.
    Schema("SPEED-Bench, prepared", ("messages",), ("question_id", "category", "src_id"), chat.read_messages),
    Schema("SPEED-Bench", ("turns",), ("question_id", "category", "src_id"), chat.read_turns),
    # lm-sys/FastChat fastchat/llm_judge/data/mt_bench/question.jsonl; Spec-Bench writes the same.
    Schema("MT-Bench", ("turns",), ("question_id",), chat.read_turns),
    # HuggingFaceH4/mt_bench_prompts: the same questions under other keys.
    Schema("MT-Bench of the Hub", ("prompt",), ("prompt_id", "category"), chat.read_turns, lists=True),
    Schema("turns", ("turns",), (), chat.read_turns),
    Schema("chat messages", ("messages",), (), chat.read_messages),
    Schema("ShareGPT", ("conversations", "conversation"), (), chat.read_messages),
    Schema("text", plain.PROMPT_KEYS, (), plain.read_plain),
)

ANSWERS = frozenset({"answer_id", "choices"})
"""Keys of FastChat's model_answer files, which have answers and no questions."""
UNFILLED = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"
"""How SPEED-Bench marks turns that its licence keeps out of the published files."""


def recognise(row: Row) -> Schema:
    """The schema of the row. Raises `Refusal` when no schema has its keys."""
    for schema in SCHEMAS:
        if schema.fits(row):
            return schema
    keys = list(row.value)
    answers = row.value.keys() >= ANSWERS
    raise Refusal(
        Finding(
            "prompts-schema-unknown",
            f"{row.place} has no key that says where its prompt is",
            place=row.place,
            got=f"keys {', '.join(map(repr, keys[:8]))}"[:200] if keys else "no keys",
            expected="one of messages, conversations, prompt, text, turns, prompt_token_ids, tokens, input_ids",
            hint="these are answers without their questions: give the question file, or both as messages"
            if answers
            else "rename the key that holds the prompt",
        )
    )
