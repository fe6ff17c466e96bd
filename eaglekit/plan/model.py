"""`Plan`: frozen steps, each with its reason, and the fingerprint of the source. Printable, saveable, appliable."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eaglekit.checkpoint.model import ITEM_BITS
from eaglekit.drafter import Spec
from eaglekit.report import Fact, Report, Table
from eaglekit.report.json_text import compact

SCHEMA = "eaglekit/plan/1"
PAIRING = re.compile(r"pair rows of (?P<heads>[1-9][0-9]{0,5}) heads")
"""The step that lays the rows of each head as ggml's rope wants them: 0, d/2, 1, d/2+1, ..."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that a plan reads from."""

    label: str
    """As the user wrote it: a folder or a Hub id. Stays in the plan, never goes into what is published."""
    identity: Mapping[str, str]
    """What may be published about it."""
    fingerprint: str
    """For a run at once: config, headers, sizes and times (`Checkpoint.fingerprint`)."""
    content: str
    """`sha256:...` over config and headers: the same for a copy of the folder."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """File -> SHA-256, for a plan that is saved and applied later."""


@dataclass(frozen=True, slots=True)
class TensorStep:
    """One tensor to write."""

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    origin: str
    """`source`, `target`, or `map` for a tensor made from the vocabulary map."""
    tensor: str
    """Its name in the source or target; for `map`: `offsets`, `ids` or `mask`."""
    steps: tuple[str, ...]
    """What happens on the way: `sort rows`, `pair rows of 32 heads`, `cast BF16 to F16`; empty copies the bytes."""
    why: str

    @property
    def heads(self) -> int | None:
        """The heads whose rows are put in pairs; None where rows stay as they are."""
        found = (PAIRING.fullmatch(word) for word in self.steps)
        return next((int(match["heads"]) for match in found if match), None)

    @property
    def size_bytes(self) -> int:
        """Bytes it will have."""
        count = 1
        for axis in self.shape:
            count *= axis
        return count * ITEM_BITS[self.dtype] // 8

    @property
    def is_copy(self) -> bool:
        """Whether its bytes are copied unchanged."""
        return self.origin != "map" and not self.steps


@dataclass(frozen=True, slots=True)
class Left:
    """Something of the source that does not come along."""

    kind: str
    """`tensor`, `key` or `file`."""
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Change:
    """A config key whose value differs between source and output."""

    key: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Plan:
    """Everything `apply` needs, and everything a reader wants to know before."""

    source: Place
    target: Place | None
    from_dialect: str
    to_dialect: str
    config: Mapping[str, Any]
    files: Mapping[str, tuple[TensorStep, ...]]
    """Weight file -> its tensors, in file order."""
    target_ids: tuple[int, ...] | None
    """The vocabulary as it will be written; None = no map."""
    row_order: tuple[int, ...] | None
    """Source row of each written head row, when rows are sorted."""
    copied: tuple[str, ...]
    """Other files of the source that come along as they are."""
    left: tuple[Left, ...]
    changes: tuple[Change, ...]
    report: Report
    """What allowed this plan: facts, warnings and notes, what engines will make of the result."""
    force_overflow: bool = False
    spec: Spec | None = None
    """What will be written, by meaning; None in a loaded plan, whose report already holds what it is needed for."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(step.size_bytes for steps in self.files.values() for step in steps)

    def digest(self) -> str:
        """`sha256:...` over what will be written and from what, without where it lies on this machine."""
        document = self.as_json()
        for place in (document["source"], document["target"] or {}):
            for private in ("label", "fingerprint", "digests"):
                place.pop(private, None)
        del document["report"]
        return "sha256:" + hashlib.sha256(compact(document).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The document that `-o` saves; schema `schemas/plan.json`."""
        return {
            "schema": SCHEMA,
            "source": _place_json(self.source),
            "target": _place_json(self.target) if self.target else None,
            "from": self.from_dialect,
            "to": self.to_dialect,
            "config": dict(self.config),
            "files": {
                file: [
                    {
                        "name": step.name,
                        "role": step.role,
                        "dtype": step.dtype,
                        "shape": list(step.shape),
                        "origin": step.origin,
                        "tensor": step.tensor,
                        "steps": list(step.steps),
                        "why": step.why,
                    }
                    for step in steps
                ]
                for file, steps in self.files.items()
            },
            "target_ids": list(self.target_ids) if self.target_ids is not None else None,
            "row_order": list(self.row_order) if self.row_order is not None else None,
            "copied": list(self.copied),
            "left": [{"kind": item.kind, "name": item.name, "why": item.why} for item in self.left],
            "changes": [{"key": c.key, "before": c.before, "after": c.after} for c in self.changes],
            "force_overflow": self.force_overflow,
            "report": self.report.as_json(),
        }

    def summary(self) -> str:
        """The plan in one sentence."""
        steps = [step for steps in self.files.values() for step in steps]
        copied = sum(step.is_copy for step in steps)
        renamed = sum(step.is_copy and step.name != step.tensor for step in steps)
        made = [step for step in steps if not step.is_copy]
        words = f"{self.from_dialect} to {self.to_dialect}: {copied} tensors copied byte for byte ({renamed} renamed)"
        if made:
            shown = ", ".join(f"{step.name} ({'; '.join(step.steps) or step.why})" for step in made[:4])
            words += f", {len(made)} encoded anew: {shown}" + (" ..." if len(made) > 4 else "")
        return words + f"; {self.size_bytes / 1e6:,.1f} MB"

    def full_report(self, applied: Any = None) -> Report:
        """The report with the plan's tables; with what was written, when it was applied."""
        written = (
            {name: {"sha256": w.sha256, "size_bytes": w.size_bytes} for name, w in applied.files.items()}
            if applied
            else {}
        )
        result = {
            "plan": self.digest(),
            **({"destination": str(applied.destination), "files": written} if applied else {}),
        }
        facts = (Fact("plan", self.summary()), *self.report.facts)
        return replace(self.report, facts=facts, tables=(*self.tables(), *self.report.tables), result=result)

    def tables(self) -> tuple[Table, ...]:
        """The plan as people read it: tensors, config changes, what is left behind."""
        rows = tuple(
            (step.tensor, step.name, f"{step.dtype} {list(step.shape)}", "; ".join(step.steps) or "copy", step.why)
            for steps in self.files.values()
            for step in steps
        )
        changes = tuple((change.key, change.before, change.after) for change in self.changes)
        left = tuple((item.kind, item.name, item.why) for item in self.left)
        return (
            Table("plan-tensors", "Tensors", ("from", "to", "holds", "how", "why"), rows),
            Table("plan-config", "Config", ("key", "before", "after"), changes),
            Table("plan-left", "Left behind", ("kind", "name", "why"), left),
        )


def _place_json(place: Place) -> dict[str, Any]:
    return {
        "label": place.label,
        "identity": dict(place.identity),
        "fingerprint": place.fingerprint,
        "content": place.content,
        "digests": dict(place.digests),
    }
