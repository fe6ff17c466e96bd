"""Files beside config and weights: which come along, which stay, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.file_names import one_on_some_disk, unsafe_reason
from eaglekit.plan.model import Left

COMES_ALONG: tuple[str, ...] = (
    "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json", "generation_config.json",
    "LICENSE", "LICENSE.*", "LICENSE-*", "NOTICE", "NOTICE.*", "USE_POLICY.md",
)  # fmt: skip
"""Copied as they are: a tokenizer and the terms of use belong to the drafter whatever its layout."""

STAYS: tuple[tuple[str, str], ...] = (
    ("*.py", "code; nothing of a checkpoint is executed and no engine needs it"),
    ("*.bin", "the other copy of the weights"),
    ("*.safetensors", "not named by the index"),
    ("*.index.json", "written anew over the files of the output"),
    ("*.gguf", "another format of the weights"),
    ("README.md", "a card of the source, with its file names and commands; write a new one"),
    ("hf_quant_config.json", "says how weights were quantised; these are not"),
    ("SHA256SUMS", "the manifest of an earlier conversion; a new one is made"),
    ("provenance.json", "the provenance of an earlier conversion; a new one is written"),
    ("*.pt", "a pickle beside the weights; token maps are inside the weights file"),
    ("*.pth", "a pickle beside the weights"),
    ("*.pkl", "a pickle beside the weights"),
    (".*", "hidden"),
)
"""Pattern of the name -> why it stays; the first match counts."""


def sort_files(checkpoint: Checkpoint) -> tuple[tuple[str, ...], tuple[Left, ...]]:
    """The files that come along, and the others with the reason each stays."""
    copied, left = [], []
    twins = {name: f"one file with {other} on macOS or Windows" for other, name in _same(checkpoint.extra_files)}
    for name in sorted(checkpoint.extra_files):
        base = name.rpartition("/")[2]
        why = next(
            (why for pattern, why in STAYS if fnmatchcase(base, pattern)), "no file that engines read of a drafter"
        )
        if "/" not in name and _comes_along(base):
            if (wrong := twins.get(name) or unsafe_reason(name)) is None:
                copied.append(name)
                continue
            why = f"a name that not every disk can hold: {wrong}"
        # A name that is no UTF-8 stays behind like any other, and is told escaped.
        left.append(Left("file", name.encode("utf-8", "backslashreplace").decode(), why))
    return tuple(copied), tuple(left)


def _same(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    return one_on_some_disk(name for name in sorted(names) if _comes_along(name))


def _comes_along(base: str) -> bool:
    return any(fnmatchcase(base, pattern) for pattern in COMES_ALONG)
