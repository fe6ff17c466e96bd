"""Every role a spec promises against what is stored: missing, superfluous, misshapen, not floating point."""

from __future__ import annotations

from collections.abc import Callable

from eaglekit.checkpoint import Checkpoint, Tensor
from eaglekit.checkpoint.model import FLOATS
from eaglekit.dialects.binding import Bound
from eaglekit.drafter import Spec
from eaglekit.drafter.parts import NORMS, PARTS, Kind, Part, Role
from eaglekit.drafter.sizes import expected_shape, roles_of, shape_in_symbols, symbols
from eaglekit.report import Finding

STORED_WHEN_KNOWN = frozenset({Part.DRAFT_TO_TARGET, Part.TARGET_MASK})
"""Parts that repeat what the spec holds: they are neither missing nor superfluous, but have their shape and dtype."""


def check_world(
    spec: Spec, bound: Bound, name_of: Callable[[Role], str], norm_dtype: str | None = None
) -> list[Finding]:
    """What is wrong between the roles a drafter of this spec has and the tensors that are stored.

    `norm_dtype` is what this dialect stores norms in, whatever the rest is in.
    """
    expected = {role for role in roles_of(spec) if role.part not in STORED_WHEN_KNOWN}
    stored = {role: tensor for role, tensor in bound.tensors.items() if role.part not in STORED_WHEN_KNOWN}
    findings = [
        Finding(
            "tensor-missing",
            f"tensor {name_of(role)} ({role}) is not stored",
            place=name_of(role),
            got="no tensor",
            expected=f"{shape_in_symbols(role.part)} = {list(expected_shape(role, spec))}",
            hint="engines would run it uninitialised without a word; get the file from its trainer again",
        )
        for role in sorted(expected - stored.keys())
    ]
    findings += [
        Finding(
            "tensor-superfluous",
            f"tensor {stored[role].name} ({role}) has no place in a drafter of this config",
            place=stored[role].name,
            got=f"{stored[role].dtype} {list(stored[role].shape)}",
            expected="no such tensor, or a config that asks for it",
            hint=f"if the config is right, say --drop {stored[role].name}",
        )
        for role in sorted(stored.keys() - expected)
    ]
    for role in sorted(expected & stored.keys()):
        findings += _check_tensor(role, stored[role], spec)
    for role in sorted(bound.tensors.keys() - stored.keys()):
        tensor, dtype = bound.tensors[role], PARTS[role.part].kind.value
        findings += _check_tensor(role, tensor, spec)
        if tensor.dtype != dtype:
            findings.append(_wrong_dtype(role, tensor, dtype))
    return findings + _mixed_dtypes(stored, spec, norm_dtype)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    return shape


def _check_tensor(role: Role, tensor: Tensor, spec: Spec) -> list[Finding]:
    findings = []
    expected = expected_shape(role, spec)
    # Trainers store the mask state as [1, 1, A*G] or [1, A*G]; engines flatten it.
    shape = _squeezed(tensor.shape) if role.part is Part.MASK_STATE else tensor.shape
    if shape != expected:
        bindings = symbols(spec, role.number)
        used = {s for axis in PARTS[role.part].shape for term in axis.split("+") for s in term.split("*")}
        shown = ", ".join(f"{symbol}={bindings[symbol]}" for symbol in sorted(used))
        findings.append(
            Finding(
                "tensor-shape",
                f"tensor {tensor.name} is {list(tensor.shape)}, expected {list(expected)}",
                place=tensor.name,
                got=str(list(tensor.shape)),
                expected=f"{shape_in_symbols(role.part)} with {shown}",
                hint="config and weights do not belong together, or a size in the config was copied from the target",
            )
        )
    if PARTS[role.part].kind is Kind.FLOAT and tensor.dtype not in FLOATS:
        findings.append(
            Finding(
                "drafter-quantized",
                f"tensor {tensor.name} is {tensor.dtype}: quantised drafters are not read",
                place=tensor.name,
                got=tensor.dtype,
                expected=", ".join(sorted(FLOATS)),
                hint="convert the drafter before it is quantised, then quantise the result",
            )
        )
    return findings


def _wrong_dtype(role: Role, tensor: Tensor, expected: str) -> Finding:
    return Finding(
        "map-dtype",
        f"tensor {tensor.name} ({role}) is {tensor.dtype}, expected {expected}",
        place=tensor.name,
        got=tensor.dtype,
        expected=expected,
        hint="vocabulary maps are I64 offsets and BOOL masks; another dtype means a cast went over them",
    )


def _mixed_dtypes(stored: dict[Role, Tensor], spec: Spec, norm_dtype: str | None) -> list[Finding]:
    plain = [t for role, t in stored.items() if not (role.part in NORMS and t.dtype == norm_dtype)]
    others = sorted(t.name for t in plain if t.dtype in FLOATS and t.dtype != spec.dtype)
    if not others:
        return []
    shown = ", ".join(others[:4]) + (f" and {len(others) - 4} more" if len(others) > 4 else "")
    dtypes = sorted({t.dtype for t in stored.values() if t.name in others})
    return [
        Finding(
            "dtype-mixed",
            f"{shown} {'is' if len(others) == 1 else 'are'} {', '.join(dtypes)} among {spec.dtype}",
            place=others[0],
            got=", ".join(dtypes),
            expected=spec.dtype,
            hint="kept as stored; --dtype makes them one",
        )
    ]


def check_twins(checkpoint: Checkpoint, bound: Bound) -> list[Finding]:
    """Findings for roles that are stored under two names with different content."""
    findings = []
    for role, twin in bound.twins:
        first = bound.tensors.get(role)
        if first is None or ((first.dtype, first.shape) == (twin.dtype, twin.shape) and _same(checkpoint, first, twin)):
            continue
        findings.append(
            Finding(
                "tensor-twice",
                f"{first.name} and {twin.name} are both the {role}, with different content",
                place=twin.name,
                got=f"{first.name} and {twin.name}",
                expected="one tensor, or two equal ones",
                hint="engines read one or the other; only the trainer can say which is meant",
            )
        )
    return findings


def _same(checkpoint: Checkpoint, first: Tensor, second: Tensor) -> bool:
    return all(a == b for a, b in zip(checkpoint.pieces(first), checkpoint.pieces(second), strict=True))
