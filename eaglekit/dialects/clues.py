"""Whether a clue holds for a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.dialect import Clue


class _Absent:
    """Stands for a key that is not there, because null is a value."""


ABSENT = _Absent()


def at(config: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or `ABSENT`."""
    value: Any = config
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    return value


def strip(name: str, prefixes: Sequence[str]) -> str:
    """The name without the prefixes of training wrappers, in whatever order they were put around it."""
    while (prefix := next((p for p in prefixes if name.startswith(p)), None)) is not None:
        name = name.removeprefix(prefix)
    return name


def _has_tensor(checkpoint: Checkpoint, clue: Clue, strips: Sequence[str]) -> bool:
    expression = re.compile(".*".join(map(re.escape, clue.subject.split("*"))))
    return any(expression.fullmatch(strip(name, strips)) for name in checkpoint.tensors)


def _has_value(checkpoint: Checkpoint, clue: Clue, strips: Sequence[str]) -> bool:
    value = at(checkpoint.config, clue.subject)
    if isinstance(value, list):
        value = value[0] if value else None
    return not isinstance(value, (dict, list)) and value in clue.values


_CHECKS: Mapping[str, Callable[[Checkpoint, Clue, Sequence[str]], bool]] = {
    "key": lambda checkpoint, clue, strips: at(checkpoint.config, clue.subject) not in (ABSENT, None),
    "no key": lambda checkpoint, clue, strips: at(checkpoint.config, clue.subject) in (ABSENT, None),
    "value": _has_value,
    "other value": lambda checkpoint, clue, strips: (
        at(checkpoint.config, clue.subject) is not ABSENT and not _has_value(checkpoint, clue, strips)
    ),
    "tensor": _has_tensor,
    "no tensor": lambda checkpoint, clue, strips: not _has_tensor(checkpoint, clue, strips),
    "metadata": lambda checkpoint, clue, strips: clue.subject in checkpoint.metadata,
    "file": lambda checkpoint, clue, strips: clue.subject in checkpoint.weight_files,
}


def told(clue: Clue, checkpoint: Checkpoint) -> str:
    """What the checkpoint shows of a clue that holds: of several values that count, the one it has."""
    if clue.kind != "value":
        return str(clue)
    value = at(checkpoint.config, clue.subject)
    return str(replace(clue, values=(value[0] if isinstance(value, list) else value,)))


def holds(clue: Clue, checkpoint: Checkpoint, *, strips: Sequence[str] = ()) -> bool:
    """Whether the checkpoint shows what the clue looks for, its tensor names without the prefixes in `strips`."""
    return _CHECKS[clue.kind](checkpoint, clue, strips)
