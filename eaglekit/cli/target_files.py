"""A target with its bytes on this machine: of a Hub id the weights, the configs and the tokenizer are downloaded."""

from __future__ import annotations

from eaglekit.checkpoint import Source
from eaglekit.checkpoint.lookup import open_library
from eaglekit.cli.loading import download, find_source, on_hub

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
