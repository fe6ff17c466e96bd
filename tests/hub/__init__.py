"""Tests of publishing, and the client that drives the loopback Hub in a process of its own."""

from eaglekit.hub.loopback import Account, Commit, Fault, Hub, Record, Scope, another_digest
from tests.hub.client import Client

__all__ = ["Account", "Client", "Commit", "Fault", "Hub", "Record", "Scope", "another_digest"]
