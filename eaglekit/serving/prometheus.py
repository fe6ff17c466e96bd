"""vLLM's counters in the text that a Prometheus server scrapes: only what is asked for is read, the rest is passed by.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

from eaglekit.serving.counters import Counters

SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>(?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?\s+(?P<value>\S+)")
LABEL = re.compile(r"\s*([a-zA-Z_]\w*)\s*=\s*\"((?:[^\"\\]|\\.)*)\"\s*(?:,|$)")
ESCAPED = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
PREFIX = "vllm:"
LONGEST_LINE = 10_000
MOST_POSITIONS = 1024
"""Draft positions; a label that says more is none of vLLM's."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number at one moment."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(text: str) -> Iterator[Sample]:
    """Every sample of vLLM that can be read; comments, other programs' samples and broken lines are passed by."""
    for line in text.split("\n"):
        if not line.startswith(PREFIX) or len(line) > LONGEST_LINE:
            continue
        found = SAMPLE.match(line)
        if found is None:
            continue
        labels = {name: _unescaped(value) for name, value in LABEL.findall(found["labels"] or "")}
        try:
            value = float(found["value"])
        except ValueError:
            continue
        yield Sample(found["name"], labels, value)


@dataclass(frozen=True, slots=True)
class Scrape:
    """What a server's counters say at one moment, summed over its engines."""

    counters: Counters | None
    """None when it does not speculate, or is no vLLM."""
    finished: int | None
    """Requests that ended, however they did; None where it is not told."""
    prompt_tokens: int | None
    running: int | None
    """Requests under way or waiting."""
    created: frozenset[float]
    """When its counters were made: other moments are another server."""


def scrape(text: str, model: str | None = None) -> Scrape:
    """The counters of `model`, or of every model, in the text that a server's /metrics gives."""
    totals: dict[str, float] = {}
    positions: dict[int, float] = {}
    created = set()
    for one in samples(text):
        if (
            not isfinite(one.value)
            or one.value < 0
            or (model is not None and one.labels.get("model_name", model) != model)
        ):
            continue
        name = one.name.removeprefix(PREFIX)
        if name == "spec_decode_num_drafts_created":
            created.add(one.value)
        totals[name] = totals.get(name, 0.0) + one.value
        if name == "spec_decode_num_accepted_tokens_per_pos_total":
            place = one.labels.get("position", "")
            if place.isascii() and place.isdigit() and len(place) < 5 and int(place) < MOST_POSITIONS:
                positions[int(place)] = positions.get(int(place), 0.0) + one.value
    counted = [totals.get(f"spec_decode_num_{name}_total") for name in ("drafts", "draft_tokens", "accepted_tokens")]
    counters = None
    if None not in counted and sorted(positions) == list(range(len(positions))):
        drafts, tokens, accepted = (int(value or 0) for value in counted)
        counters = Counters(drafts, tokens, accepted, tuple(int(positions[place]) for place in sorted(positions)))
    busy = [totals[name] for name in ("num_requests_running", "num_requests_waiting") if name in totals]
    return Scrape(
        counters,
        _whole(totals.get("request_success_total")),
        _whole(totals.get("prompt_tokens_total")),
        int(sum(busy)) if busy else None,
        frozenset(created),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _unescaped(value: str) -> str:
    return re.sub(r"\\[n\"\\]", lambda found: ESCAPED[found[0]], value)
