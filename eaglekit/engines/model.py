"""The nouns of this room: versions and spans of them, verdicts, effects and readings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from eaglekit.checkpoint import Tensor
from eaglekit.drafter import Spec

_FIRST_YEAR = 2000
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A release of an engine: numbers, or year and month for engines without releases. Ordered as releases are."""

    parts: tuple[int, ...]
    text: str = field(default="", compare=False)
    """As it is written; empty means the parts joined by dots."""

    @classmethod
    def parse(cls, text: str) -> Version:
        """The version that `text` writes, for example `0.22.1` or `2026.06`. Raises `ValueError` for other text."""
        pieces = text.strip().removeprefix("v").split(".")
        if len(pieces) > 1 and re.fullmatch(r"post[0-9]+", pieces[-1]):
            # A post release repairs the package, not the program.
            pieces = pieces[:-1]
        if not all(piece.isascii() and piece.isdigit() for piece in pieces):
            raise ValueError(f"{text!r} is no version: numbers with dots between them")
        return cls(tuple(int(piece) for piece in pieces), ".".join(pieces))

    @property
    def is_date(self) -> bool:
        """Whether this is a year and a month."""
        return self.parts[0] >= _FIRST_YEAR

    def starts_with(self, prefix: Version) -> bool:
        """Whether `prefix` names this version or a line it belongs to: 0.24 names 0.24.0."""
        return self.parts[: len(prefix.parts)] == prefix.parts

    def line(self) -> Version:
        """The release line: 0.22 for 0.22.1. A date is its own line."""
        return self if self.is_date else Version(self.parts[:2])

    def __str__(self) -> str:
        return self.text or ".".join(map(str, self.parts))

    def or_later(self) -> str:
        """This version and every later one, in words that a reader can act on: a month is not a release."""
        return f"sources of {self.month()} or later" if self.is_date else f"{self} or newer"

    def month(self) -> str:
        """Of a date: the month and the year in words."""
        year, month = (*self.parts, 1)[:2]
        return f"{_MONTHS[month - 1]} {year}"


@dataclass(frozen=True, slots=True)
class Span:
    """A run of versions. None is open: from the first, or to the newest that is known."""

    since: Version | None = None
    until: Version | None = None
    """Exclusive."""

    def __contains__(self, version: Version) -> bool:
        return (self.since is None or self.since <= version) and (self.until is None or version < self.until)

    def __str__(self) -> str:
        if self.since is None:
            return "any version" if self.until is None else f"<{self.until}"
        if self.until is None:
            return f">={self.since}"
        if self.until.is_date:
            return f">={self.since}, <{self.until}"
        last = Version((*self.until.parts[:-1], self.until.parts[-1] - 1))
        return str(self.since) if last <= self.since else f"{self.since}-{last}"

    def in_words(self) -> str:
        """As a sentence names it: the same for releases, months spelled out."""
        bound = self.until or self.since
        if bound is None or not bound.is_date:
            return str(self)
        if self.until is None:
            return bound.or_later()
        first = f"from {self.since.month()} to " if self.since is not None else ""
        return f"sources {first}before {bound.month()}"


class Verdict(str, Enum):
    """What an engine makes of a checkpoint."""

    READS = "reads"
    """The same function."""
    DEGRADED = "degraded"
    """Works, but ignores something harmless or needs a flag."""
    MISREADS = "misreads"
    """Silently another function: the text stays right, the drafts are bad."""
    REJECTS = "rejects"
    """Fails to load or to serve."""

    @property
    def weight(self) -> int:
        """Rank from best to worst."""
        return list(Verdict).index(self)


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing an engine does with a checkpoint that is not simply reading it."""

    verdict: Verdict
    code: str
    """The finding code whose story explains it."""
    text: str
    """One sentence with the concrete facts; starts with the engine's title."""
    source: str
    """The public file or thread it is known from."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a run of versions of one engine makes of a checkpoint."""

    engine: str
    span: Span
    verdict: Verdict
    """The worst of the effects; READS when there are none."""
    effects: tuple[Effect, ...]
    unknown: tuple[str, ...] = ()
    """What nobody has established, a sentence each: the verdict stands on everything else."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """A checkpoint as an engine meets it, beside its true meaning."""

    config: Mapping[str, Any]
    """config.json as it is."""
    tensors: Mapping[str, Tensor]
    """Name -> tensor."""
    spec: Spec
    """The true meaning; `aux_layers` of () is undecided, target family and depth may be None."""
    seen_ids: tuple[int, ...] | None = None
    """The target ids that the stored d2t names when its entries are taken for offsets; None means the spec's."""


@dataclass(frozen=True, slots=True)
class Request:
    """An engine somebody wants to serve with."""

    engine: str
    version: Version | None
    """None means the newest that is known."""


def worst(verdicts: tuple[Verdict, ...]) -> Verdict:
    """The worst of `verdicts`; READS when there are none."""
    return max(verdicts, key=lambda verdict: verdict.weight, default=Verdict.READS)
