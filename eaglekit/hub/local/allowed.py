"""Which names are published: an allow-list, and for what is not on it why, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from eaglekit.checkpoint.file_names import DEVICE, one_on_some_disk
from eaglekit.hub.model import CARD, FIGURE, PROMPTS, REPORT, SIGNATURE
from eaglekit.plan.manifest import MANIFEST
from eaglekit.plan.provenance import PROVENANCE
from eaglekit.plan.side_files import COMES_ALONG
from eaglekit.report import Finding

CONFIG, INDEX = "config.json", "model.safetensors.index.json"
MADE = frozenset({CARD, REPORT, FIGURE, PROMPTS, SIGNATURE, MANIFEST})
"""Made by a push; they may lie in the folder that an earlier one, or a pull, has left."""
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,198}[A-Za-z0-9_+-]|[A-Za-z0-9_]")
"""What git, the Hub and every kind of disk can hold."""

MOVE = "move it out of the folder"
PICKLE = "give the weights as safetensors: eaglekit convert writes nothing else"
REFUSED: tuple[tuple[str, str, str], ...] = (
    (".env*", "where secrets are kept", f"{MOVE}; revoke what it holds if it was ever published"),
    (".*", "hidden, so not meant for others", MOVE),
    ("*.py *.pyc *.pyx *.ipynb *.sh *.bash *.js *.so *.dll *.dylib *.exe *.jar *.lua", "code, which nobody needs to "
     "serve a drafter", MOVE),
    ("optimizer* scheduler* rng_state* trainer_state* training_state* training_args* global_step* zero_*",
     "the state of a training run", f"{MOVE}: who serves the drafter has no use for it"),
    ("*.bin *.pt *.pth *.pkl *.pickle *.ckpt *.joblib *.npy *.npz *.h5 *.msgpack *.distcp",
     "a format that can run code when it is loaded", f"{MOVE}; {PICKLE}"),
    ("*.gguf *.onnx *.engine *.plan", "another format of the weights", f"{MOVE}, into a repository of its own"),
    ("*.log *.out *.err events.out.* *.tfevents* nohup*", "a log, which tells about the machine", MOVE),
    ("*.zip *.tar *.tgz *.gz *.xz *.bz2 *.zst *.7z *.rar *.whl", "an archive, which cannot be looked into", MOVE),
    ("*.tmp *.part *.partial *.incomplete *.lock *.swp *~ *.bak *.orig *.rej", "a leftover of other work", "remove it"),
    ("*.jsonl *.csv *.tsv *.parquet *.arrow", "data", f"{MOVE}; --with-prompts publishes the prompts of the report"),
)  # fmt: skip
"""Patterns of the name in lower case, why it stays, what to do. They stand above the allow-list: LICENSE.py is code."""


def judge(names: Iterable[str], weight_files: Iterable[str]) -> Iterator[Finding]:
    """A finding for every name that is not published, cannot be, or clashes with another."""
    names, weights = sorted(names), frozenset(weight_files)
    for name in names:
        why = _objection(name, weights)
        if why is not None:
            yield _not_allowed(name, *why)
        elif not NAME.fullmatch(name) or DEVICE.fullmatch(name):
            yield _bad_name(name)
    yield from _clashes(names)


def is_allowed(name: str, weight_files: Iterable[str]) -> bool:
    """Whether a file of this name is published, or made by a push."""
    return _objection(name, frozenset(weight_files)) is None


def _objection(name: str, weights: frozenset[str]) -> tuple[str, str] | None:
    """Why a file of this name stays here, and what to do; None when it is published."""
    # A GGUF drafter is one file, config and all; beside other weights it is another format of them.
    if name in MADE or name in (CONFIG, INDEX, PROVENANCE) or (name in weights and name.endswith(".gguf")):
        return None
    for patterns, why, hint in REFUSED:
        if _matches(name.lower(), patterns):
            return why, hint
    if name in weights or any(fnmatchcase(name, pattern) for pattern in COMES_ALONG):
        return None
    if name.endswith(".safetensors"):
        return f"no part of the weights, which are {', '.join(sorted(weights)[:3]) or 'absent'}", MOVE
    return "no file of a drafter", f"{MOVE}; what should be said about it belongs in README.md"


def _matches(name: str, patterns: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())


def _not_allowed(name: str, why: str, hint: str) -> Finding:
    return Finding(
        "publish-not-allowed",
        f"{name} is not published: it is {why}",
        place=name,
        expected="config, safetensors, index, tokenizer, licence, provenance and what a push adds",
        hint=hint,
    )


def _bad_name(name: str) -> Finding:
    return Finding(
        "publish-name",
        f"{name!r} is a name that not every machine can hold",
        place=name,
        got=f"{len(name)} characters" if len(name) > 200 else name,
        expected="letters, digits and . _ + -, at most 200 characters, and no name of a device",
        hint="rename it; for a shard convert again",
    )


def _clashes(names: Iterable[str]) -> Iterator[Finding]:
    for other, name in one_on_some_disk(names):
        yield Finding(
            "publish-name-clash",
            f"{other} and {name} are one file on macOS or Windows",
            place=name,
            got=f"{other} and {name}",
            expected="names that differ on every disk",
            hint="rename or remove one of them",
        )
