"""What `capture --engine` would take, or what came of it, as a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from eaglekit.report import Fact, Measurement, Report
from eaglekit.serving.capturing import Made
from eaglekit.serving.extraction import Extraction
from eaglekit.serving.wish import Wish
from eaglekit.target.capturing import Ready
from eaglekit.target.capturing import report as report_of

WIDEST_BYTES = 4
"""Of a number in float32, before it is known what the engine computes in."""
INTEGERS_BYTES = 16
"""Of a token: its id and the next one."""
FILES_AT_ONCE = 2
"""Texts whose states lie in the temporary folder at a time: one being written, one being read."""


def report(
    ready: Ready, wish: Wish, job: Extraction, made: Made | None = None, *, seconds: float = 0.0, size_bytes: int = 0
) -> Report:
    """The report about a capture by an engine; without `made` about one that was only opened."""
    base = report_of(ready)
    facts = [fact for fact in base.facts if fact.name not in ("arithmetic", "experts at a time")]
    return replace(
        base,
        facts=(*facts, *_facts(wish, job, made)),
        findings=(*base.findings, *(made.findings if made is not None else ())),
        measurements=tuple(_planned(ready, job) if made is None else _measured(made, seconds, size_bytes)),
        result={"size_bytes": size_bytes, "target": dict(made.outline.target)} if made is not None else {},
    )


def _facts(wish: Wish, job: Extraction, made: Made | None) -> Iterator[Fact]:
    yield Fact("run by", wish.title, "given: --engine")
    yield Fact("layers asked of the engine", list(job.boundaries), "derived: boundaries, and the last for final states")
    if made is not None:
        loaded = made.loaded
        yield Fact("arithmetic", f"{loaded.dtype}, {loaded.device}", "read: engine")
        yield Fact("final states", made.outline.target["final"], "derived")
        yield Fact("next tokens", made.outline.target["argmax"], "read: engine")


def _planned(ready: Ready, job: Extraction) -> Iterator[Measurement]:
    new = ready.new_tokens or 0
    lengths = [len(text.tokens) + new for text in ready.asked]
    row = ready.model.hidden_size * WIDEST_BYTES
    kept = sum(lengths) * (INTEGERS_BYTES + (len(ready.boundaries) + 1) * row)
    passing = sum(sorted(lengths)[-FILES_AT_ONCE:]) * len(job.boundaries) * row
    yield Measurement("file at most", kept, "bytes", "in float32; half of it in bfloat16")
    yield Measurement("temporary files at most", passing, "bytes", "in TMPDIR, gone afterwards; in float32")


def _measured(made: Made, seconds: float, size_bytes: int) -> Iterator[Measurement]:
    looked = sum(len(tokens) for _, tokens in made.looked)
    yield Measurement("time", seconds, "s", "starting the engine, computing and writing, texts generated included")
    yield Measurement("file", size_bytes, "bytes")
    yield Measurement(
        "head and engine", made.alike / looked, "share",
        "looked-at positions; the target's head on the final state says the engine's next token", count=looked,
    )  # fmt: skip
    if made.responses:
        note = "response tokens; equal to the target's argmax; below 1 the responses are not its own greedy ones"
        yield Measurement("agreement", made.agreeing / made.responses, "share", note, count=made.responses)
