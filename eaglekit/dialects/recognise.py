"""Which dialect a checkpoint is written in, with the evidence; and what is no EAGLE-3 drafter at all."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.clues import holds, told
from eaglekit.dialects.dialect import Clue, Dialect
from eaglekit.dialects.strangers import STRANGERS, Stranger
from eaglekit.dialects.tables import DIALECTS
from eaglekit.dialects.tables.groups import ours
from eaglekit.report import Finding, Refusal


@dataclass(frozen=True, slots=True)
class Recognition:
    """A dialect and what speaks for it."""

    dialect: Dialect
    evidence: tuple[str, ...]
    score: int
    runner_up: str = ""


def recognise(checkpoint: Checkpoint, *, dialect: str | None = None) -> Recognition:
    """The dialect this checkpoint is written in, with the evidence for it.

    Raises `Refusal` when it is no EAGLE-3 drafter, when no dialect fits, or when two fit equally: guessing here is
    how id conventions get mixed up.
    """
    stranger = find_stranger(checkpoint)
    if stranger is not None:
        raise Refusal(_stranger_finding(stranger, checkpoint))
    if dialect is not None:
        return named(dialect)
    fits = sorted(
        (_score(candidate, checkpoint) for candidate in DIALECTS.values() if _fits(candidate, checkpoint)),
        key=lambda fit: -fit.score,
    )
    if not fits:
        raise Refusal(
            Finding(
                "dialect-unknown",
                "no dialect explains this checkpoint",
                place=checkpoint.source.label,
                got=", ".join(sorted(checkpoint.tensors)[:6]) + (" ..." if len(checkpoint.tensors) > 6 else ""),
                expected="the tensor names of an EAGLE-3 drafter: fc, hidden_norm, one or more layers, norm",
                hint="eaglekit dialects lists the layouts that are understood",
            )
        )
    best = fits[0]
    rivals = [fit for fit in fits[1:] if fit.score == best.score]
    if rivals:
        names = [fit.dialect.name for fit in (best, *rivals)]
        raise Refusal(
            Finding(
                "dialect-ambiguous",
                f"this checkpoint fits {' and '.join(names)} equally well",
                place=checkpoint.source.label,
                got="; ".join(f"{fit.dialect.name}: {', '.join(fit.evidence)}" for fit in (best, *rivals)),
                expected="one dialect with more evidence than any other",
                hint="say which trainer or exporter wrote it: --from " + " or --from ".join(names),
            )
        )
    second = fits[1] if len(fits) > 1 else None
    return Recognition(
        best.dialect, best.evidence, best.score, f"{second.dialect.name} ({second.score})" if second else ""
    )


def find_stranger(checkpoint: Checkpoint) -> Stranger | None:
    """The kind of model this is, when it is one that eaglekit knows and does not convert."""
    for stranger in STRANGERS:
        if all(holds(clue, checkpoint) for clue in stranger.signs):
            return stranger
    return None


def _stranger_finding(stranger: Stranger, checkpoint: Checkpoint) -> Finding:
    return Finding(
        stranger.code,
        f"this is {stranger.what}",
        place=checkpoint.source.label,
        got="; ".join(map(str, stranger.signs)),
        expected="an EAGLE-3 drafter: fc over captured states, hidden_norm, q/k/v that read 2H in layer 0",
        hint=stranger.hint,
    )


def named(name: str, place: str = "--from") -> Recognition:
    """The dialect that the user named, at `place`. Raises `Refusal` with the nearest name."""
    if name not in DIALECTS:
        close = difflib.get_close_matches(name, DIALECTS, n=1)
        raise Refusal(
            Finding(
                "dialect-name",
                f"there is no dialect {name!r}",
                place=place,
                got=name,
                expected=", ".join(DIALECTS),
                hint=f"did you mean {close[0]}?" if close else "eaglekit dialects lists them",
            )
        )
    return Recognition(DIALECTS[name], (f"given: {place}",), 0)


def _fits(dialect: Dialect, checkpoint: Checkpoint) -> bool:
    # Our mark is stronger than a config's other keys (a drafter without captured states has no id list, for one), but
    # not than the tensors: a trainer may have carried the mark along into its own layout.
    marked = holds(ours(dialect.name), checkpoint)
    return all(
        holds(clue, checkpoint, strips=dialect.strips) or (marked and "tensor" not in clue.kind)
        for clue in dialect.needs
    )


def _score(dialect: Dialect, checkpoint: Checkpoint) -> Recognition:
    clues = (*dialect.needs, *dialect.supports)
    seen: list[Clue] = [clue for clue in clues if holds(clue, checkpoint, strips=dialect.strips)]
    # What is absent is only a condition: it may rule a dialect out, it is no evidence worth telling.
    shown = tuple(told(clue, checkpoint) for clue in seen if not clue.kind.startswith("no "))
    return Recognition(dialect, shown, sum(clue.weight for clue in seen))
