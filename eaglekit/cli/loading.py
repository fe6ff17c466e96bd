"""Opening what the user named, with bars on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eaglekit.api import opening
from eaglekit.api.opening import find_source, on_hub, open_input, open_target
from eaglekit.api.stating import given_from, parse_requests
from eaglekit.cli.output import work_bar

if TYPE_CHECKING:
    from eaglekit.checkpoint import Checkpoint, Source
    from eaglekit.checkpoint.remote import HubFolder

__all__ = [
    "download",
    "find_source",
    "given_from",
    "on_hub",
    "open_input",
    "open_local",
    "open_target",
    "parse_requests",
]


def open_local(text: str, *, quiet: bool) -> Checkpoint:
    """The checkpoint with its bytes on this machine: weights of a Hub id are downloaded, with a bar."""
    return opening.open_local(text, bar=work_bar(quiet=quiet))


def download(source: HubFolder, files: Sequence[str], *, quiet: bool) -> Source:
    """The named files of a Hub repository on this machine, with a bar."""
    return opening.download(source, files, bar=work_bar(quiet=quiet))
