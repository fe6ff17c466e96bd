"""From a reading and wishes to a `Plan`. Pure: nothing is written here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Checkpoint, Source
from eaglekit.checkpoint.hub_id import is_local
from eaglekit.checkpoint.layout import Entry, file_order
from eaglekit.checkpoint.machine_paths import keys_with_paths
from eaglekit.checkpoint.model import FLOATS
from eaglekit.dialects.binding import row_of
from eaglekit.dialects.clues import ABSENT, at
from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.families import sglang_rule
from eaglekit.dialects.reading import Read
from eaglekit.dialects.target import Target
from eaglekit.dialects.target_checks import embedding_is_copy, fit
from eaglekit.dialects.writing import OWN_BLOCK, Layout, writable, write
from eaglekit.drafter import Drafter, Spec
from eaglekit.drafter.parts import NORMS, Part, Role
from eaglekit.drafter.sizes import expected_shape
from eaglekit.drafter.vocabulary import ascending_order
from eaglekit.plan.borrowing import head_tensor, settle_embedding, settle_head
from eaglekit.plan.model import Change, Left, Place, Plan, TensorStep
from eaglekit.plan.options import Options
from eaglekit.plan.side_files import sort_files
from eaglekit.report import Fact, Finding, Refusal, Report, Severity

SINGLE = "model.safetensors"
GGUF = "drafter.gguf"


def build(read: Read, options: Options, target: Target | None = None) -> Plan:
    """The plan of one conversion. Raises `Refusal` with every reason why it cannot be, gathered."""
    dialect = writable(options.to)
    findings: list[Finding] = list(read.checkpoint.findings)
    try:
        drafter = read.drafter_or_refuse()
        findings += read.findings
    except Refusal as refusal:
        raise Refusal(*findings, *refusal.findings, *_next_question(read, dialect)) from None
    spec = drafter.spec
    if target is not None:
        spec, more = fit(read, target)
        findings += more
    spec, more = settle_embedding(spec, findings, dialect, options, target)
    differs = embedding_is_copy(findings) is False
    # A word of the user about the embedding answers the question that the check asked.
    findings = [f for f in findings if not (f.code == "embedding-untrained" and options.embedding != "auto")]
    findings += more
    spec, more = settle_head(spec, dialect, options, target)
    findings += more
    if options.dtype is not None:
        spec = replace(spec, dtype=options.dtype)
    spec, order = _sorted(spec, dialect.map_must_ascend or options.sort_vocabulary)
    if dialect.container == "gguf" and options.max_shard_bytes is not None:
        findings.append(_one_file(dialect))
    try:
        layout = write(spec, dialect)
    except Refusal as refusal:
        raise Refusal(*findings, *refusal.findings) from None
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise Refusal(*findings)
    steps = list(_steps(read, drafter, spec, layout, options, order, target))
    findings += _casts(steps)
    findings += _paths_told(layout)
    if options.requests:
        # Imported here: without a request the engines are heard while the bytes are copied.
        from eaglekit.plan.outlook import answers

        findings += answers(layout.config, steps, spec, options, trained_embedding=differs and spec.own_embedding)
    report = _report(read, spec, findings, options)
    if not report.ok:
        raise Refusal(report=report)
    copied, left_files = sort_files(read.checkpoint)
    return Plan(
        source=_place(read.checkpoint),
        target=_target_place(target, steps),
        from_dialect=read.dialect.name,
        to_dialect=dialect.name,
        config=layout.config,
        files=shard(steps, options.max_shard_bytes, dialect.container),
        target_ids=spec.target_ids if spec.target_ids is not None else _identity(layout, spec),
        row_order=order,
        copied=copied,
        left=(*_left(read, drafter, steps), *left_files),
        changes=tuple(_changes(read.checkpoint.config, layout.config)),
        report=report,
        force_overflow=options.force_overflow,
        spec=spec,
    )


def _one_file(dialect: Dialect) -> Finding:
    return Finding(
        "dialect-cannot-hold",
        f"{dialect.title}: a drafter is one file, and is not split",
        place="--max-shard-size",
        got="a size",
        expected="no size",
        hint="leave --max-shard-size out",
    )


def _next_question(read: Read, dialect: Dialect) -> list[Finding]:
    """What the layout would ask next: told with the other questions, so that one answer can serve all."""
    if not dialect.needs_target_family or read.drafter is None:
        return []
    try:
        sglang_rule(read.drafter.spec.target_family)
    except Refusal as refusal:
        return list(refusal.findings)
    return []


EXACT_CASTS = frozenset({"cast BF16 to F32", "cast F16 to F32"})
"""Casts that keep every value."""


def _casts(steps: Iterable[TensorStep]) -> list[Finding]:
    """The warning that a cast rounds, when one does."""
    rounded = sorted({word for step in steps for word in step.steps if word.startswith("cast")} - EXACT_CASTS)
    if not rounded:
        return []
    shown = ", ".join(rounded)
    return [
        Finding(
            "dtype-cast",
            f"values are rounded: {shown}",
            place="--dtype",
            got=shown,
            expected="the stored values",
            hint="the function is the same up to rounding; leave --dtype out for the same bytes",
        )
    ]


def _paths_told(layout: Layout) -> list[Finding]:
    """A note for every place of this machine in what is written: it can be mended now without validating twice."""
    keys: dict[str, list[str]] = {}
    for key, value in keys_with_paths(layout.config):
        keys.setdefault(value, []).append(key)
    return [
        Finding(
            "config-local-path",
            f"config.json names a place of this machine: {', '.join(sorted(found))}",
            place="config.json",
            got=value,
            expected="a Hub id, ORG/NAME",
            hint="--set target_name=ORG/NAME names the target for everybody; `eaglekit push` refuses a path",
        )
        for value, found in keys.items()
    ]


def _identity(layout: Layout, spec: Spec) -> tuple[int, ...] | None:
    return tuple(range(spec.draft_vocab_size)) if Role(Part.DRAFT_TO_TARGET) in layout.names else None


def _sorted(spec: Spec, wanted: bool) -> tuple[Spec, tuple[int, ...] | None]:
    """The spec with an ascending vocabulary and the row order that makes it, where wanted or needed.

    At full vocabulary a map is only a permutation of the head's rows: sorted, it is the identity and goes away.
    """
    if spec.target_ids is None:
        return spec, None
    full = spec.draft_vocab_size == spec.vocab_size
    order = ascending_order(spec.target_ids)
    if not (wanted or full) or order == tuple(range(len(order))):
        return spec, None
    ids = tuple(spec.target_ids[row] for row in order)
    return replace(spec, target_ids=None if full else ids), order


def _steps(
    read: Read,
    drafter: Drafter,
    spec: Spec,
    layout: Layout,
    options: Options,
    order: tuple[int, ...] | None,
    target: Target | None,
) -> Iterable[TensorStep]:
    for role, names in layout.names.items():
        for number, name in enumerate(names):
            yield _step(role, name, number, drafter, spec, options, order, target, layout.dialect)


def _step(
    role: Role,
    name: str,
    number: int,
    drafter: Drafter,
    spec: Spec,
    options: Options,
    order: tuple[int, ...] | None,
    target: Target | None,
    dialect: Dialect,
) -> TensorStep:
    if role.part is Part.DRAFT_TO_TARGET:
        stored, holds = drafter.tensors.get(role), dialect.map_holds
        if stored is not None and order is None and _held_by(drafter) == holds:
            return TensorStep(
                name, str(role), stored.dtype, stored.shape, "source", stored.name, (), f"{holds}, as read"
            )
        why = "sorted with the head's rows" if order is not None else f"made from the map, as {holds}"
        return TensorStep(name, str(role), "I64", (spec.draft_vocab_size,), "map", holds, (), why)
    mask = drafter.tensors.get(role) if role.part is Part.TARGET_MASK and spec.target_ids is not None else None
    if mask is not None:
        return TensorStep(name, str(role), mask.dtype, mask.shape, "source", mask.name, (), "marks the map's tokens")
    if role.part is Part.TARGET_MASK:
        return TensorStep(name, str(role), "BOOL", (spec.vocab_size,), "map", "mask", (), "this layout stores a mask")
    origin, tensor = "source", drafter.tensors.get(role)
    if tensor is None:
        borrowed = None
        if target is not None:
            borrowed = target.embedding if role.part is Part.EMBEDDING else head_tensor(target, options)
        if borrowed is None:
            raise AssertionError(f"{role} has no source")  # settle_embedding and settle_head refuse before
        origin, tensor = "target", borrowed
    steps = []
    if role.part is Part.HEAD and order is not None:
        steps.append("sort rows")
    if (heads := heads_paired(role, spec, dialect)) is not None:
        steps.append(f"pair rows of {heads} heads")
    dtype = tensor.dtype
    wanted = (role.part in NORMS and dialect.norm_dtype) or options.dtype or dtype
    if dtype in FLOATS and dtype != wanted:
        steps.append(f"cast {dtype} to {wanted}")
        dtype = wanted
    if tensor.strides is not None:
        steps.insert(0, "make contiguous")
    why = "second name: readers differ" if number else ("renamed" if name != tensor.name else "same name")
    if origin == "target":
        why = "the target's own bytes"
    shape = tensor.shape if role.part is Part.MASK_STATE else expected_shape(role, spec)
    return TensorStep(name, str(role), dtype, shape, origin, tensor.name, tuple(steps), why)


def heads_paired(role: Role, spec: Spec, dialect: Dialect) -> int | None:
    """How many heads' rows the dialect stores in pairs in the tensor of `role`; None where it stores them plainly."""
    row = row_of(role, dialect)
    if row is None or not row.heads:
        return None
    return spec.num_heads if role.part is Part.QUERY else spec.num_kv_heads


def _held_by(drafter: Drafter) -> str:
    """What the numbers of the source's map are: `offsets`, `ids`, or neither where they stand for something else."""
    origin = str(drafter.origins.get("target_ids", ""))
    return "offsets" if origin.startswith("read") else "ids" if origin.endswith("target ids") else ""


def shard(
    steps: Iterable[TensorStep], limit_bytes: int | None, container: str = "safetensors"
) -> dict[str, tuple[TensorStep, ...]]:
    """Weight files and their tensors: one file, or files of at most `limit_bytes` of data in file order.

    A tensor larger than the limit gets a file of its own. A GGUF drafter is always one file.
    """
    by_name = {step.name: step for step in steps}
    ordered = [by_name[entry.name] for entry in file_order(Entry(s.name, s.dtype, s.shape) for s in by_name.values())]
    if container == "gguf":
        return {GGUF: tuple(ordered)}
    groups: list[list[TensorStep]] = [[]]
    filled = 0
    for step in ordered:
        if limit_bytes is not None and groups[-1] and filled + step.size_bytes > limit_bytes:
            groups.append([])
            filled = 0
        groups[-1].append(step)
        filled += step.size_bytes
    if len(groups) == 1:
        return {SINGLE: tuple(groups[0])}
    total = len(groups)
    return {f"model-{n:05d}-of-{total:05d}.safetensors": tuple(g) for n, g in enumerate(groups, 1)}


def _report(read: Read, spec: Spec, findings: list[Finding], options: Options) -> Report:
    drafter = Drafter(spec, {}, read.drafter.origins if read.drafter else {})
    return Report(
        command="convert",
        subject=read.checkpoint.source.label,
        facts=(
            Fact("dialect", read.dialect.name, "; ".join(read.recognition.evidence)),
            Fact("to", options.to),
            *(Fact(name, value, origin) for name, value, origin in drafter.facts()),
        ),
        findings=tuple(dict.fromkeys(findings)),
    )


def _left(read: Read, drafter: Drafter, steps: list[TensorStep]) -> Iterable[Left]:
    used = {step.tensor for step in steps if step.origin == "source"}
    for name, why in read.dropped_tensors:
        yield Left("tensor", name, why)
    told = {name for name, _ in read.dropped_tensors}
    roles = {tensor.name: role for role, tensor in drafter.tensors.items()}
    written = {step.role for step in steps}
    for name in read.checkpoint.tensors:
        role = roles.get(name)
        if name in used or name in told or (role is not None and str(role) in written):
            continue
        yield Left("tensor", name, _why_left(role))
    for key, why in read.dropped_keys:
        yield Left("key", key, why)


def _why_left(role: Role | None) -> str:
    reasons = {
        Part.DRAFT_TO_TARGET: "now the identity over the full vocabulary, which vLLM >= 0.30 rejects",
        Part.TARGET_MASK: "no reader of this layout uses it; it follows from d2t",
        Part.EMBEDDING: "the target's embedding is shared",
    }
    return "a second name of the same bytes" if role is None else reasons.get(role.part, "not part of this layout")


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[Change]:
    """Keys that differ. A key that only moved to another level is one change, not two."""
    old = {path: at(before, path) for path in _paths(before)}
    new = {path: at(after, path) for path in _paths(after) if path.split(".")[0] != OWN_BLOCK}
    moved: dict[str, str] = {}
    for path in sorted(old.keys() - new.keys()):
        name = path.rpartition(".")[2]
        there = next((p for p in sorted(new.keys() - old.keys()) if p.rpartition(".")[2] == name), None)
        if there is not None and new[there] == old[path] and there not in moved.values():
            moved[path] = there
    for path in sorted({*old, *new}):
        if path in moved:
            yield Change(path, old[path], f"moved to {moved[path]}")
        elif path not in moved.values() and old.get(path, ABSENT) != new.get(path, ABSENT):
            yield Change(path, old.get(path), new.get(path))


def _paths(config: Mapping[str, Any], prefix: str = "") -> Iterable[str]:
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _paths(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _label(source: Source) -> str:
    """How a saved plan finds a folder again, from anywhere: a Hub id at its commit, or an absolute path."""
    identity = source.identity()
    if is_local(source.label):
        return str(Path(os.path.expanduser(source.label)).absolute())  # noqa: PTH111 - as the folder was opened
    return f"{identity['repo']}@{identity['commit']}" if "commit" in identity else source.label


def _place(checkpoint: Checkpoint) -> Place:
    return Place(
        _label(checkpoint.source),
        checkpoint.source.identity(),
        checkpoint.fingerprint(),
        checkpoint.content_digest(),
    )


def _target_place(target: Target | None, steps: list[TensorStep]) -> Place | None:
    if target is None or not any(step.origin == "target" for step in steps):
        return None
    library = target.library
    return Place(_label(library.source), library.source.identity(), library.fingerprint(), library.content_digest())
