"""From a form to token ids: the prompt as the engine sends it, the response as the target would have spoken it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eaglekit.report import Finding, Refusal
from eaglekit.target.prompts.forms import Chat, PlainText
from eaglekit.target.prompts.rows import Row
from eaglekit.target.prompts.tokenizer import IDS_HINT, Tokenizer
from eaglekit.target.texts import agreed


@dataclass(frozen=True, slots=True)
class Tokenised:
    """Prompt and response in ids."""

    tokens: tuple[int, ...]
    prompt_length: int
    joined: bool = False
    """The tokenizer merges across the boundary; the response was tokenised by itself, as it is generated."""


def tokenise_plain(form: PlainText, tokenizer: Tokenizer, row: Row) -> Tokenised:
    """The ids of a plain text, the tokenizer's own special tokens (such as BOS) included."""
    prompt = tokenizer.encode(form.prompt, add_special_tokens=True)
    if not prompt:
        raise Refusal(_no_tokens(row))
    if form.response is None:
        return Tokenised(tuple(prompt), len(prompt))
    whole = tokenizer.encode(form.prompt + form.response, add_special_tokens=True)
    return _joined(prompt, whole, form.response, tokenizer, row)


def tokenise_chat(form: Chat, tokenizer: Tokenizer, row: Row) -> Tokenised:
    """The ids of a chat through the target's own template; the response ends with the first end-of-text token."""
    if not tokenizer.chat_template:
        raise Refusal(
            Finding(
                "prompts-chat-template-missing",
                f"{row.place} is a chat, and the target's tokenizer has no chat template",
                place=row.place,
                got="no chat_template",
                expected="a chat_template in tokenizer_config.json or chat_template.jinja",
                hint="a base model takes text: give prompt and response; for a chat model add its template file",
            )
        )
    tools = form.tools or None
    prompt = _render(tokenizer, form.messages, row, tools=tools, generation=True)
    if not prompt:
        raise Refusal(_no_tokens(row))
    if form.response is None:
        return Tokenised(tuple(prompt), len(prompt))
    messages = (*form.messages, form.response)
    whole = _render(tokenizer, messages, row, tools=tools, generation=False)
    rest = ""
    if whole[: len(prompt)] != prompt:
        before = _render(tokenizer, form.messages, row, tools=tools, generation=True, text=True)
        after = _render(tokenizer, messages, row, tools=tools, generation=False, text=True)
        if not after.startswith(before):
            raise Refusal(_rewritten(row, before, after))
        rest = after[len(before) :]
    return _spoken(_joined(prompt, whole, rest, tokenizer, row), tokenizer)


def _joined(prompt: list[int], whole: list[int], rest: str, tokenizer: Tokenizer, row: Row) -> Tokenised:
    if whole[: len(prompt)] == prompt and len(whole) > len(prompt):
        return Tokenised(tuple(whole), len(prompt))
    # The engine keeps the prompt's ids and generates behind them, so the response stands for itself.
    apart = [*prompt, *tokenizer.encode(rest, add_special_tokens=False)]
    if len(apart) > len(prompt) and _decode(tokenizer, apart) == _decode(tokenizer, whole):
        return Tokenised(tuple(apart), len(prompt), joined=True)
    raise Refusal(
        Finding(
            "prompts-boundary",
            f"{row.place}: the tokens of the prompt are not the start of the tokens of prompt and response",
            place=row.place,
            got=f"{agreed(prompt, whole)} of the prompt's {len(prompt)} tokens are the same",
            expected="a boundary between two tokens",
            hint=IDS_HINT,
        )
    )


def _spoken(made: Tokenised, tokenizer: Tokenizer) -> Tokenised:
    """Without what the template puts behind the end of the turn: no target speaks it, every engine stops before."""
    end = tokenizer.eos_token_id
    response = made.tokens[made.prompt_length :]
    if not isinstance(end, int) or end not in response:
        return made
    length = made.prompt_length + response.index(end) + 1
    return Tokenised(made.tokens[:length], made.prompt_length, made.joined)


def _render(
    tokenizer: Tokenizer,
    messages: Sequence[Mapping[str, Any]],
    row: Row,
    *,
    tools: Sequence[Mapping[str, Any]] | None,
    generation: bool,
    text: bool = False,
) -> Any:
    from jinja2 import TemplateError

    try:
        return tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=generation, tokenize=not text, return_dict=False
        )
    except (TemplateError, TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        raise Refusal(
            Finding(
                "prompts-chat-template-failed",
                f"{row.place}: the target's chat template does not take this chat",
                place=row.place,
                got=" ".join(f"{type(error).__name__}: {error}".split())[:300],
                expected="roles and order that the template knows: "
                + ", ".join(str(message["role"]) for message in messages[:8]),
                hint=f"write the chat as the template wants it, or {IDS_HINT}",
            )
        ) from None


def _decode(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    return tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)


def _no_tokens(row: Row) -> Finding:
    return Finding(
        "prompts-empty",
        f"{row.place}: the tokenizer makes no token of the prompt",
        place=row.place,
        got="0 tokens",
        expected="at least 1 token",
        hint="leave the row out",
    )


def _rewritten(row: Row, before: str, after: str) -> Finding:
    at = agreed(before, after)
    return Finding(
        "prompts-boundary",
        f"{row.place}: the chat template writes an answered question otherwise than an open one",
        place=row.place,
        got=f"{after[at : at + 40]!r} where the prompt has {before[at : at + 40]!r}",
        expected="the prompt unchanged before the response",
        hint=f"thinking models' templates do this; let the target generate the response, or {IDS_HINT}",
    )
