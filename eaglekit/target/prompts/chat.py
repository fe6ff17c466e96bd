"""Reads rows that hold a chat: messages, ShareGPT's conversations, or the bare questions of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eaglekit.report import Finding, Refusal
from eaglekit.target.prompts.forms import Chat, Message
from eaglekit.target.prompts.plain import blank
from eaglekit.target.prompts.rows import Row
from eaglekit.target.prompts.token_ids import first_of

MESSAGE_KEYS = ("messages", "conversations", "conversation")
TURN_KEYS = ("turns", "prompt")
SHAREGPT_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "function_response": "tool",
}
"""`from` in ShareGPT files -> the role it plays."""
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def read_messages(row: Row) -> Chat:
    """The chat of a row; its last message is the response when the assistant speaks it."""
    key = first_of(row, MESSAGE_KEYS)
    value = row.value[key]
    if not isinstance(value, list) or not value:
        raise Refusal(_field(row, key, value, "a list of messages"))
    messages = [_message(row, f"{key}[{index}]", item) for index, item in enumerate(value)]
    return _chat(row, key, messages, _tools(row))


def read_turns(row: Row) -> Chat:
    """The first question of a benchmark row: later ones mean nothing without the answers between them."""
    key = first_of(row, TURN_KEYS)
    turns = row.value[key]
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) for turn in turns):
        raise Refusal(_field(row, key, turns, "a list of questions as text"))
    if not turns[0].strip():
        raise Refusal(blank(row, f"{key}[0]"))
    return Chat(({"role": "user", "content": turns[0]},), later_turns=len(turns) - 1)


def _chat(row: Row, key: str, messages: Sequence[Message], tools: tuple[dict[str, Any], ...]) -> Chat:
    roles = [message["role"] for message in messages]
    if "user" not in roles or roles[0] == "assistant":
        raise Refusal(
            Finding(
                "prompts-message",
                f"{row.place} has a chat in which nobody asks before the assistant answers",
                place=f"{row.place}: {key}",
                got=", ".join(roles[:8]),
                expected="a user's message first, behind a system message if any",
                hint="drop answers without a question, or the row",
            )
        )
    # Two questions in a row: the answer between them is missing, so the chat ends with the first of them.
    unanswered = next((i for i in range(len(roles) - 1) if roles[i] == roles[i + 1] == "user"), None)
    if unanswered is not None:
        later = sum(role == "user" for role in roles[unanswered + 1 :])
        return Chat(tuple(messages[: unanswered + 1]), tools=tools, later_turns=later)
    if roles[-1] != "assistant":
        return Chat(tuple(messages), tools=tools)
    return Chat(tuple(messages[:-1]), response=messages[-1], tools=tools)


def _message(row: Row, where: str, item: Any) -> Message:
    if not isinstance(item, dict):
        raise Refusal(_field(row, where, item, 'an object such as {"role": "user", "content": "..."}'))
    if "from" in item and "role" not in item:
        speaker = item["from"]
        role = SHAREGPT_ROLES.get(speaker) if isinstance(speaker, str) else None
        known, content_key = SHAREGPT_ROLES, "value"
    else:
        speaker = item.get("role")
        role = speaker if isinstance(speaker, str) and speaker in ROLES else None
        known, content_key = dict.fromkeys(sorted(ROLES), ""), "content"
    if role is None:
        raise Refusal(
            Finding(
                "prompts-message",
                f"{row.place} has a message that nobody known speaks",
                place=f"{row.place}: {where}",
                got=f"{speaker!r:.40}",
                expected=", ".join(known),
                hint="name the speaker as the chat template does",
            )
        )
    # What else a message has (tool calls, reasoning) is the template's business; null means absent.
    extra = {
        key: value for key, value in item.items() if value is not None and key not in {"from", "role", content_key}
    }
    needed = role in {"user", "assistant"} and "tool_calls" not in extra
    content = _content(row, f"{where}.{content_key}", item.get(content_key), needed=needed)
    return {"role": role, "content": content, **extra}


def _content(row: Row, where: str, value: Any, *, needed: bool) -> str:
    if value is None and not needed:
        return ""
    if isinstance(value, list) and value:
        parts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in value]
        if all(isinstance(part, str) for part in parts):
            # vLLM joins text parts like this for templates that take plain text (vllm/entrypoints/chat_utils.py).
            value = "\n".join(map(str, parts))
    if not isinstance(value, str):
        raise Refusal(_field(row, where, value, "text, or a list of parts of type text", MEDIA_HINT))
    if needed and not value.strip():
        raise Refusal(blank(row, where))
    return value


def _tools(row: Row) -> tuple[dict[str, Any], ...]:
    tools = row.value.get("tools")
    if tools is None:
        return ()
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise Refusal(_field(row, "tools", tools, "a list of tool definitions as objects"))
    return tuple(tools)


MEDIA_HINT = "images and other media are not tokenised here: give prompt_token_ids for such prompts"
SHAPE_HINT = "a chat is a list of messages, each with its speaker and its text"


def _field(row: Row, where: str, value: Any, expected: str, hint: str = SHAPE_HINT) -> Finding:
    return Finding(
        "prompts-field",
        f"{row.place} has something else at {where} than its schema says",
        place=f"{row.place}: {where}",
        got=f"{value!r:.60}",
        expected=expected,
        hint=hint,
    )
