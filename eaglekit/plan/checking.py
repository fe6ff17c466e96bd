"""Whether a saved plan can be carried out: each step against what is stored, and the whole read back as a drafter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Checkpoint, Tensor
from eaglekit.checkpoint.layout import Entry, file_order
from eaglekit.checkpoint.lookup import Library
from eaglekit.dialects.binding import Bound, bind, heads_of, matched, ordered
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from eaglekit.dialects.target import EMBEDDINGS, HEADS
from eaglekit.dialects.writing import write
from eaglekit.drafter.parts import Part, Role
from eaglekit.drafter.vocabulary import int64s, target_ids_from_offsets
from eaglekit.plan.build import GGUF, SINGLE
from eaglekit.plan.content import Content
from eaglekit.plan.model import Plan, TensorStep
from eaglekit.plan.side_files import sort_files
from eaglekit.report import Finding, Refusal, Severity

SORTED = "sort rows"
VOCABULARY_LIMIT = 1 << 24
"""Most tokens a mask is made for; the largest vocabularies have 300,000."""
BORROWED: Mapping[str, tuple[str, ...]] = {Part.EMBEDDING.value: EMBEDDINGS, Part.HEAD.value: (*HEADS, *EMBEDDINGS)}
"""Role -> the target's tensors that may serve in it."""
MADE: Mapping[str, tuple[str, str]] = {
    Part.DRAFT_TO_TARGET.value: ("", "I64"),
    Part.TARGET_MASK.value: ("mask", "BOOL"),
}
"""Role -> what is made from the vocabulary for it, and its dtype; what a map holds is the dialect's to say."""


def check(plan: Plan, source: Checkpoint, target: Library | None) -> list[Finding]:
    """What is wrong with a plan that somebody may have edited. Nothing is written, and no weights are read."""
    written = DIALECTS.get(plan.to_dialect)
    if plan.from_dialect not in DIALECTS or written is None or not written.writable:
        return [_invalid(plan, f"nothing is converted from {plan.from_dialect} to {plan.to_dialect}")]
    bound = bind(source, DIALECTS[plan.from_dialect])
    findings = [
        *(_invalid(plan, why) for why in _files(plan, source)),
        *_steps(plan, source, target, bound),
    ]
    return findings or [*_order(plan, source, bound), *_read_back(plan, source)]


def _files(plan: Plan, source: Checkpoint) -> Iterator[str]:
    """Names that fit each other, tensors in the order of the header, and side files that come along anyway."""
    total, one = len(plan.files), GGUF if DIALECTS[plan.to_dialect].container == "gguf" else SINGLE
    names = [f"model-{n:05d}-of-{total:05d}.safetensors" for n in range(1, total + 1)]
    if list(plan.files) != (names if total > 1 and one == SINGLE else [one]):
        yield f"weight files {', '.join(plan.files)} are not numbered from 1 to {total}"
    for name, count in Counter(step.name for steps in plan.files.values() for step in steps).items():
        if count > 1:
            yield f"{name} is written {count} times"
    for file, steps in plan.files.items():
        if [e.name for e in file_order(Entry(s.name, s.dtype, s.shape) for s in steps)] != [s.name for s in steps]:
            yield f"the tensors of {file} are not in the order of its header"
    for file in sorted(set(plan.copied) - set(sort_files(source)[0])):
        yield f"{file} is no file that comes along"


def _steps(plan: Plan, source: Checkpoint, target: Library | None, bound: Bound) -> Iterator[Finding]:
    """Every step against the tensor it reads: that it exists, has that role, and becomes that dtype and shape."""
    roles = {tensor.name: str(role) for role, tensor in (*bound.tensors.items(), *bound.twins)}
    for step in (step for steps in plan.files.values() for step in steps):
        if step.origin == "map":
            yield from _made(plan, step)
            continue
        stored = _stored(step, source, target)
        if stored is None:
            yield _mismatch(step, "no such tensor")
            continue
        served = roles.get(step.tensor) if step.origin == "source" else _borrowed(step)
        if served != step.role:
            yield _mismatch(step, f"{served or 'no role'}, not {step.role}")
        casts = [word for word in step.steps if word.startswith("cast")]
        if casts != ([] if stored.dtype == step.dtype else [f"cast {stored.dtype} to {step.dtype}"]):
            yield _mismatch(step, f"{stored.dtype} {'; '.join(casts)}")
        if _count(stored.shape) != _count(step.shape):
            yield _mismatch(step, f"{stored.dtype} {list(stored.shape)}")
        if step.heads != _heads_paired(plan, step):
            yield _mismatch(step, "rows of heads in another order than the layout has them")
        if SORTED in step.steps and (step.role != Part.HEAD.value or step.origin != "source"):
            yield _mismatch(step, "only the rows of the drafter's own head are sorted")


def _heads_paired(plan: Plan, step: TensorStep) -> int | None:
    """How many heads' rows must lie in pairs in what this step writes; None where rows lie as a drafter has them."""
    row = matched(step.name, DIALECTS[plan.to_dialect])[0]
    return heads_of(row, plan.config) if row is not None and row.heads else None


def _stored(step: TensorStep, source: Checkpoint, target: Library | None) -> Tensor | None:
    if step.origin == "source":
        return source.tensors.get(step.tensor)
    return target.tensor(step.tensor) if target is not None and step.tensor in target.names else None


def _borrowed(step: TensorStep) -> str | None:
    return step.role if step.tensor in BORROWED.get(step.role, ()) else None


def _made(plan: Plan, step: TensorStep) -> Iterator[Finding]:
    ids = plan.target_ids
    holds = DIALECTS[plan.to_dialect].map_holds
    made, dtype = MADE.get(step.role, ("", ""))
    if not ids or (made or holds, dtype) != (step.tensor, step.dtype) or step.steps:
        yield _mismatch(step, "no vocabulary, or another tensor than is made from it")
    elif step.tensor == holds and step.shape != (len(ids),):
        yield _mismatch(step, f"{len(ids)} target ids")
    elif step.tensor == "mask" and (len(step.shape) != 1 or not max(ids) < step.shape[0] <= VOCABULARY_LIMIT):
        yield _mismatch(step, f"target ids up to {max(ids)}")


def _count(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in shape if axis != 1)


def _order(plan: Plan, source: Checkpoint, bound: Bound) -> list[Finding]:
    """The rows of the head must be sorted exactly as the vocabulary is."""
    order, sorting = plan.row_order, any(SORTED in step.steps for steps in plan.files.values() for step in steps)
    table = bound.tensors.get(Role(Part.DRAFT_TO_TARGET))
    if order is None and not sorting:
        return []
    if order is None or not sorting or table is None or sorted(order) != list(range(*table.shape)):
        return [_invalid(plan, "row_order is no order of the head's rows")]
    stored = int64s(source.read(table.name))
    wanted = plan.target_ids if plan.target_ids is not None else tuple(range(len(order)))
    if all(tuple(ids[row] for row in order) != wanted for ids in (target_ids_from_offsets(stored), tuple(stored))):
        return [_invalid(plan, "row_order sorts the head's rows otherwise than the vocabulary")]
    return []


def _read_back(plan: Plan, source: Checkpoint) -> Iterator[Finding]:
    """What the plan will write, read as if it lay there, must be just what is written of such a drafter."""
    try:
        outcome = read(
            _Planned(
                Content(plan, {"source": source.source}, {"source": ordered(source, DIALECTS[plan.from_dialect])})
            ).checkpoint()
        )
        spec = outcome.drafter_or_refuse().spec
        layout = write(spec, DIALECTS[plan.to_dialect])
    except Refusal as refusal:
        yield _invalid(plan, "what it would write is no drafter of that dialect")
        yield from (finding for finding in refusal.findings if finding.severity is Severity.ERROR)
        return
    if layout.config != plan.config:
        yield _invalid(plan, "its config is not the one of the drafter it would write")
    planned = {step.name: step.role for steps in plan.files.values() for step in steps}
    if {name: str(role) for role, names in layout.names.items() for name in names} != planned:
        yield _invalid(plan, "its tensors are not those of the drafter it would write")
    identity = tuple(range(spec.draft_vocab_size))
    if (spec.target_ids or identity) != (identity if plan.target_ids is None else plan.target_ids):
        yield _invalid(plan, "target_ids is another vocabulary than the map that would be written")


@dataclass
class _Planned:
    """The folder that a plan will write, as a source of bytes; every tensor is a file of its own."""

    content: Content
    label: str = "the plan"

    @property
    def steps(self) -> Mapping[str, TensorStep]:
        return {step.name: step for steps in self.content.plan.files.values() for step in steps}

    def checkpoint(self) -> Checkpoint:
        tensors = {s.name: Tensor(s.name, s.dtype, s.shape, s.name, 0, s.size_bytes) for s in self.steps.values()}
        return Checkpoint(self, self.content.plan.config, dict(sorted(tensors.items())), {}, "single", ())

    def identity(self) -> Mapping[str, str]:
        return {"kind": "plan"}

    def files(self) -> Mapping[str, int]:
        return {step.name: step.size_bytes for step in self.steps.values()}

    def read(self, file: str, start: int, end: int) -> bytes:
        # Only maps, masks and norms stored twice are asked for, so whole tensors are small.
        return b"".join(self.content.pieces(self.steps[file]))[start:end]

    def local_path(self, file: str) -> Path | None:
        return None


def _mismatch(step: TensorStep, got: str) -> Finding:
    return Finding(
        "plan-invalid",
        f"the plan's step for {step.name} does not fit {step.tensor} of the {step.origin}",
        place=step.name,
        got=got,
        expected=f"{step.dtype} {list(step.shape)}, the {step.role}",
        hint=NEW_PLAN,
    )


def _invalid(plan: Any, why: str) -> Finding:
    return Finding(
        "plan-invalid",
        f"the plan cannot be applied: {why}",
        place=f"{plan.from_dialect} to {plan.to_dialect}",
        expected="a plan as eaglekit convert -o wrote it",
        hint=NEW_PLAN,
    )


NEW_PLAN = "make a new plan: eaglekit convert SRC -o plan.json"
