"""The stored tensors by what they are for, whatever layer and outer prefix somebody spelled them with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eaglekit.checkpoint import Tensor
from eaglekit.dialects.rows import LATENT_TWINS, OLD_STATE_NORMS, table
from eaglekit.drafter import Attention, Part, Role, Spec

BOTH_LATER_NORMS = ("input_layernorm.weight", "hidden_norm.weight")
_ROWS = table(first="layers.0.", later="layers.{n}.", later_norms=BOTH_LATER_NORMS, qk_norms=True)
_HARMLESS = re.compile(r".*rotary_emb\.inv_freq")
"""Recomputed from the rope settings by every engine; stored by old trainers."""

_SPELLINGS = (
    (re.compile(r"midlayer\.([0-9]+)\."), "midlayer.{n}."),
    (re.compile(r"midlayer\.()"), "midlayer."),
    (re.compile(r"layers\.([0-9]+)\."), "layers.{n}."),
)


@dataclass(frozen=True, slots=True)
class Named:
    """One stored tensor under its name."""

    name: str
    role: Role | None
    """None when no drafter has a part of this name."""
    canonical: str
    """The name with `layers.{n}.` and without an outer prefix."""
    outer: bool
    """Whether it begins with `model.`."""
    spelling: str = ""
    """How its layer is spelled, for example `midlayer.`; empty outside the layers."""
    old: bool = False
    """Whether it is a state norm under the name that SpecDrift's fork gave it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Every tensor of a checkpoint, named."""

    tensors: tuple[Named, ...]

    @property
    def roles(self) -> frozenset[Role]:
        """The roles that are stored under some spelling."""
        return frozenset(named.role for named in self.tensors if named.role is not None)

    def of(self, parts: Iterable[Part]) -> tuple[str, ...]:
        """The names of the tensors of `parts`."""
        wanted = set(parts)
        return tuple(named.name for named in self.tensors if named.role is not None and named.role.part in wanted)

    def has(self, part: Part) -> bool:
        """Whether any tensor of `part` is stored."""
        return bool(self.of((part,)))


def name_all(tensors: Mapping[str, Tensor], spec: Spec) -> Stored:
    """`tensors`, named. The spec tells GQA's projections from MLA's, which share names."""
    return Stored(tuple(_named(name, spec) for name in tensors if not _HARMLESS.fullmatch(name)))


def canonical_name(role: Role) -> str:
    """The name that most files give the tensor of `role`."""
    part = _PLAIN.get(role.part, role.part)
    return next(row.name(role.number) for row in _ROWS if row.part is part and row.covers(role.number))


_PLAIN = {latent: part for part, latent in LATENT_TWINS.items()}


def _named(name: str, spec: Spec) -> Named:
    rest = name.removeprefix("model.")
    outer = rest != name
    if rest in OLD_STATE_NORMS:
        number = OLD_STATE_NORMS.index(rest)
        return Named(name, Role(Part.STATE_NORM, number), f"fc_norm.{number}.weight", outer, old=True)
    spelling, canonical = "", rest
    for pattern, label in _SPELLINGS:
        found = pattern.match(rest)
        if found:
            spelling, canonical = label, f"layers.{int(found.group(1) or 0)}.{rest[found.end() :]}"
            break
    role = next((role for role in (row.match(canonical) for row in _ROWS) if role is not None), None)
    if role is not None and spec.attention is Attention.MLA and role.part in LATENT_TWINS:
        role = Role(LATENT_TWINS[role.part], role.number)
    return Named(name, role, canonical, outer, spelling)
