"""From folders and Hub ids to opened checkpoints and targets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eaglekit.checkpoint import Checkpoint, Source
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.hub_id import is_local
from eaglekit.checkpoint.lookup import Library, open_library
from eaglekit.checkpoint.opening import open_source
from eaglekit.dialects.target import Target, read_target
from eaglekit.plan.model import Plan
from eaglekit.plan.side_files import sort_files
from eaglekit.plan.sizes import size_of
from eaglekit.report import Finding, Refusal
from eaglekit.report.progress import Bar, silent

if TYPE_CHECKING:
    from eaglekit.checkpoint.remote import HubFolder

BESIDE = (".json", ".jinja", ".model", ".tiktoken", "merges.txt", "vocab.txt")
"""Endings of what a tokenizer and a generation config are kept in. No code: it would not be run anyway."""


def find_source(text: str) -> Source:
    """The folder or Hub repository that the user means; the Hub's machinery is imported only when it is needed."""
    if is_local(text):
        return LocalFolder(Path(os.path.expanduser(text)), text)  # noqa: PTH111 - Path.expanduser raises for an unknown user
    from eaglekit.checkpoint import remote

    return remote.find_source(text)


def on_hub(source: Source) -> HubFolder | None:
    """The source as a Hub folder, or None when it lies on this machine."""
    if isinstance(source, LocalFolder):
        return None
    from eaglekit.checkpoint.remote import HubFolder

    return source if isinstance(source, HubFolder) else None


def open_input(text: str) -> Checkpoint:
    """The checkpoint in a folder or on the Hub; of a Hub id only headers are fetched."""
    return open_source(find_source(text))


def open_local(text: str, *, bar: Bar = silent) -> Checkpoint:
    """The checkpoint with its bytes on this machine: weights of a Hub id are downloaded, at the one commit."""
    source = find_source(text)
    # Headers first: a download is not started for something that cannot be converted.
    checkpoint = open_source(source)
    hub = on_hub(source)
    if hub is None:
        return checkpoint
    config = [checkpoint.config_file] if checkpoint.config_file is not None else []
    wanted = [*config, *checkpoint.weight_files, *sort_files(checkpoint)[0]]
    wanted += [name for name in source.files() if name.endswith(".index.json")]
    return open_source(download(hub, wanted, bar=bar))


def download(source: HubFolder, files: Sequence[str], *, bar: Bar = silent) -> Source:
    """The named files of a Hub repository on this machine."""
    sizes = source.files()
    arrived: dict[str, int] = {}
    with bar(f"download {source.label}", sum(sizes[name] for name in files), "bytes") as tell:

        def hear(file: str, so_far: int, size_bytes: int) -> None:
            tell(so_far - arrived.get(file, 0))
            arrived[file] = so_far

        return source.download(files, progress=hear)


def open_target(text: str | None) -> Target | None:
    """The target's facts, from a folder or the Hub; nothing but its config, index and two headers are read."""
    return None if text is None else read_target(find_source(text))


def local_target(text: str, *, bar: Bar = silent) -> Source:
    """The folder of a target with all its bytes, downloaded at one commit when it is on the Hub.

    Of a Hub id the weights, the configs and the tokenizer come along.
    """
    source = find_source(text)
    hub = on_hub(source)
    if hub is None:
        return source
    shards = sorted(set(open_library(source, partial=True).names.values()))
    beside = [name for name in source.files() if name.endswith(BESIDE) and "/" not in name]
    return download(hub, [*beside, *shards], bar=bar)


def local_library(target: Target | None, plan: Plan, *, bar: Bar = silent) -> Library | None:
    """The target's files that a plan copies from, on this machine; None when it copies nothing."""
    if target is None or plan.target is None:
        return None
    source = target.library.source
    hub = on_hub(source)
    if hub is None:
        return target.library
    names = {s.tensor for steps in plan.files.values() for s in steps if s.origin == "target"}
    shards = sorted({target.library.names[name] for name in names})
    index = [name for name in source.files() if name.endswith(".index.json")]
    return open_library(download(hub, ["config.json", *index, *shards], bar=bar), partial=True)


def open_plan_target(plan: Plan, *, bar: Bar = silent) -> Library | None:
    """The target a plan copies from, found again on this machine; None when it copies nothing."""
    if plan.target is None:
        return None
    source = find_source(plan.target.label)
    hub = on_hub(source)
    if hub is None:
        return open_library(source, partial=True)
    index = [name for name in source.files() if name.endswith(".index.json")]
    return open_library(download(hub, ["config.json", *index, *plan.target.digests], bar=bar), partial=True)


def memory_limit(text: str | None) -> int | None:
    """Bytes of `--memory-limit`. Raises `Refusal`."""
    size_bytes = size_of(text) if text is not None else None
    if text is not None and size_bytes is None:
        raise Refusal(
            Finding(
                "memory-limit-unclear",
                f"--memory-limit cannot be {text!r}",
                place="--memory-limit",
                got=text,
                expected="a size such as 8GB, 24GiB or 900MB",
                hint="leave it out to take what one block needs",
            )
        )
    return size_bytes
