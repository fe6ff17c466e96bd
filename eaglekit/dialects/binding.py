"""Tensor names into roles: every name is bound, dropped by a row, or a finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eaglekit.checkpoint import Checkpoint, Tensor
from eaglekit.checkpoint.head_rows import halved
from eaglekit.dialects.clues import at, strip
from eaglekit.dialects.dialect import Dialect
from eaglekit.dialects.rows import LATENT_TWINS, Row
from eaglekit.drafter.parts import Part, Role
from eaglekit.report import Finding


@dataclass
class Bound:
    """Tensors by role, and what happened to the rest."""

    tensors: dict[Role, Tensor] = field(default_factory=dict)
    twins: list[tuple[Role, Tensor]] = field(default_factory=list)
    """Second tensors of a role that already has one; they must hold the same bytes."""
    dropped: list[tuple[str, str]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def has(self, part: Part) -> bool:
        """Whether any layer or state has this part."""
        return any(role.part is part for role in self.tensors)

    def count(self, part: Part) -> int:
        """How many tensors this part has."""
        return sum(role.part is part for role in self.tensors)


def bind(checkpoint: Checkpoint, dialect: Dialect, drops: tuple[str, ...] = ()) -> Bound:
    """The tensors of a checkpoint by role under a dialect."""
    bound = Bound()
    unmatched: list[Tensor] = []
    for name, tensor in checkpoint.tensors.items():
        bare = strip(name, dialect.strips)
        row, role = matched(bare, dialect)
        if 0 in tensor.shape:
            bound.findings.append(_empty(tensor))
        elif name in drops:
            bound.dropped.append((name, "dropped by the user with --drop"))
        elif role is not None:
            tensor = in_order(tensor, row, checkpoint.config)
            if role in bound.tensors:
                bound.twins.append((role, tensor))
            else:
                bound.tensors[role] = tensor
        else:
            reason = next((row.why for row in dialect.dropped_tensors if row.match(bare)), None)
            if reason is None:
                unmatched.append(tensor)
            else:
                bound.dropped.append((name, reason))
    if bound.has(Part.LATENT_DOWN):
        bound.tensors = {_latent(role): tensor for role, tensor in bound.tensors.items()}
    bound.findings += [_unknown(tensor, dialect) for tensor in unmatched]
    return bound


def _empty(tensor: Tensor) -> Finding:
    return Finding(
        "tensor-empty",
        f"tensor {tensor.name} has no elements",
        place=tensor.name,
        got=str(list(tensor.shape)),
        expected="every axis at least 1",
        hint="the file is damaged; get it from its trainer again",
    )


def match(name: str, dialect: Dialect) -> Role | None:
    """The role a tensor name has in a dialect, or None."""
    return matched(name, dialect)[1]


def matched(name: str, dialect: Dialect) -> tuple[Row | None, Role | None]:
    """The row of a dialect that knows a tensor name, and the role it gives it; None twice when none does."""
    for row in dialect.rows:
        role = row.match(name)
        if role is not None:
            return row, role
    return None, None


def in_order(tensor: Tensor, row: Row | None, config: Mapping[str, Any]) -> Tensor:
    """The tensor with its rows as a drafter has them: a view, where the dialect stores them in another order.

    A tensor that cannot have the heads which the config counts is left as it is, for the shape check to tell.
    """
    if row is None or not row.heads or len(tensor.shape) != 2:
        return tensor
    heads = heads_of(row, config)
    return halved(tensor, heads) if heads > 0 and tensor.shape[0] % (2 * heads) == 0 else tensor


def heads_of(row: Row, config: Mapping[str, Any]) -> int:
    """How many heads a config counts for a row whose heads lie in pairs; 0 when it does not."""
    counts = (at(config, path) for path in row.heads)
    return next((count for count in counts if isinstance(count, int) and not isinstance(count, bool)), 0)


def ordered(checkpoint: Checkpoint, dialect: Dialect) -> dict[str, Tensor]:
    """Every tensor of a checkpoint by name, its rows as a drafter has them."""
    return {
        name: in_order(tensor, matched(strip(name, dialect.strips), dialect)[0], checkpoint.config)
        for name, tensor in checkpoint.tensors.items()
    }


def row_of(role: Role, dialect: Dialect) -> Row | None:
    """The row under which a dialect writes a role."""
    return next((row for row in dialect.rows if row.part is role.part and row.write and row.covers(role.number)), None)


def _latent(role: Role) -> Role:
    return Role(LATENT_TWINS.get(role.part, role.part), role.number)


def name_of(role: Role, dialect: Dialect) -> str | None:
    """The tensor name a dialect gives a role, or None when it has no place for it."""
    names = names_of(role, dialect)
    return names[0] if names else None


def names_of(role: Role, dialect: Dialect) -> list[str]:
    """Every name a dialect writes a role under: usually one, two where readers differ."""
    untwinned: Mapping[Part, Part] = {latent: plain for plain, latent in LATENT_TWINS.items()}
    part = untwinned.get(role.part, role.part)
    return [row.name(role.number) for row in dialect.rows if row.part is part and row.write and row.covers(role.number)]


def _unknown(tensor: Tensor, dialect: Dialect) -> Finding:
    return Finding(
        "tensor-unknown",
        f"no row of dialect {dialect.name} knows tensor {tensor.name}",
        place=tensor.name,
        got=f"{tensor.dtype} {list(tensor.shape)} in {tensor.file}",
        expected="a tensor with a role in the drafter, or one that a row drops for a reason",
        hint=f"nothing is dropped silently; if it is no part of the drafter, say --drop {tensor.name}",
    )
