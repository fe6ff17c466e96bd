"""Drafter against target: what the target adds to the spec, and what does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from eaglekit.checkpoint import Checkpoint, Tensor
from eaglekit.checkpoint.model import FLOATS
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import Read
from eaglekit.dialects.target import Target
from eaglekit.drafter import Drafter, Fusion, Spec
from eaglekit.drafter.parts import Part, Role
from eaglekit.report import Finding


def given_with(given: Given, target: Target) -> Given:
    """What the user said, with what the target's config states beside it."""
    return replace(given, target_facts=_facts_from(target), target_label=target.label)


def _facts_from(target: Target) -> dict[str, object]:
    """The facts a target states about itself, by spec field; unknown ones are left out."""
    found = {
        "target_family": target.model_type,
        "target_layers": target.num_layers,
        "target_name": target.name,
        "target_architecture": target.architecture,
    }
    return {name: value for name, value in found.items() if value is not None}


def fit(read: Read, target: Target) -> tuple[Spec, list[Finding]]:
    """The spec with what the target adds, and every way in which the two do not fit together."""
    assert read.drafter is not None  # noqa: S101 - callers check
    spec = read.drafter.spec
    findings: list[Finding] = list(target.findings)
    findings += _sizes(spec, target)
    findings += _rope(spec, target)
    findings += _dtype(spec, target)
    given = read.drafter.origins.get("max_position_embeddings")
    spec, context = (spec, []) if given is not None and given.kind == "given" else _context(spec, target)
    findings += context
    if not findings or all(f.code != "target-size" for f in findings):
        findings += _embedding(read.checkpoint, read.drafter, target)
    return spec, findings


def _sizes(spec: Spec, target: Target) -> list[Finding]:
    rows = [("vocabulary", "vocab_size", spec.vocab_size, target.vocab_size)]
    if spec.fusion is Fusion.AUX_STATES:
        rows.append(("hidden size", "target_hidden_size", spec.target_hidden_size, target.hidden_size))
    return [
        Finding(
            "target-size",
            f"the drafter is made for a target {what} of {mine}, this target has {theirs}",
            place=key,
            got=str(mine),
            expected=str(theirs),
            hint="give the target this drafter was trained for",
        )
        for what, key, mine, theirs in rows
        if mine != theirs
    ]


def _rope(spec: Spec, target: Target) -> list[Finding]:
    if target.rope_theta is None or target.rope_theta == spec.rope.theta:
        return []
    return [
        Finding(
            "rope-differs",
            f"the drafter's rope base is {spec.rope.theta:g}, the target's {target.rope_theta:g}",
            place="rope_theta",
            got=f"{spec.rope.theta:g}",
            expected=f"{target.rope_theta:g}, or another base on purpose",
            hint="kept as trained; it is never corrected to the target's",
        )
    ]


def _dtype(spec: Spec, target: Target) -> list[Finding]:
    """Embedding and head are shared as they are stored, so another dtype meets the drafter's own in one matmul."""
    shared = target.embedding
    if shared is None or shared.dtype not in FLOATS or shared.dtype == spec.dtype:
        return []
    return [
        Finding(
            "dtype-differs",
            f"the drafter is {spec.dtype}, the target's embedding {shared.dtype}",
            place=shared.name,
            got=spec.dtype,
            expected=f"{shared.dtype}, or an engine that casts",
            hint="written as stored; eaglekit convert --dtype casts the drafter",
        )
    ]


def _context(spec: Spec, target: Target) -> tuple[Spec, list[Finding]]:
    """The position table grows to the target's; the trained length stays in the metadata."""
    mine, theirs = spec.max_position_embeddings, target.max_position_embeddings
    if mine is None and theirs is not None and spec.rope.kind != "dynamic":
        return replace(spec, max_position_embeddings=theirs), [_context_filled(theirs)]
    # Dynamic scaling computes its base from the table's length, so there the length is part of the function.
    if mine is None or theirs is None or theirs <= mine or spec.rope.kind == "dynamic":
        return spec, []
    finding = Finding(
        "context-shorter",
        f"the drafter was trained on {mine} positions, the target serves {theirs}, {theirs / mine:g} times as many",
        place="max_position_embeddings",
        got=str(mine),
        expected=str(theirs),
        hint=f"written as {theirs}; the trained length {mine} is kept in the metadata",
    )
    return replace(spec, max_position_embeddings=theirs), [finding]


def _context_filled(theirs: int) -> Finding:
    return Finding(
        "context-unstated",
        f"the drafter does not say how many positions it has; the target serves {theirs}",
        place="max_position_embeddings",
        got="no key",
        expected=str(theirs),
        hint=f"written as {theirs}; without a value vLLM drafts only up to 2048",
    )


def _embedding(checkpoint: Checkpoint, drafter: Drafter, target: Target) -> list[Finding]:
    own = drafter.tensors.get(Role(Part.EMBEDDING))
    # A drafter of another width cannot share the target's table, and its own has nothing to be like.
    if own is None or target.embedding is None or own.shape != target.embedding.shape:
        return []
    kind = compare_embedding(checkpoint, own, target)
    size = f"{own.size_bytes / 1e6:,.1f} MB" if own.size_bytes >= 100_000 else f"{own.size_bytes / 1e3:.1f} kB"
    if kind == "copy-sampled":
        return [
            Finding(
                "embedding-copy-likely",
                f"{own.name} equals the target's embedding in {SAMPLED_ROWS} sampled rows ({size})",
                place=own.name,
                got="equal sampled rows; a remote table is not read whole",
                hint="kept; with both folders on this machine the copy is proved over all bytes",
            )
        ]
    if kind == "copy":
        return [
            Finding(
                "embedding-copy",
                f"{own.name} is a copy of the target's embedding ({size})",
                place=own.name,
                got="equal bytes",
                hint="kept; eaglekit convert --embedding drop leaves it out, engines then share the target's",
            )
        ]
    if kind == "random-looking":
        return [
            Finding(
                "embedding-untrained",
                f"{own.name} is not the target's embedding and looks untrained",
                place=own.name,
                got="rows without any likeness to the target's",
                expected="a copy of the target's, or a table trained from it",
                hint="--embedding keep if it was trained from scratch; convert --embedding drop shares the target's",
            )
        ]
    return [
        Finding(
            "embedding-trained",
            f"{own.name} differs from the target's embedding but resembles it: trained along",
            place=own.name,
            got="similar rows",
            hint="kept; SGLang overwrites it with the target's when the widths are equal",
        )
    ]


SAMPLED_ROWS = 64
LIKENESS = 0.2
"""Mean cosine of sampled rows above which a table counts as trained from the target's.

Rows of independent random tables of width 64 have |mean cosine over 64 rows| below 0.05 (standard deviation
1/sqrt(64*64) = 0.016), so 0.2 is more than twelve deviations away; fine-tuned tables stay far above 0.5.
"""


def compare_embedding(checkpoint: Checkpoint, own: Tensor, target: Target) -> str:
    """`copy`, `copy-sampled`, `trained` or `random-looking`: the drafter's embedding against the target's.

    A copy is proved over all bytes where both lie on this machine; likeness is the mean cosine of evenly spread rows.
    """
    theirs = target.embedding
    assert theirs is not None  # noqa: S101 - callers check
    if own.shape != theirs.shape:
        return "random-looking"
    library = target.library
    here = checkpoint.source.local_path(own.file) is not None and library.source.local_path(theirs.file) is not None
    if (
        here
        and own.dtype == theirs.dtype
        and all(
            piece == library.source.read(theirs.file, start, start + len(piece))
            for piece, start in _pieces(checkpoint, own, theirs.start)
        )
    ):
        return "copy"
    from eaglekit.checkpoint.numbers import row_cosines

    rows = own.shape[0]
    chosen = range(0, rows, max(1, rows // SAMPLED_ROWS))
    cosines = row_cosines(checkpoint.source, own, library.source, theirs, list(chosen))
    # Equal rows have a cosine of 1 up to the rounding of two float64 sums.
    if not here and own.dtype == theirs.dtype and min(cosines) > 1 - 1e-12:
        return "copy-sampled"
    return "trained" if sum(cosines) / len(cosines) > LIKENESS else "random-looking"


def _pieces(checkpoint: Checkpoint, own: Tensor, start: int) -> Iterator[tuple[bytes, int]]:
    """Pieces of the drafter's table, each with the offset of the same piece in the target's file."""
    for piece in checkpoint.pieces(own):
        yield piece, start
        start += len(piece)


def embedding_is_copy(findings: Iterable[Finding]) -> bool | None:
    """Whether the drafter's embedding is the target's, by what was found about it; None when that is not proved."""
    codes = {finding.code for finding in findings}
    if "embedding-copy" in codes:
        return True
    return False if codes & {"embedding-trained", "embedding-untrained"} else None
