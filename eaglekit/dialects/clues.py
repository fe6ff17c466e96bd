"""Whether a clue holds for a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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


def _has_tensor(checkpoint: Checkpoint, pattern: str) -> bool:
    expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return any(expression.fullmatch(name) for name in checkpoint.tensors)


def _has_value(checkpoint: Checkpoint, clue: Clue) -> bool:
    value = at(checkpoint.config, clue.subject)
    if isinstance(value, list):
        value = value[0] if value else None
    return not isinstance(value, (dict, list)) and value in clue.values


_CHECKS: Mapping[str, Callable[[Checkpoint, Clue], bool]] = {
    "key": lambda checkpoint, clue: at(checkpoint.config, clue.subject) not in (ABSENT, None),
    "no key": lambda checkpoint, clue: at(checkpoint.config, clue.subject) in (ABSENT, None),
    "value": _has_value,
    "tensor": lambda checkpoint, clue: _has_tensor(checkpoint, clue.subject),
    "no tensor": lambda checkpoint, clue: not _has_tensor(checkpoint, clue.subject),
    "metadata": lambda checkpoint, clue: clue.subject in checkpoint.metadata,
    "file": lambda checkpoint, clue: clue.subject in checkpoint.weight_files,
}


def holds(clue: Clue, checkpoint: Checkpoint) -> bool:
    """Whether the checkpoint shows what the clue looks for."""
    return _CHECKS[clue.kind](checkpoint, clue)
