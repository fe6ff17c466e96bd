"""Two drafters compared by role and by meaning: what is the same, renamed, cast, permuted, different or missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from eaglekit.checkpoint import Checkpoint, Tensor
from eaglekit.checkpoint.model import FLOATS, ITEM_BITS
from eaglekit.checkpoint.numbers import cast, largest_difference
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import Read, read
from eaglekit.dialects.target import Target
from eaglekit.drafter import Drafter, Spec
from eaglekit.drafter.parts import Part, Role
from eaglekit.drafter.spec import jsonable
from eaglekit.report import Fact, Finding, Refusal, Report, Severity, Table

ABOUT = frozenset({
    "dtype", "own_embedding", "own_head", "target_name", "target_architecture", "target_family", "target_layers",
    "speculative_tokens", "initializer_range", "token_ids", "max_position_embeddings", "trained_context_length",
})  # fmt: skip
"""Spec fields that say something about a drafter without changing what it computes."""

REPEATS = frozenset({Part.DRAFT_TO_TARGET, Part.TARGET_MASK})
"""Parts that repeat the vocabulary map, which is compared as a meaning."""
NAMED = 3
"""Tensors that one finding names; the table has them all."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The same role in two drafters."""

    role: Role
    first: Tensor | None
    second: Tensor | None
    verdict: str
    """`same`, `cast`, `permuted`, `different`, `only in the first` or `only in the second`."""
    detail: str = ""


def read_on_its_own(checkpoint: Checkpoint, given: Given) -> Read:
    """The reading by what the file itself says; with what the user says only where that does not suffice.

    Otherwise one statement about both files would hide that they differ in it.
    """
    try:
        alone = read(checkpoint)
    except Refusal:
        return read(checkpoint, given)
    if not any(f.severity is Severity.ERROR for f in alone.findings):
        return alone
    if alone.drafter is None:
        return read(checkpoint, given)
    said = {name for name, origin in alone.drafter.origins.items() if origin.kind in ("read", "derived")}
    facts = {name: value for name, value in given.facts.items() if name not in said}
    settled = bool(alone.drafter.spec.aux_layers)
    return read(
        checkpoint,
        replace(
            given,
            facts=facts,
            aux_layers=None if settled else given.aux_layers,
            aux_convention=None if settled else given.aux_convention,
        ),
    )


def diff(first: Read, second: Read, target: Target | None = None) -> Report:
    """The report on two readings; a difference in function is an error finding.

    A tensor that one drafter has and the other shares with the target is compared with the target's, if there is one.
    """
    a, b = _named(first), _named(second)
    pairs = [_pair(role, first.checkpoint, a, second.checkpoint, b) for role in _roles(a, b)]
    if target is not None:
        pairs = [_beside_target(pair, first.checkpoint, second.checkpoint, target) for pair in pairs]
    meanings = list(_meanings(a.spec, b.spec))
    # An option that overrules one of the files would hide the very difference that is asked about.
    overruled = [
        replace(f, severity=Severity.ERROR) for r in (first, second) for f in r.findings if f.code == "overruled"
    ]
    findings = [*overruled, *_tensor_findings(pairs), *_meaning_findings(meanings)]
    counts: dict[str, int] = {}
    for pair in pairs:
        counts[pair.verdict] = counts.get(pair.verdict, 0) + 1
    return Report(
        "diff",
        f"{first.checkpoint.source.label} {second.checkpoint.source.label}",
        facts=(
            Fact("first", f"{first.checkpoint.source.label} ({first.dialect.name})"),
            Fact("second", f"{second.checkpoint.source.label} ({second.dialect.name})"),
            Fact("function", _verdict(findings)),
            Fact("tensors", ", ".join(f"{count} {verdict}" for verdict, count in counts.items())),
        ),
        findings=tuple(findings),
        tables=(
            Table("diff-tensors", "Tensors", ("role", "first", "second", "verdict", "detail"),
                  tuple((str(p.role), p.first and p.first.name, p.second and p.second.name, p.verdict, p.detail)
                        for p in pairs)),
            Table("diff-meaning", "Meaning", ("fact", "first", "second", "changes the function"),
                  tuple((name, x, y, "no" if name in ABOUT else "yes") for name, x, y in meanings)),
        ),
    )  # fmt: skip


def _named(reading: Read) -> Drafter:
    """The drafter; a refusal says which of the two files it is about."""
    try:
        return reading.drafter_or_refuse()
    except Refusal as refusal:
        label = reading.checkpoint.source.label
        raise Refusal(*(replace(f, place=f"{label}: {f.place}") for f in refusal.findings)) from None


def _verdict(findings: Sequence[Finding]) -> str:
    if any(finding.severity is Severity.ERROR for finding in findings):
        return "different"
    return "the same, if the tensor that only one of them has equals the target's" if findings else "the same"


def _beside_target(pair: Pair, first: Checkpoint, second: Checkpoint, target: Target) -> Pair:
    """A pair of which one drafter has nothing, with the target's tensor in the gap."""
    own, theirs = pair.first or pair.second, _shared_with(pair.role, target)
    if own is None or not pair.verdict.startswith("only") or theirs is None:
        return pair
    checkpoint = first if pair.first is not None else second
    start = theirs.start
    equal = (own.dtype, own.shape) == (theirs.dtype, theirs.shape)
    for piece in checkpoint.pieces(own) if equal else ():
        equal = equal and piece == target.library.source.read(theirs.file, start, start + len(piece))
        start += len(piece)
    detail = f"the other shares {theirs.name} of the target"
    return replace(pair, verdict="same" if equal else "different", detail=detail)


def _shared_with(role: Role, target: Target) -> Tensor | None:
    return {Part.EMBEDDING: target.embedding, Part.HEAD: target.head_source}.get(role.part)


def _roles(a: Drafter, b: Drafter) -> list[Role]:
    return sorted(role for role in {*a.tensors, *b.tensors} if role.part not in REPEATS)


def _pair(role: Role, first: Checkpoint, a: Drafter, second: Checkpoint, b: Drafter) -> Pair:
    one, two = a.tensors.get(role), b.tensors.get(role)
    if one is None or two is None:
        return Pair(role, one, two, "only in the second" if one is None else "only in the first")
    renamed = f"{one.name} is called {two.name}" if one.name != two.name else ""
    if _count(one) != _count(two):
        return Pair(role, one, two, "different", f"{list(one.shape)} against {list(two.shape)}")
    if role.part is Part.HEAD and _ids(a.spec) != _ids(b.spec):
        if _permuted(first, a, second, b):
            dtypes = f", {one.dtype} against {two.dtype}" if one.dtype != two.dtype else ""
            return Pair(role, one, two, "permuted", f"rows follow another order of the same vocabulary{dtypes}")
        return Pair(role, one, two, "different", "its rows stand for other tokens")
    if one.dtype == two.dtype and _equal(first, one, second, two):
        return Pair(role, one, two, "same", renamed)
    if one.dtype != two.dtype and _is_cast(first, one, second, two):
        return Pair(role, one, two, "cast", f"{one.dtype} against {two.dtype}")
    return Pair(role, one, two, "different", _distance(first, one, second, two))


def _count(tensor: Tensor) -> tuple[int, ...]:
    return tuple(axis for axis in tensor.shape if axis != 1)


def _both(first: Checkpoint, one: Tensor, second: Checkpoint, two: Tensor) -> Iterator[tuple[bytes, bytes]]:
    """Pieces of two tensors with the same number of elements in each pair."""
    elements = 1 << 20
    left = first.pieces(one, size_bytes=elements * ITEM_BITS[one.dtype] // 8)
    right = second.pieces(two, size_bytes=elements * ITEM_BITS[two.dtype] // 8)
    return zip(left, right, strict=True)


def _equal(first: Checkpoint, one: Tensor, second: Checkpoint, two: Tensor) -> bool:
    if one.strides is None and two.strides is None:
        return all(x == y for x, y in _both(first, one, second, two))
    return b"".join(first.pieces(one)) == b"".join(second.pieces(two))


def _is_cast(first: Checkpoint, one: Tensor, second: Checkpoint, two: Tensor) -> bool:
    """Whether one tensor is the other, rounded to its dtype."""
    if {one.dtype, two.dtype} - FLOATS or one.strides is not None or two.strides is not None:
        return False
    forth = all(cast(x, one.dtype, two.dtype)[0] == y for x, y in _both(first, one, second, two))
    return forth or all(cast(y, two.dtype, one.dtype)[0] == x for x, y in _both(first, one, second, two))


def _permuted(first: Checkpoint, a: Drafter, second: Checkpoint, b: Drafter) -> bool:
    """Whether the two heads hold the same row for every target token, or one the other's rounded to its dtype."""
    one, two = a.tensors[Role(Part.HEAD)], b.tensors[Role(Part.HEAD)]
    if set(_ids(a.spec)) != set(_ids(b.spec)) or one.strides is not None or two.strides is not None:
        return False
    place = {target: row for row, target in enumerate(_ids(b.spec))}

    def rows() -> Iterator[tuple[bytes, bytes]]:
        for row, target in enumerate(_ids(a.spec)):
            yield _row(first, one, row), _row(second, two, place[target])

    if one.dtype == two.dtype:
        return all(x == y for x, y in rows())
    return not {one.dtype, two.dtype} - FLOATS and (
        all(cast(x, one.dtype, two.dtype)[0] == y for x, y in rows())
        or all(cast(y, two.dtype, one.dtype)[0] == x for x, y in rows())
    )


def _row(checkpoint: Checkpoint, tensor: Tensor, row: int) -> bytes:
    width = tensor.shape[1] * ITEM_BITS[tensor.dtype] // 8
    return checkpoint.source.read(tensor.file, tensor.start + row * width, tensor.start + (row + 1) * width)


def _ids(spec: Spec) -> tuple[int, ...]:
    return spec.target_ids if spec.target_ids is not None else tuple(range(spec.draft_vocab_size))


def _distance(first: Checkpoint, one: Tensor, second: Checkpoint, two: Tensor) -> str:
    if {one.dtype, two.dtype} - FLOATS or one.strides is not None or two.strides is not None:
        return "other bytes"
    gaps = [largest_difference(x, one.dtype, y, two.dtype) for x, y in _both(first, one, second, two)]
    return f"largest difference {max(gaps, default=0.0):.3g}"


def _meanings(a: Spec, b: Spec) -> Iterator[tuple[str, object, object]]:
    for entry in fields(Spec):
        x, y = getattr(a, entry.name), getattr(b, entry.name)
        if x == y:
            continue
        if entry.name != "target_ids":
            yield entry.name, jsonable(x), jsonable(y)
        elif set(_ids(a)) != set(_ids(b)):
            yield "target_ids", f"{len(_ids(a))} ids", f"{len(_ids(b))} ids, not the same"


def _tensor_findings(pairs: list[Pair]) -> Iterator[Finding]:
    other: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.verdict in ("same", "cast", "permuted"):
            continue
        name = _name(pair)
        if pair.role.part in (Part.EMBEDDING, Part.HEAD) and pair.verdict.startswith("only"):
            yield Finding(
                "diff-shared",
                f"{pair.role} ({name}) is {pair.verdict}; the other shares the target's",
                place=name,
                got=pair.verdict,
                expected="in both, or equal to the target's",
                hint="add --target PATH_OR_ID: it is compared with the target's own",
            )
            continue
        other.setdefault(pair.verdict, []).append(pair)
    for verdict, found in other.items():
        yield Finding(
            "diff-tensor",
            _told(found[0]) if len(found) == 1 else f"{len(found)} tensors are {verdict}: {_some(found)}",
            place=", ".join(map(_name, found[:NAMED])) + (", ..." if len(found) > NAMED else ""),
            got=verdict,
            expected="same bytes, a cast, or the same rows in another order",
            hint="the two drafters do not compute the same",
        )


def _name(pair: Pair) -> str:
    return (pair.first or pair.second or Tensor("", "BOOL", (), "", 0, 0)).name


def _told(pair: Pair) -> str:
    return f"{pair.role} ({_name(pair)}): {pair.verdict}" + (f", {pair.detail}" if pair.detail else "")


def _some(pairs: Sequence[Pair]) -> str:
    """The first of many tensors; all of them are rows of the table."""
    shown = [f"{pair.role}{f' ({pair.detail})' if pair.detail else ''}" for pair in pairs[:NAMED]]
    return ", ".join(shown) + (f" and {len(pairs) - NAMED} more" if len(pairs) > NAMED else "")


def _meaning_findings(meanings: list[tuple[str, object, object]]) -> Iterator[Finding]:
    for name, x, y in meanings:
        if name not in ABOUT:
            yield Finding(
                "diff-meaning",
                f"{name} differs: {x} against {y}",
                place=name,
                got=str(y),
                expected=str(x),
                hint="the two drafters do not compute the same",
            )
