"""Large files as xet: chunks that hf_xet keeps in a folder of this machine, without a server of their own."""

from __future__ import annotations

from eaglekit.hub.loopback.content import Entry
from eaglekit.hub.loopback.exchange import Exchange
from eaglekit.hub.loopback.model import Commit, Repository


def in_listing(exchange: Exchange, entry: Entry) -> dict[str, str]:
    """What a listing adds for a file that is kept as xet."""
    return {}


def in_headers(exchange: Exchange, repository: Repository, commit: Commit, entry: Entry) -> dict[str, str]:
    """What the address of such a file adds."""
    return {}
