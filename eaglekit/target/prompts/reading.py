"""`read_prompts`: from a prompt file to texts in token ids, with everything that is wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from eaglekit.report import Finding, Refusal
from eaglekit.report.model import FINDINGS_SHOWN, refuse_if
from eaglekit.target.prompts.forms import Chat, Form, PlainText, TokenIds
from eaglekit.target.prompts.rows import Row, read_rows
from eaglekit.target.prompts.schemas import UNFILLED, Schema, recognise
from eaglekit.target.prompts.token_ids import check_ids
from eaglekit.target.prompts.tokenising import Tokenised, tokenise_chat, tokenise_plain
from eaglekit.target.prompts.tokenizer import BareErrors, Tokenizer, failed
from eaglekit.target.texts import Text

IDENTITY_KEYS = ("question_id", "id", "identity", "prompt_id", "request_id", "uuid")


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a prompt file holds, in the target's token ids."""

    texts: tuple[Text, ...]
    """In the file's order; at least one."""
    schema: str
    """The name of the schema that was recognised."""
    digest: str
    """SHA-256 of the whole file, in hex."""
    findings: tuple[Finding, ...]
    """Notes only: whatever weighs more refuses."""


@dataclass(slots=True)
class _State:
    """What rows have to agree on, and what is counted over all of them."""

    path: Path
    tokenizer: Tokenizer | None
    vocabulary_size: int | None
    findings: list[Finding] = field(default_factory=list)
    schema: Schema | None = None
    first: str = ""
    seen: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    texts: list[Text] = field(default_factory=list)
    unfilled: list[str] = field(default_factory=list)
    untokenised: list[str] = field(default_factory=list)
    shortened: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)


def read_prompts(
    path: Path, *, tokenizer: Tokenizer | None = None, vocab_size: int | None = None, limit: int | None = None
) -> Prompts:
    """The texts of a prompt file: JSONL or a JSON array, of any schema in `schemas.SCHEMAS`, the same in every row.

    `tokenizer` is needed for everything but token ids; `vocab_size` bounds the ids; `limit` reads that many rows only.
    Raises `Refusal` with everything that is wrong with the file. Does not touch the network.
    """
    state = _State(path, tokenizer, vocab_size)
    for row in read_rows(path, state.findings):
        if limit is not None and state.rows >= limit:
            break
        state.rows += 1
        _take(row, state)
        if len(state.findings) > FINDINGS_SHOWN:
            break
    findings = [*state.findings, *_summaries(state)]
    if not state.texts and not findings:
        findings.append(_nothing(path))
    refuse_if(findings)
    name = state.schema.name if state.schema else ""
    return Prompts(tuple(state.texts), name, _digest(path), tuple(findings))


def _take(row: Row, state: _State) -> None:
    try:
        schema = recognise(row)
        if state.schema is None:
            state.schema, state.first = schema, row.place
        elif schema is not state.schema:
            raise Refusal(_mixed(row, schema, state.schema, state.first))
        form = schema.read(row)
        identity = _identity(row, state)
        category = _category(row)
        if _unfilled(form):
            state.unfilled.append(row.place)
            return
        made = _tokenise(form, row, state)
    except Refusal as refusal:
        state.findings.extend(refusal.findings)
        return
    if made is None:
        state.untokenised.append(row.place)
        return
    whose = "the file" if isinstance(form, TokenIds) else "the tokenizer"
    outside = check_ids(made.tokens, state.vocabulary_size, row, whose)
    state.findings.extend(outside)
    if isinstance(form, Chat) and form.later_turns:
        state.shortened.append(row.place)
    if made.joined:
        state.joined.append(row.place)
    if not outside:
        state.texts.append(Text(identity, category, made.tokens, made.prompt_length))


def _tokenise(form: Form, row: Row, state: _State) -> Tokenised | None:
    if isinstance(form, TokenIds):
        return Tokenised((*form.prompt, *form.response), len(form.prompt))
    if state.tokenizer is None:
        return None
    with BareErrors(lambda reason: failed(row.place, reason)):
        if isinstance(form, PlainText):
            return tokenise_plain(form, state.tokenizer, row)
        return tokenise_chat(form, state.tokenizer, row)


def _identity(row: Row, state: _State) -> str:
    key = next((key for key in IDENTITY_KEYS if row.value.get(key) is not None), "")
    value = row.value[key] if key else row.position
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise Refusal(
            Finding(
                "prompts-field",
                f"{row.place} has a {key} that names nothing",
                place=f"{row.place}: {key}",
                got=f"{value!r:.40}",
                expected="text or an integer",
                hint=f"leave {key} out and the line number is used",
            )
        )
    identity = str(value)
    before = state.seen.setdefault(identity, row.place)
    if before != row.place:
        raise Refusal(
            Finding(
                "prompts-identity-repeated",
                f"{row.place} has the same {key or 'place'} as {before}: {identity[:80]!r}",
                place=row.place,
                got=identity[:80],
                expected="a name of its own for every row",
                hint="a row that stands twice counts twice: delete one, or give it another name",
            )
        )
    return identity


def _category(row: Row) -> str:
    value = row.value.get("category")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Refusal(
            Finding(
                "prompts-field",
                f"{row.place} has a category that is no text",
                place=f"{row.place}: category",
                got=f"{value!r:.40}",
                expected="text",
                hint="numbers are counted by category as well: name the group, or leave the key out",
            )
        )
    return value


def _unfilled(form: Form) -> bool:
    if not isinstance(form, Chat):
        return False
    return any(str(message["content"]).startswith(UNFILLED) for message in form.messages)


def _summaries(state: _State) -> Iterator[Finding]:
    """Findings about many rows at once, one each."""
    if state.unfilled:
        yield Finding(
            "prompts-unfilled",
            f"{_count(state.unfilled, state)} of {state.path.name} hold a placeholder where the question belongs",
            place=_places(state.unfilled),
            got=UNFILLED,
            expected="the question itself",
            hint="run NVIDIA's preparation first: prepare_data.py of Model-Optimizer's examples/specdec_bench "
            "(Parquet) or nemo_skills/dataset/speed-bench/prepare.py (JSONL, read here as it is)",
        )
    if state.untokenised:
        yield Finding(
            "prompts-tokenizer-missing",
            f"{_count(state.untokenised, state)} of {state.path.name} are text, and there is no tokenizer",
            place=_places(state.untokenised),
            got=state.schema.name if state.schema else "text",
            expected="token ids, or a target with its tokenizer",
            hint="give the target's folder with --target, or a file with prompt_token_ids and response_token_ids",
        )
    if state.shortened:
        yield Finding(
            "prompts-first-turn",
            f"{_count(state.shortened, state)} of {state.path.name} ask again without the answer in between; "
            "only the first question was taken",
            place=_places(state.shortened),
            got="several questions in one row",
            hint="for later turns give messages with the target's own answers",
        )
    if state.joined:
        yield Finding(
            "prompts-boundary-merged",
            f"in {_count(state.joined, state)} of {state.path.name} the tokenizer would merge the end of the prompt "
            "with the start of the response; they were tokenised apart",
            place=_places(state.joined),
            got="a token across the boundary",
            hint="this is what an engine does; for the exact ids give prompt_token_ids and response_token_ids",
        )


def _count(places: list[str], state: _State) -> str:
    return f"{len(places)} of {state.rows} rows"


def _places(places: list[str]) -> str:
    return ", ".join(chain(places[:3], ["..."] if len(places) > 3 else []))


def _mixed(row: Row, schema: Schema, expected: Schema, first: str) -> Finding:
    return Finding(
        "prompts-schema-mixed",
        f"{row.place} is written as {schema.name}, {first} as {expected.name}",
        place=row.place,
        got=schema.name,
        expected=f"{expected.name}, as in {first}",
        hint="split the file by schema: numbers over both would not say what they count",
    )


def _nothing(path: Path) -> Finding:
    return Finding(
        "prompts-none",
        f"{path.name} holds no prompt",
        place=str(path),
        got="0 rows",
        expected="at least 1 row",
        hint="look at what wrote the file",
    )


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
