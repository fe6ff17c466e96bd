"""Embedding and head: own, shared with the target, or copied from it. Nothing is filled with anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eaglekit.checkpoint import Tensor
from eaglekit.checkpoint.model import FLOATS
from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.tables.groups import NEEDS_EMBEDDING, NEEDS_HEAD
from eaglekit.dialects.target import Target
from eaglekit.drafter import Spec
from eaglekit.plan.options import Options
from eaglekit.report import Finding

_COPY = "embedding-copy"


def settle_embedding(
    spec: Spec, findings: Sequence[Finding], dialect: Dialect, options: Options, target: Target | None
) -> tuple[Spec, list[Finding]]:
    """The spec with the embedding as it will be written: kept, left out, or copied from the target."""
    if options.embedding == "drop" and spec.own_embedding:
        if spec.hidden_size != spec.target_hidden_size:
            return spec, [_must_own(spec)]
        proved = any(finding.code == _COPY for finding in findings)
        return replace(spec, own_embedding=False), [] if proved else [_replaced()]
    if options.embedding == "copy" or (not spec.own_embedding and NEEDS_EMBEDDING in dialect.limits):
        if spec.own_embedding:
            return spec, [_already("embedding")]
        if target is None:
            return spec, [_target_needed("embedding", dialect)]
        return _borrowed(spec, target)
    if not spec.own_embedding and spec.hidden_size != spec.target_hidden_size:
        return spec, [_must_own(spec)]
    if spec.own_embedding and not dialect.writes_embedding:
        copies = any(finding.code == _COPY for finding in findings)
        return (replace(spec, own_embedding=False), []) if copies else (spec, [_would_lose(dialect)])
    return spec, []


def settle_head(spec: Spec, dialect: Dialect, options: Options, target: Target | None) -> tuple[Spec, list[Finding]]:
    """The spec with the head as it will be written: its own, the target's by sharing, or a copy of the target's."""
    wanted = options.head != "auto"
    if spec.own_head:
        return spec, [_already("head")] if wanted else []
    if not wanted and NEEDS_HEAD not in dialect.limits:
        return spec, [_question(target)] if target is not None and not target.has_head else []
    if target is None:
        return spec, [_target_needed("head", dialect)]
    if spec.hidden_size != spec.target_hidden_size:
        return spec, [_widths(spec, "head")]
    if head_tensor(target, options) is None:
        return spec, [_question(target) if options.head != "embedding" else _no_embedding(target)]
    return replace(spec, own_head=True), []


def _borrowed(spec: Spec, target: Target) -> tuple[Spec, list[Finding]]:
    if spec.hidden_size != target.hidden_size:
        return spec, [_widths(spec, "embedding")]
    if target.embedding is None:
        return spec, [_no_embedding(target)]
    return replace(spec, own_embedding=True), []


def _already(what: str) -> Finding:
    return Finding(
        "nothing-to-copy",
        f"the drafter has {'an embedding' if what == 'embedding' else 'a head'} of its own",
        place=f"--{what}",
        got="copy",
        expected="a drafter without one",
        hint=f"leave --{what} out: the stored one is kept",
    )


def _target_needed(what: str, dialect: Dialect) -> Finding:
    return Finding(
        "target-needed",
        f"the drafter has no {what}, and {dialect.title} needs one",
        place=f"--to {dialect.name}",
        got=f"no {what}",
        expected="the target's",
        hint=f"add --target PATH_OR_ID: its {what} is copied byte for byte",
    )


def _replaced() -> Finding:
    return Finding(
        "embedding-replaced",
        "the drafter's own embedding is left out, and it is not known to be the target's: another function",
        place="--embedding drop",
        got="the target's embedding",
        expected="the drafter's own",
        hint="--target PATH_OR_ID with both folders on this machine proves a copy; without proof, measure acceptance",
    )


def _must_own(spec: Spec) -> Finding:
    return Finding(
        "embedding-needed",
        f"the drafter is {spec.hidden_size} wide and its target {spec.target_hidden_size}: it needs its own embedding",
        place="embedding",
        got="none",
        expected=f"[{spec.vocab_size}, {spec.hidden_size}]",
        hint="the target's embedding has another width; get the file with its embedding from the trainer",
    )


def _widths(spec: Spec, what: str) -> Finding:
    return Finding(
        "widths-differ",
        f"the target's {what} is not {spec.hidden_size} wide and cannot serve this drafter",
        place=f"--{what}",
        got=str(spec.target_hidden_size),
        expected=str(spec.hidden_size),
        hint=f"get the drafter with its own {what} from the trainer",
    )


def _would_lose(dialect: Dialect) -> Finding:
    return Finding(
        "embedding-lost",
        f"{dialect.title} stores no embedding, and this drafter's own is not known to be the target's",
        place=f"--to {dialect.name}",
        got="own embedding",
        expected="a copy of the target's, or none",
        hint="add --target PATH_OR_ID to prove it a copy, or --embedding drop to share the target's all the same",
    )


def _question(target: Target) -> Finding:
    if target.has_head:
        return Finding(
            "target-head-question",
            f"the head of target {target.label} is quantised and cannot be copied",
            place=target.label,
            got="a quantised head",
            expected="a head in " + ", ".join(sorted(FLOATS)),
            hint="leave --head out to share it, or give the target as it was before it was quantised",
        )
    return Finding(
        "target-head-question",
        f"target {target.label} is untied and has no head",
        place=target.label,
        got="no head",
        expected="a head, or tie_word_embeddings true",
        hint="the download may be incomplete; --head embedding uses its embedding as the head",
    )


def head_tensor(target: Target, options: Options) -> Tensor | None:
    """The target's tensor that serves as the head: its own, or the embedding when tied or when the user says so."""
    return target.head_source or (target.embedding if options.head == "embedding" else None)


def _no_embedding(target: Target) -> Finding:
    return Finding(
        "target-head-question",
        f"target {target.label} has no embedding that can be copied",
        place=target.label,
        got="a quantised one, or none",
        expected="an embedding",
        hint="give a complete target, as it was before it was quantised",
    )
