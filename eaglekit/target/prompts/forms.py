"""The three forms that every schema of prompts comes down to: token ids, plain text, a chat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]
"""What a chat template is given: `role`, `content` as text, and whatever else the file's message has."""


@dataclass(frozen=True, slots=True)
class TokenIds:
    """Tokenised by somebody else, who answers for it."""

    prompt: tuple[int, ...]
    response: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlainText:
    """Text that goes to the target as it is, without a chat template."""

    prompt: str
    response: str | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages that the target's chat template makes a prompt of."""

    messages: tuple[Message, ...]
    response: Message | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    later_turns: int = 0
    """How many later questions were left out because no answers to the earlier ones are given."""


Form = TokenIds | PlainText | Chat
