"""Paths that only one machine has, in text and in decoded JSON: what is to be read elsewhere should not name them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MODEL_KEYS = frozenset(
    {
        "name", "path", "name_or_path", "_name_or_path", "model_name_or_path", "tokenizer_name_or_path", "base_model",
        "base_model_name_or_path", "target_model", "target_name", "verifier", "verifier_name_or_path",
    }
)  # fmt: skip
"""Keys that name a model."""
ROOTS = (
    "home|root|Users|mnt|media|data[0-9]*|datasets?|tmp|workspaces?|work|scratch[0-9]*|lustre|gpfs|nfs|nas|fsx|efs|ebs|opt|srv"
    "|var|private|Volumes|raid[0-9]*|ssd[0-9]*|nvme[0-9]*|projects?|shared|storage|weka|vast|cephfs|dbfs|kaggle"
    "|content/drive|dev/shm"
)
_POSIX = rf"(?<![\w./~)\]}}-])/(?:{ROOTS})/[\w.@+-][^\s\"'`<>|,;:(){{}}\[\]]*"
_WINDOWS = (
    r"(?<![A-Za-z])[A-Za-z]:[\\/]+(?i:Users|Windows|Program|ProgramData|Documents|temp|tmp|models?|work\w*)\b"
    r"[^\s\"'`<>|]*"
)
_SHARE = r"(?:(?<=[\s\"'`=(])|^)\\\\[\w.-]+\\[\w.$-]+[^\s\"'`<>|]*"
PLACE = re.compile(rf"(?<![A-Za-z])file:/+[^\s\"'`<>]+|{_WINDOWS}|{_POSIX}|{_SHARE}", re.MULTILINE)
PLACE_ANCHORS = ("/", "\\")
ABSOLUTE = re.compile(r"(?:/[\w.@+ -]+){2,}/?|[A-Za-z]:[\\/].*|\\\\[\w.-]+\\.*")
"""A value that is nothing but a path of one machine."""
RELATIVE = re.compile(r"(?:\.{1,2}|~)[\\/].*")
"""A path too, where a model should be named."""
ANYBODYS = re.compile(
    r"/root/\.cache/huggingface(?:/|$)|/dev/shm/?$|/(?:home|Users)/(?:user|username|you|your[-_]?name|me|name)(?:/|$)"
)
"""Places that every machine or container has, and the ones that stand for the reader's own."""


def places_in(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every path in `text` that only one machine has."""
    if not any(anchor in text for anchor in PLACE_ANCHORS):
        return
    for found in PLACE.finditer(text):
        if not ANYBODYS.match(found[0]):
            yield found.span()


def paths_in(key: str, value: str) -> Iterator[tuple[int, int]]:
    """Start and end of every such path in the value of a key: of all of it where it is nothing but a path.

    Where a model should be named, a relative path is one too.
    """
    if ABSOLUTE.fullmatch(value) or (key in MODEL_KEYS and RELATIVE.fullmatch(value)):
        if not ANYBODYS.match(value):
            yield 0, len(value)
        return
    yield from places_in(value)


def keys_with_paths(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The dotted key of every value of a config that holds such a path, and the value."""
    pending: list[tuple[str, str, Any]] = [("", "", config)]
    while pending:
        path, key, value = pending.pop()
        if isinstance(value, Mapping):
            pending += ((f"{path}.{name}".removeprefix("."), str(name), part) for name, part in value.items())
        elif isinstance(value, list):
            pending += ((f"{path}[{index}]", key, part) for index, part in enumerate(value))
        elif isinstance(value, str) and any(paths_in(key, value)):
            yield path, value
