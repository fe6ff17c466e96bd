"""A rehearsal: a Hub of one's own on loopback, to which a push is made for real; what it leaves is a folder."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from eaglekit.checkpoint.disk_errors import writing_to
from eaglekit.hub.loopback import Hub
from eaglekit.hub.loopback.model import Collection
from eaglekit.hub.model import CARD
from eaglekit.hub.remote.client import HubClient, Say
from eaglekit.report import Finding, Refusal

STORAGE = "hub"
STATE = "state.json"
LOCK = "lock"
"""Held by the one rehearsal that runs in the folder."""
REQUESTS = "requests.jsonl"
NAME = "rehearser"
"""Whose token it is, on the Hub of a rehearsal."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A running Hub, and the folder that it leaves."""

    folder: Path
    hub: Hub
    token: str

    def connect(self, repo: str, say: Say) -> HubClient:
        """A client of this Hub. The user's own token is not looked at."""
        return HubClient(repo, endpoint=self.hub.endpoint, token=self.token, say=say, rehearses=True)

    def leave(self, repo: str, commit: str) -> Path:
        """Lay the files of a commit out as `ORG/NAME` below the folder; the path of their card."""
        place = self.folder / repo
        with writing_to(str(place)):
            place.parent.mkdir(parents=True, exist_ok=True)
            self.hub.storage.materialise(repo, commit, place, replace=True)
        return place / CARD


@contextmanager
def rehearsing(folder: Path, repo: str, collection: str | None = None) -> Iterator[Rehearsal]:
    """A Hub in `folder`, which is new or was left by an earlier rehearsal; it runs as long as the block.

    Whoever rehearses may do there what a push needs: it writes for the owners of `repo` and `collection`, which is
    made if it is not there.

    To be entered before huggingface_hub is imported: it reads its environment once, and a rehearsal neither leaves
    this machine nor uses xet.
    """
    if folder.exists() and not _is_rehearsal(folder):
        got = ", ".join(sorted(item.name for item in folder.iterdir())[:5]) if folder.is_dir() else "a file"
        raise Refusal(_unfit(folder, "holds something else than a rehearsal", got))
    with ExitStack() as held:
        with writing_to(str(folder)):
            (folder / STORAGE).mkdir(parents=True, exist_ok=True)
            _lock(folder, held)
            hub = _begun(folder)
        held.enter_context(hub)
        _stay_here(hub.endpoint)
        token = f"hf_{secrets.token_hex(17)}"
        owners = [name.partition("/")[0] for name in (repo, collection) if name is not None]
        hub.account(NAME, token, organisations=dict.fromkeys(owners, "write"))
        if collection is not None:
            hub.storage.collections.setdefault(collection, Collection(collection, collection, owners[-1]))
        yield Rehearsal(folder, hub, token)


def _is_rehearsal(folder: Path) -> bool:
    """Whether an earlier one left the folder, perhaps killed before it had anything to remember; or it is empty."""
    if not folder.is_dir():
        return False
    storage = folder / STORAGE
    if (storage / STATE).is_file() or (storage / LOCK).is_file():
        return True
    others = [item for item in folder.iterdir() if item != storage]
    return not others and not (storage.exists() and any(storage.iterdir()))


def _lock(folder: Path, held: ExitStack) -> None:
    """Keep other rehearsals out of the folder until `held` ends: each would write its own memory over the other's."""
    descriptor = os.open(folder / STORAGE / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    held.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refusal(_unfit(folder, "is in use by another rehearsal", "a rehearsal that runs now")) from None


def _begun(folder: Path) -> Hub:
    try:
        return Hub(folder / STORAGE, log=folder / REQUESTS)
    except (ValueError, TypeError, LookupError, AttributeError):
        # What somebody wrote into the state: it is read as it was written, or not at all.
        raise Refusal(_unfit(folder, "has a rehearsal whose memory cannot be read", f"{STORAGE}/{STATE}")) from None


def _unfit(folder: Path, what: str, got: str) -> Finding:
    return Finding(
        "push-rehearsal-folder",
        f"{folder} {what}",
        place=str(folder),
        got=got,
        expected="a folder that does not exist yet, or one that a rehearsal left",
        hint="name another folder: --rehearse DIR",
    )


def _stay_here(endpoint: str) -> None:
    """Nothing of this process is to reach another machine."""
    here = "127.0.0.1,localhost"
    os.environ.update(
        HF_ENDPOINT=endpoint,
        HF_HUB_OFFLINE="0",
        TRANSFORMERS_OFFLINE="0",
        HF_HUB_DISABLE_XET="1",
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_DISABLE_UPDATE_CHECK="1",
        NO_PROXY=here,
        no_proxy=here,
    )
