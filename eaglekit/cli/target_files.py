"""A target with its bytes on this machine: of a Hub id the weights, the configs and the tokenizer are downloaded."""

from __future__ import annotations

from eaglekit.checkpoint import Source
from eaglekit.checkpoint.lookup import open_library
from eaglekit.cli.loading import download, find_source, on_hub
from eaglekit.plan.sizes import size_of
from eaglekit.report import Finding, Refusal

BESIDE = (".json", ".jinja", ".model", ".tiktoken", "merges.txt", "vocab.txt")
"""Endings of what a tokenizer and a generation config are kept in. No code: it would not be run anyway."""


def local_target(text: str, *, quiet: bool) -> Source:
    """The folder of a target, downloaded at one commit when it is on the Hub."""
    source = find_source(text)
    hub = on_hub(source)
    if hub is None:
        return source
    shards = sorted(set(open_library(source, partial=True).names.values()))
    beside = [name for name in source.files() if name.endswith(BESIDE) and "/" not in name]
    return download(hub, [*beside, *shards], quiet=quiet)


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
