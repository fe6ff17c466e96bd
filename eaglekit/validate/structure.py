"""The first stage: what the files say, and what the target's say of it. Reads headers and a few rows, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import Read, read
from eaglekit.dialects.target import Target
from eaglekit.drafter import Drafter, Part, Role
from eaglekit.engines.inspection import inspect
from eaglekit.report import Fact, Finding, Report, Severity, Table
from eaglekit.validate.likeness import Likeness, compare_head

LAYER_DOUBTS = frozenset({"aux-convention-unknown", "aux-layers-absent", "aux-layers-conflict"})
"""Errors that leave nothing open but which target states the drafter reads: measuring can answer them."""


@dataclass(frozen=True)
class Structure:
    """What is known of a drafter before anything is computed."""

    report: Report
    reading: Read
    drafter: Drafter | None
    """The drafter, when it is understood and nothing is wrong with it but, perhaps, which layers it reads."""

    @property
    def clean(self) -> bool:
        """Whether numbers may be computed with it."""
        return self.drafter is not None and self.report.ok

    @property
    def layers_in_doubt(self) -> bool:
        """Whether the only errors are about which target layers the drafter reads."""
        return not self.report.ok and {finding.code for finding in self.report.errors} <= LAYER_DOUBTS


def examine(
    checkpoint: Checkpoint, given: Given, target: Target | None = None, *, keep_embedding: bool = False
) -> Structure:
    """Everything `inspect` knows of a drafter, and its embedding and head beside the target's.

    `keep_embedding` is the user's word that an embedding without any likeness to the target's is right.
    Raises `Refusal` when the checkpoint is no EAGLE-3 drafter at all.
    """
    report = inspect(checkpoint, given, target)
    reading = read(checkpoint, given)
    findings = [_accepted(finding, keep_embedding=keep_embedding) for finding in report.findings]
    drafter = reading.drafter
    tables = report.tables
    facts = report.facts
    if drafter is not None:
        head, more = _head(checkpoint, drafter, target, findings)
        findings += more
        tables = (_shared(drafter, target, findings, head), *tables)
        facts = (*facts, Fact("vocabulary map", *_map(drafter)))
    usable = replace(report, command="validate", facts=facts, findings=tuple(dict.fromkeys(findings)), tables=tables)
    understood = drafter is not None and all(f.code in LAYER_DOUBTS for f in usable.errors)
    return Structure(usable, reading, drafter if understood else None)


def _accepted(finding: Finding, *, keep_embedding: bool) -> Finding:
    if keep_embedding and finding.code == "embedding-untrained":
        return replace(finding, severity=Severity.WARNING, hint="accepted with --embedding keep")
    return finding


def _map(drafter: Drafter) -> tuple[str, str]:
    spec = drafter.spec
    if spec.target_ids is None:
        return "none: the draft vocabulary is the target's", ""
    ids = spec.target_ids
    order = "ascending" if list(ids) == sorted(ids) else "in another order than the target's"
    about = f"{len(ids)} of {spec.vocab_size} tokens, {order}, ids {min(ids)}..{max(ids)}"
    return about, str(drafter.origins.get("target_ids", ""))


def _head(
    checkpoint: Checkpoint, drafter: Drafter, target: Target | None, findings: Sequence[Finding]
) -> tuple[Likeness | None, list[Finding]]:
    """The drafter's head beside the target's, and what is wrong with it."""
    own = drafter.tensors.get(Role(Part.HEAD))
    if target is None or any(finding.code == "target-size" for finding in findings):
        return None, []
    if own is None:
        return None, [] if target.has_head else [_no_head(target)]
    likeness = compare_head(checkpoint, own, drafter.spec, target)
    if likeness.misplaced is None:
        return likeness, []
    return likeness, [
        Finding(
            "head-misplaced",
            f"the rows of {own.name} are the target's rows of other tokens than the map says: {likeness.misplaced}",
            place=own.name,
            got=likeness.because,
            expected="row r like the target's row of the token that r stands for",
            hint="the map's offsets were taken for token ids when the head was cut: cut it again, or train it again",
        )
    ]


def _no_head(target: Target) -> Finding:
    return Finding(
        "target-head-question",
        f"the drafter shares the target's head, and target {target.label} is untied and has none",
        place=target.label,
        got="no head",
        expected="a head, or tie_word_embeddings true",
        hint="give a complete target: its download may be unfinished",
    )


EMBEDDING_VERDICTS = {
    "embedding-copy": "a copy",
    "embedding-copy-likely": "a copy, by sampled rows",
    "embedding-trained": "trained along: similar rows",
    "embedding-untrained": "random-looking",
}
"""Finding of the check against the target -> what the table says."""


def _shared(drafter: Drafter, target: Target | None, findings: Sequence[Finding], head: Likeness | None) -> Table:
    """Whose embedding and head the drafter runs with, and how they stand beside the target's."""
    spec = drafter.spec
    codes = {finding.code for finding in findings}
    verdict = next((words for code, words in EMBEDDING_VERDICTS.items() if code in codes), "not compared")
    rows = [
        ("embedding", "own" if spec.own_embedding else "the target's", verdict if spec.own_embedding else "shared"),
        ("head", "own" if spec.own_head else "the target's", head.verdict if head is not None else "not compared"),
    ]
    if not spec.own_head:
        rows[1] = ("head", "the target's", "shared")
    beside = "beside the target's" if target is not None else "no target was given"
    return Table("shared-parts", "Embedding and head", ("part", "whose", beside), tuple(rows))
