"""A Hugging Face Hub on loopback, for tests: real HTTP, real content names, no dependency.

By hand: `python -m tests.hub FOLDER ORG/NAME` serves a folder and prints the environment that leads to it.
"""

from tests.hub.client import Client
from tests.hub.exchange import Record
from tests.hub.faults import Fault
from tests.hub.server import Hub
from tests.hub.storage import Account, Commit

__all__ = ["Account", "Client", "Commit", "Fault", "Hub", "Record"]
