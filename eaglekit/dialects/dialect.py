"""`Dialect`: one spelling of a drafter checkpoint as data. One table for both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eaglekit.dialects.families import IdRule
from eaglekit.dialects.keys import Dropped, Fixed, Key
from eaglekit.dialects.rows import DroppedTensor, Row
from eaglekit.drafter import Spec


@dataclass(frozen=True, slots=True)
class Clue:
    """One observation that speaks for a dialect. A weight of 10 is a producer's own marker."""

    kind: str
    """How `subject` is looked up: `key`, `no key`, `value`, `other value`, `tensor`, `no tensor`, `metadata`, `file`;
    `other value` is any but those that count."""
    subject: str
    """A dotted config key, a tensor name pattern with `*`, a metadata key, or a file name."""
    values: tuple[Any, ...] = ()
    """For `value`: the values that count; a list in the config counts when its first entry does."""
    weight: int = 1

    def __str__(self) -> str:
        shown = " or ".join(map(str, self.values))
        return {
            "key": f"config has {self.subject}",
            "no key": f"config has no {self.subject}",
            "value": f"config {self.subject} is {shown}",
            "other value": f"config {self.subject} is not {shown}",
            "tensor": f"tensor {self.subject}",
            "no tensor": f"no tensor {self.subject}",
            "metadata": f"safetensors metadata has {self.subject}",
            "file": f"file {self.subject}",
        }[self.kind]


@dataclass(frozen=True, slots=True)
class IdMeaning:
    """What a producer means by the layer ids it writes."""

    rule: IdRule | None
    """None: it writes both, and only the list itself can tell."""
    source: str
    when: Clue | None = None
    """None means always."""
    needs_depth: bool = False
    """True where published files break the rule with the target's depth as an id, so it only counts beside a depth."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Something a dialect cannot say."""

    applies: Callable[[Spec], bool]
    reason: str
    instead: str
    """The nearest thing that is possible."""


@dataclass(frozen=True, slots=True)
class Means:
    """An absent key has this meaning, by the producer's own code."""

    value: Any
    source: str


ASK = "ask"
"""An absent fact that the user must give with an option."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How one producer or reader spells a drafter."""

    name: str
    title: str
    """What people call it."""
    sources: tuple[str, ...]
    """Public files that show it."""
    needs: tuple[Clue, ...] = ()
    """All of these must hold for the dialect to fit."""
    supports: tuple[Clue, ...] = ()
    """Each of these that holds adds its weight."""
    rows: tuple[Row, ...] = ()
    """Tensor names; the first row of a part is the one that is written."""
    dropped_tensors: tuple[DroppedTensor, ...] = ()
    strips: tuple[str, ...] = ()
    """Prefixes of training wrappers, taken off before matching."""
    keys: tuple[Key, ...] = ()
    fixed: tuple[Fixed, ...] = ()
    dropped_keys: tuple[Dropped, ...] = ()
    ids: tuple[IdMeaning, ...] = ()
    """What the producer means by a layer id: the first row whose clue holds. Empty: the file alone cannot say."""
    absent: Mapping[str, Means | str] = field(default_factory=dict)
    """Fact -> what its absence means here, where it differs from `ABSENT`."""
    map_order: str = "unsaid"
    """`ascending` when the producer sorts its vocabulary (so a mask determines the map), `any` when it does not."""
    classes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Kind of drafter (`gqa`, `qk`, `mla`, `mla kimi`, `parallel`) -> architecture and model_type to write."""
    limits: tuple[Limit, ...] = ()
    writes_identity_map: bool = False
    """Whether d2t and t2d are stored at full vocabulary too."""
    writes_mask: bool = False
    """Whether t2d is stored beside d2t."""
    map_must_ascend: bool = False
    """Whether draft ids must follow target ids (a trainer selects target logits by mask)."""
    writes_embedding: bool = True
    container: str = "safetensors"
    """`safetensors` beside a config.json, or `gguf`: one file that holds both."""
    map_holds: str = "offsets"
    """`offsets` (target id minus row) or `ids`: what the numbers of the map are."""
    norm_dtype: str | None = None
    """What norms are stored in, where that is not the dtype of the projections."""
    states_yarn: bool = False
    """Whether every number of yarn is written, because the reader has no defaults for them."""
    mask_state_shape: tuple[int, ...] = (1, 1, -1)
    needs_target_family: bool = False
    example: str = ""

    @property
    def config_place(self) -> str:
        """What messages call the place of a config key."""
        return "metadata" if self.container == "gguf" else "config.json"

    @property
    def writable(self) -> bool:
        """Whether `convert --to` can make it."""
        return bool(self.classes)


def kind_of(spec: Spec) -> str:
    """The kind under which `Dialect.classes` lists this drafter."""
    if spec.attention.value == "mla":
        return "mla kimi" if spec.target_family == "kimi_k2" else "mla"
    if spec.parallel_drafting:
        return "parallel"
    return "qk" if spec.qk_norm else "gqa"
