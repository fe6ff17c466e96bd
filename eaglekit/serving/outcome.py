"""What an engine's process told: one JSON object a line, read as it comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eaglekit.serving.counters import Counters


class Unreadable(ValueError):  # noqa: N818 - told as what became of the engine
    """A line that is none of the known ones."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The engine has both models in memory."""

    version: str
    torch: str
    device: str
    """`cpu`, `cuda`, ..."""
    dtype: str
    quantization: str | None
    arguments: Mapping[str, Any]
    """What vLLM was told, but the two paths."""
    plain_rotation: bool
    boundaries: tuple[int, ...] | None
    """The layers whose states it hands to the drafter, in its own count, which is that of boundaries; None: unknown."""
    watched: bool
    """Whether its drafts can be seen, not only counted."""
    why: str
    """Why they cannot."""


@dataclass(frozen=True, slots=True)
class Round:
    """One time that the drafter was asked."""

    length: int
    """Tokens that were known."""
    drafts: tuple[int, ...]
    best: tuple[tuple[tuple[int, float], ...], ...]
    """Per draft the best tokens of the target's vocabulary and their logits, best first; empty where not seen."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One request, finished."""

    identity: str
    tokens: tuple[int, ...]
    """The answer alone."""
    finish: str
    """`stop` or `length`."""
    known: tuple[int, ...] | None
    """Prompt, answer, and what the last round made beyond its end; None where the drafter was not watched."""
    rounds: tuple[Round, ...] | None
    accepted: tuple[int, ...] | None
    """Per verified round, the drafts that were accepted; None where this engine does not tell."""
    counters: Counters | None


@dataclass(frozen=True, slots=True)
class States:
    """The target's states over one text, in a file."""

    identity: str
    file: str
    """Its name in the folder of the job."""
    argmax: tuple[int, ...]
    """The target's most likely next token after each token of the text."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine gave up, in its own words."""

    during: str
    """`load` or `decode`."""
    type: str
    message: str
    place: str
    """The innermost file, line and function of vLLM that the error came through."""
    identity: str = ""
    """The text it was at."""


@dataclass(frozen=True, slots=True)
class Done:
    """Every request is finished."""

    counters: Counters | None
    why: str
    """Why not all drafts were seen."""


News = Loaded | Answer | States | Failed | Done


def parse(line: str) -> News:
    """What one line tells. Raises `Unreadable`."""
    try:
        document = json.loads(line)
        news: News = READERS[document["kind"]](document)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None
    return news


def _loaded(document: Mapping[str, Any]) -> Loaded:
    layers = document["boundaries"]
    return Loaded(
        version=_text(document["version"]),
        torch=_text(document["torch"]),
        device=_text(document["device"]),
        dtype=_text(document["dtype"]),
        quantization=None if document["quantization"] is None else _text(document["quantization"]),
        arguments=_writable(document["arguments"]),
        plain_rotation=bool(document["plain_rotation"]),
        boundaries=None if layers is None else _integers(layers),
        watched=bool(document["watched"]),
        why=_text(document["why"]),
    )


def _answer(document: Mapping[str, Any]) -> Answer:
    known, rounds, accepted = (document[name] for name in ("known", "rounds", "accepted"))
    return Answer(
        identity=_text(document["identity"]),
        tokens=_integers(document["answer"]),
        finish=_text(document["finish"] or ""),
        known=None if known is None else _integers(known),
        rounds=None if rounds is None else tuple(_round(one) for one in rounds),
        accepted=None if accepted is None else _integers(accepted),
        counters=_counters(document["counters"]),
    )


def _round(document: Mapping[str, Any]) -> Round:
    return Round(
        length=_integer(document["length"]),
        drafts=_integers(document["drafts"]),
        best=tuple(tuple((_integer(token), float(logit)) for token, logit in step) for step in document["best"]),
    )


def _states(document: Mapping[str, Any]) -> States:
    identity, file = _text(document["identity"]), _text(document["file"])
    if "/" in file or file in ("", ".", "..") or not file.isprintable():
        raise ValueError(f"{file!r} is no name of a file")
    return States(identity, file, _integers(document["argmax"]))


def _failed(document: Mapping[str, Any]) -> Failed:
    during, kind, message, place = (_text(document[name]) for name in ("during", "type", "message", "place"))
    return Failed(during, kind, message, place, _text(document.get("identity", "")))


def _done(document: Mapping[str, Any]) -> Done:
    return Done(_counters(document["counters"]), _text(document["why"]))


READERS: Mapping[str, Callable[[Mapping[str, Any]], News]] = {
    "loaded": _loaded,
    "text": _answer,
    "states": _states,
    "failed": _failed,
    "done": _done,
}
"""Kind of a line -> what reads it."""


def _counters(values: Mapping[str, Sequence[int]]) -> Counters | None:
    """None where this engine has no such counters."""
    try:
        return Counters.of({name: _integers(counted) for name, counted in values.items()})
    except KeyError:
        return None


def _writable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a capture's description can hold: JSON proper. Raises `ValueError`."""
    json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    return dict(arguments)


def _integers(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(_integer(value) for value in values)


def _integer(value: Any) -> int:
    # True is an integer to Python, and no token.
    if type(value) is not int:
        raise TypeError(f"{value!r} is no integer")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    # Halves of characters, as names of files have them, could be written nowhere.
    return value.encode(errors="backslashreplace").decode()
