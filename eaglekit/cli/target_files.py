"""A target with its bytes on this machine, downloaded with a bar."""

from __future__ import annotations

from eaglekit.api import opening
from eaglekit.api.opening import BESIDE, memory_limit
from eaglekit.checkpoint import Source
from eaglekit.cli.output import work_bar

__all__ = ["BESIDE", "local_target", "memory_limit"]


def local_target(text: str, *, quiet: bool) -> Source:
    """The folder of a target, downloaded at one commit when it is on the Hub."""
    return opening.local_target(text, bar=work_bar(quiet=quiet))
