"""A Hugging Face Hub on loopback: real HTTP, real content names, no dependency. For rehearsals, and for tests.

Must never know what EAGLE is, or import any other room.
"""

from eaglekit.hub.loopback.exchange import Record
from eaglekit.hub.loopback.faults import Fault, another_digest
from eaglekit.hub.loopback.model import Account, Commit, Scope
from eaglekit.hub.loopback.server import Hub

__all__ = ["Account", "Commit", "Fault", "Hub", "Record", "Scope", "another_digest"]
