"""The draft vocabulary of a checkpoint: from its map, its mask, or its size; never from a guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.binding import Bound
from eaglekit.dialects.config_reading import Known
from eaglekit.dialects.dialect import Dialect
from eaglekit.drafter import Origin
from eaglekit.drafter.parts import Part, Role
from eaglekit.drafter.vocabulary import (
    check_mask,
    check_target_ids,
    int64s,
    looks_absolute,
    target_ids_from_offsets,
)
from eaglekit.report import Finding

LARGEST_VOCABULARY = 1 << 24
"""Far above any tokenizer; a mask of so many tokens has 16 MB."""


def read_vocabulary(
    checkpoint: Checkpoint, dialect: Dialect, bound: Bound, facts: dict[str, Known]
) -> tuple[Known | None, list[Finding]]:
    """The target ids of the draft rows (None inside `Known` = the full vocabulary), and what is wrong with them.

    Settles `draft_vocab_size` and `vocab_size` in `facts` where the other tensors left them open.
    """
    table = bound.tensors.get(Role(Part.DRAFT_TO_TARGET))
    mask = _mask(checkpoint, bound)
    if "draft_vocab_size" not in facts and "vocab_size" in facts:
        facts["draft_vocab_size"] = Known(facts["vocab_size"].value, Origin("rule", "no head: the target's is used"))
    if "vocab_size" not in facts:
        return None, []  # asked for with the other sizes
    if facts["vocab_size"].value > LARGEST_VOCABULARY:
        return None, [_beyond(facts["vocab_size"])]
    drafted, full = facts["draft_vocab_size"].value, facts["vocab_size"].value
    if drafted < full and not facts["own_head"].value:
        return None, [_no_head(drafted, full)]
    if table is not None and table.dtype == "I64" and table.shape == (drafted,):
        return _from_table(checkpoint, dialect, table.name, mask, drafted, full, facts)
    if drafted == full:
        return Known(None, Origin("derived", "as many draft ids as target ids, no map")), _against(mask, None, drafted)
    if drafted > full:
        return None, [_too_many(drafted, full)]
    if mask is not None and dialect.map_order == "ascending":
        ids = tuple(token for token, byte in enumerate(mask.marked) if byte)
        origin = Origin("derived", f"{mask.name}: this producer's vocabulary ascends")
        return Known(ids, origin), [*_against(mask, None, drafted), _from_mask(mask.name, dialect)]
    if facts.get("map") is not None and facts["map"].value == "first":
        first = tuple(range(drafted))
        return Known(first, Origin("given", "--set map=first")), _against(mask, first, drafted)
    if table is not None:
        return None, []  # a wrong dtype or length is told by the shape check
    return None, [_no_map(drafted, full, masked=mask is not None)]


@dataclass(frozen=True, slots=True)
class Mask:
    """A stored mask: its name, and one byte for each target token."""

    name: str
    marked: bytes


def _mask(checkpoint: Checkpoint, bound: Bound) -> Mask | None:
    tensor = bound.tensors.get(Role(Part.TARGET_MASK))
    return Mask(tensor.name, checkpoint.read(tensor.name)) if tensor is not None and tensor.dtype == "BOOL" else None


def _against(mask: Mask | None, ids: Sequence[int] | None, drafted: int) -> list[Finding]:
    """What is wrong between the mask, where there is one, and the map."""
    return check_mask(mask.marked, ids, drafted, place=mask.name) if mask is not None else []


def _from_table(
    checkpoint: Checkpoint,
    dialect: Dialect,
    table: str,
    mask: Mask | None,
    drafted: int,
    full: int,
    facts: dict[str, Known],
) -> tuple[Known | None, list[Finding]]:
    stored = int64s(checkpoint.read(table))
    meant = facts["map"].value if "map" in facts else None
    if dialect.map_holds == "ids":
        ids, origin = tuple(stored), Origin("derived", f"{table}, target ids")
    elif meant == "absolute":
        ids, origin = tuple(stored), Origin("given", "--set map=absolute")
    else:
        ids, origin = target_ids_from_offsets(stored), Origin("read", f"{table}, offsets")
    findings = check_target_ids(ids, full, place=table)
    if findings and meant is None and not _against(mask, stored, drafted) and looks_absolute(stored, full):
        findings = [
            Finding(
                "map-absolute",
                f"{findings[0].message}; read as absolute ids, {table} is a valid map",
                place=table,
                got=findings[0].got,
                expected="offsets (target id minus row)",
                hint="if it holds token ids, say --set map=absolute: it is re-encoded as offsets",
            )
        ]
    if not findings and not any(stored) and drafted < full and mask is None and meant is None:
        findings.append(_zeros(table, drafted, full))
    unsaid = mask is None and meant is None and FEWEST_ROWS <= drafted < full
    if not findings and unsaid and list(stored) == list(range(drafted)):
        findings.append(_row_numbers(table, drafted))
    if meant == "first" and any(stored):
        findings.append(_not_first(table, stored))
    if not findings:
        findings += _against(mask, ids, drafted)
    if not findings and drafted == full and ids == tuple(range(full)):
        return Known(None, Origin("derived", f"{table} is the identity over the full vocabulary")), []
    return Known(ids, origin), findings


FEWEST_ROWS = 16
"""Below this number of rows every second token may be a vocabulary that somebody chose."""


def _from_mask(mask: str, dialect: Dialect) -> Finding:
    return Finding(
        "map-from-mask",
        f"there is no d2t; the map follows {mask} in ascending order, as {dialect.title} writes it",
        place=mask,
        got="no d2t",
        expected="d2t beside t2d",
        hint="right only if the head's rows ascend too; take d2t from the training run if it was lost on the way",
    )


def _beyond(stated: Known) -> Finding:
    return Finding(
        "config-wrong-value",
        f"vocab_size cannot be {stated.value}",
        place=stated.origin.place,
        got=str(stated.value),
        expected=f"at most {LARGEST_VOCABULARY}",
        hint="the largest vocabularies have some 300,000 tokens; correct the key in a copy of the config",
    )


def _zeros(table: str, drafted: int, full: int) -> Finding:
    return Finding(
        "map-zeros",
        f"{table} is all zeros: either the draft vocabulary is the first {drafted} ids, or the map was never filled",
        place=table,
        got="zeros",
        expected=f"offsets into {full} target ids",
        hint=f"if the first {drafted} ids are meant, say --set map=first; else take d2t from the training run",
    )


def _row_numbers(table: str, drafted: int) -> Finding:
    return Finding(
        "map-absolute",
        f"{table} holds its own row numbers: every second token as offsets, the first {drafted} as token ids",
        place=table,
        got=f"0..{drafted - 1}",
        expected="offsets (target id minus row)",
        hint="a default that was never filled looks so; say --set map=absolute or map=offsets if one is meant",
    )


def _not_first(table: str, stored: Sequence[int]) -> Finding:
    row = next(row for row, offset in enumerate(stored) if offset)
    return Finding(
        "setting-value",
        f"--set map=first contradicts {table}, which maps draft id {row} to target id {row + stored[row]}",
        place="--set",
        got="first",
        expected="a map of zeros, or none",
        hint="leave --set map out: the stored map is read",
    )


def _no_map(drafted: int, full: int, *, masked: bool) -> Finding:
    return Finding(
        "map-missing",
        f"the head has {drafted} rows for {full} target tokens, and no map says which"
        + (" (a mask alone does not order them for this producer)" if masked else ""),
        place="d2t",
        got="no d2t",
        expected=f"I64 [{drafted}] offsets",
        hint="take d2t from the training run; without it vLLM maps draft id i to target id i",
    )


def _no_head(drafted: int, full: int) -> Finding:
    return Finding(
        "head-missing",
        f"draft_vocab_size {drafted} of {full} is promised, but no head is stored",
        place="lm_head",
        got="no tensor",
        expected=f"a head of {drafted} rows, or the target's full vocabulary",
        hint="get the file from its trainer again: only a full-vocabulary drafter can borrow the target's head",
    )


def _too_many(drafted: int, full: int) -> Finding:
    return Finding(
        "size-disagrees",
        f"the head has {drafted} rows, more than the target's vocabulary of {full}",
        place="lm_head",
        got=str(drafted),
        expected=f"at most {full}",
        hint="vocab_size must be the target's; correct it in a copy of the config",
    )
