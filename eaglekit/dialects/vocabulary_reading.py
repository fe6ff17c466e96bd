"""The draft vocabulary of a checkpoint: from its map, its mask, or its size; never from a guess."""

from __future__ import annotations

from collections.abc import Sequence

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


def read_vocabulary(
    checkpoint: Checkpoint, dialect: Dialect, bound: Bound, facts: dict[str, Known]
) -> tuple[Known | None, list[Finding]]:
    """The target ids of the draft rows (None inside `Known` = the full vocabulary), and what is wrong with them.

    Settles `draft_vocab_size` and `vocab_size` in `facts` where the other tensors left them open.
    """
    table = bound.tensors.get(Role(Part.DRAFT_TO_TARGET))
    mask = bound.tensors.get(Role(Part.TARGET_MASK))
    if "draft_vocab_size" not in facts and "vocab_size" in facts:
        facts["draft_vocab_size"] = Known(facts["vocab_size"].value, Origin("rule", "no head: the target's is used"))
    if "vocab_size" not in facts:
        return None, []  # asked for with the other sizes
    drafted, full = facts["draft_vocab_size"].value, facts["vocab_size"].value
    if table is not None and table.dtype == "I64" and table.shape == (drafted,):
        return _from_table(checkpoint, table.name, mask.name if mask else None, drafted, full, facts)
    if drafted == full:
        return Known(None, Origin("derived", "as many draft ids as target ids, no map")), []
    if drafted > full:
        return None, [_too_many(drafted, full)]
    if not facts["own_head"].value:
        return None, [_no_head(drafted, full)]
    if mask is not None and mask.dtype == "BOOL" and dialect.map_order == "ascending":
        marked = checkpoint.read(mask.name)
        findings = check_mask(marked, None, drafted, place=mask.name)
        ids = tuple(token for token, byte in enumerate(marked) if byte)
        return Known(ids, Origin("derived", f"{mask.name}: this producer's vocabulary ascends")), findings
    if facts.get("map") is not None and facts["map"].value == "first":
        return Known(tuple(range(drafted)), Origin("given", "--set map=first")), []
    if table is not None:
        return None, []  # a wrong dtype or length is told by the shape check
    return None, [_no_map(drafted, full, masked=mask is not None)]


def _from_table(
    checkpoint: Checkpoint, table: str, mask: str | None, drafted: int, full: int, facts: dict[str, Known]
) -> tuple[Known | None, list[Finding]]:
    stored = int64s(checkpoint.read(table))
    marked = checkpoint.read(mask) if mask is not None else None
    meant = facts["map"].value if "map" in facts else None
    if meant == "absolute":
        ids, origin = tuple(stored), Origin("given", "--set map=absolute")
    else:
        ids, origin = target_ids_from_offsets(stored), Origin("read", f"{table}, offsets")
    findings = check_target_ids(ids, full, place=table)
    fits_mask = marked is None or not check_mask(marked, stored, drafted, place=mask or "")
    if findings and meant is None and fits_mask and looks_absolute(stored, full):
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
    if not findings and not any(stored) and drafted < full and marked is None and meant is None:
        findings.append(_zeros(table, drafted, full))
    if meant == "first" and any(stored):
        findings.append(_not_first(table, stored))
    if marked is not None and not findings:
        findings += check_mask(marked, ids, drafted, place=mask or "")
    if not findings and drafted == full and ids == tuple(range(full)):
        return Known(None, Origin("derived", f"{table} is the identity over the full vocabulary")), []
    return Known(ids, origin), findings


def _zeros(table: str, drafted: int, full: int) -> Finding:
    return Finding(
        "map-zeros",
        f"{table} is all zeros: either the draft vocabulary is the first {drafted} ids, or the map was never filled",
        place=table,
        got="zeros",
        expected=f"offsets into {full} target ids",
        hint=f"if the first {drafted} ids are meant, say --set map=first; else take d2t from the training run",
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
