"""One request as a user makes it: a streamed, greedy completion, with the moment at which each piece came.

The protocol is that of `vllm bench serve`: POST /v1/completions with `stream`, one server-sent event a piece.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from eaglekit.report import Refusal
from eaglekit.serving.address import ANSWER_S, key_headers, refused, silent, told_by_server, unusable
from eaglekit.serving.endpoint import Server
from eaglekit.serving.job import Prompt

PATH = "/v1/completions"
EVENT = b"data:"
END = b"[DONE]"
MOST_LINE_BYTES = 4 << 20
MOST_TOKEN_BYTES = 16 << 10
"""Of a stream, for each token that was asked for; vLLM needs some 300."""
TOLD_BYTES = 2000
MOST_RATE = 20_000.0
"""Tokens per second that no server makes for one user: one that comes faster waited somewhere, and came at once."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and how long a user waited for it."""

    identity: str
    tokens: tuple[int, ...]
    pieces: tuple[int, ...]
    """Tokens of each piece of the stream: of one step of the server, or of several where it lags behind."""
    first_s: float
    """Seconds from sending the request to the first piece."""
    last_s: float
    """Seconds from sending the request to the last piece."""
    finish: str
    """`stop` or `length`."""

    @property
    def timed(self) -> bool:
        """Whether its tokens came one after the other, so that their time is known."""
        return len(self.pieces) > 1 and len(self.tokens) - self.pieces[0] < MOST_RATE * (self.last_s - self.first_s)

    @property
    def later_tokens(self) -> int:
        """Tokens behind the first piece, which the prompt's own pass makes; 0 where they could not be timed."""
        return len(self.tokens) - self.pieces[0] if self.timed else 0

    @property
    def later_s(self) -> float:
        """Seconds that a user waited for them."""
        return self.last_s - self.first_s if self.timed else 0.0


def request(server: Server, prompt: Prompt, *, ignore_end: bool, salt: str) -> Reply:
    """The answer of a server to one prompt. Raises `Refusal` when it gives none.

    `salt` keeps the server from taking the states of a prompt that it has read before.
    """
    document = {
        "model": server.model,
        "prompt": list(prompt.tokens),
        "max_tokens": prompt.max_tokens,
        "temperature": 0,
        # The target's own generation config may say otherwise.
        "repetition_penalty": 1.0,
        "stream": True,
        "return_token_ids": True,
        "ignore_eos": ignore_end,
        "cache_salt": salt,
    }
    headers = {**key_headers(), "Content-Type": "application/json", "Accept": "text/event-stream"}
    connection, path = _connection(server.address.root)
    try:
        # The clock starts with the request: how long a connection takes is no property of the server.
        connection.connect()
        start = time.perf_counter()
        connection.request("POST", path, json.dumps(document).encode(), headers)
        with connection.getresponse() as answer:
            if answer.status != 200:
                raise Refusal(refused(PATH, answer.status, _told(answer)))
            most_bytes = MOST_LINE_BYTES + MOST_TOKEN_BYTES * prompt.max_tokens
            arrived = [(time.perf_counter() - start, line) for line in _events(answer, most_bytes)]
    except (OSError, HTTPException, ValueError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise Refusal(silent(PATH, reason)) from None
    finally:
        connection.close()
    return _reply(prompt, arrived)


def _connection(root: str) -> tuple[HTTPConnection, str]:
    """A connection that goes through no proxy, which would be measured too, and the path of requests over it."""
    parts = urlsplit(root)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=ANSWER_S), parts.path + PATH


def _events(answer: HTTPResponse, most_bytes: int) -> Iterator[bytes]:
    """What stands behind `data:`, line by line as it comes; nothing is looked into, which would take time."""
    left = most_bytes
    while line := answer.readline(MOST_LINE_BYTES + 1):
        left -= len(line)
        if len(line) > MOST_LINE_BYTES:
            raise unusable(PATH, f"an event of more than {MOST_LINE_BYTES:,} bytes", "an event a piece")
        if left < 0:
            raise unusable(PATH, f"a stream of more than {most_bytes:,} bytes", "an end of the stream, [DONE]")
        if line.startswith(EVENT) and (event := line[len(EVENT) :].strip()):
            if event == END:
                return
            yield event
    raise unusable(PATH, "a stream that breaks off", "an end of the stream, [DONE]")


def _reply(prompt: Prompt, arrived: list[tuple[float, bytes]]) -> Reply:
    tokens: list[int] = []
    pieces: list[tuple[float, int]] = []
    finish = ""
    for moment, event in arrived:
        choice = _choice(event)
        got = choice.get("token_ids") or []
        if not isinstance(got, list) or not all(type(token) is int for token in got):
            raise unusable(PATH, "a piece without its token ids", "token_ids, which vLLM gives from 0.10.2 on")
        finish = str(choice.get("finish_reason") or finish)
        if got:
            tokens += got
            pieces.append((moment, len(got)))
    if not pieces:
        raise unusable(PATH, f"no token for prompt {prompt.identity}", "at least one token with its id")
    if len(tokens) > prompt.max_tokens:
        got, asked = f"{len(tokens):,} tokens for prompt {prompt.identity}", f"at most {prompt.max_tokens:,}"
        raise unusable(PATH, got, f"{asked}, as asked for")
    counts = tuple(count for _, count in pieces)
    return Reply(prompt.identity, tuple(tokens), counts, pieces[0][0], pieces[-1][0], finish)


def _choice(event: bytes) -> Mapping[str, Any]:
    """The one choice of an event; an empty one for events about something else. Raises `Refusal`."""
    try:
        document = json.loads(event)
        said = document.get("error")
        choices = document.get("choices") or [{}]
        choice = choices[0]
    except (ValueError, RecursionError, AttributeError, LookupError, TypeError):
        raise unusable(PATH, "an event that is no JSON object", "JSON, one event a piece") from None
    if said:
        raise unusable(PATH, f"an error: {told_by_server(json.dumps(said))}", "a completion")
    if not isinstance(choice, Mapping):
        raise unusable(PATH, "an event without a completion", "one completion")
    return choice


def _told(answer: HTTPResponse) -> str:
    return told_by_server(answer.read(TOLD_BYTES).decode(errors="replace"))
