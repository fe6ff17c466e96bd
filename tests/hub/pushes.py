"""`eaglekit push` as a user runs it, against a Hub on loopback."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from eaglekit.checkpoint.copying import Written
from eaglekit.plan.manifest import manifest_text
from tests.cli.running import PROGRAM, Finished, eaglekit
from tests.hub import Client, Commit, Hub, Record
from tests.hub.published import TARGET

TOKEN = "hf_thisIsTheTokenOfTheTests"  # noqa: S105 - opens nothing but the Hub of a test
REPO = "acme/drafter"
TARGET_COMMIT = "0123456789012345678901234567890123456789"
WORDS = ("--license", "apache-2.0", "--base-model", f"acme/target@{TARGET_COMMIT}")
"""What only the publisher can say."""
TARGET_REPO = "acme/target"
COMMITS, UPLOADS = "/commit/", "/cdn/upload/"


@dataclass
class Pushes:
    """One Hub, one folder, and the pushes between them."""

    hub: Hub
    folder: Path
    home: Path
    token: str = TOKEN
    more: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What the program sees of its surroundings."""
        return Client(self.hub, self.home, self.token, self.more).environment

    def push(self, *options: object, repo: str = REPO, yes: bool = True) -> Finished:
        """Push as JSON, without the figure, which takes a second to draw."""
        return self.run(repo, "--no-figure", "--json", *(["--yes"] if yes else []), *options)

    def run(self, repo: str, *options: object) -> Finished:
        """Push with nothing said but who and where; the token may never be in what is printed."""
        done = eaglekit("push", self.folder, repo, *WORDS, *options, environment=self.environment)
        assert self.token not in done.out + done.err
        return done

    def add(self, name: str, data: bytes) -> None:
        """One more file in the folder, and its line in the manifest."""
        (self.folder / name).write_bytes(data)
        names = [path.name for path in self.folder.iterdir() if path.name not in {"SHA256SUMS", "report.json"}]
        contents = {name: (self.folder / name).read_bytes() for name in names}
        listed = {name: Written(len(data), hashlib.sha256(data).hexdigest()) for name, data in contents.items()}
        (self.folder / "SHA256SUMS").write_text(manifest_text(listed))

    def start(self, *options: object) -> subprocess.Popen[str]:
        """A push for people, to be interrupted."""
        words = [*PROGRAM, "push", str(self.folder), REPO, *WORDS, "--no-figure", "--yes", *map(str, options)]
        return subprocess.Popen(
            words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def interrupt(self, way: signal.Signals, path: str, count: int = 1, *options: object) -> tuple[int, str]:
        """Start a push and stop it when the Hub has the `count`th request to `path`; exit code and what it said."""
        with self.start(*options) as process:
            wait_for(lambda: sum(path in record.path for record in list(self.hub._log)) >= count)
            process.send_signal(way)
            printed = "".join(process.communicate(timeout=30))
        assert self.token not in printed
        return process.returncode, printed

    def head(self, branch: str = "main", repo: str = REPO) -> Commit:
        """The commit a branch stands at."""
        commit = self.hub.storage.repositories[repo].resolve(branch)
        assert commit is not None
        return commit

    def count(self, branch: str = "main") -> int:
        """How many commits there are, the Hub's own first one included."""
        return len(self.hub.storage.repositories[REPO].history(self.head(branch)))

    def writes(self) -> list[Record]:
        """The requests that asked for a change."""
        return [record for record in self.hub.requests() if record.is_write]

    def sent(self, method: str, path: str) -> list[Record]:
        """The requests of one kind."""
        return [record for record in self.hub.requests() if record.method == method and path in record.path]


def publish_target(hub: Hub, files: Mapping[str, bytes | Path] | Path = TARGET) -> None:
    """The target on the Hub, at the commit that `WORDS` name: by default the one of the report."""
    made = hub.publish(TARGET_REPO, files)
    repository = hub.storage.repositories[TARGET_REPO]
    repository.commits[TARGET_COMMIT] = replace(made, oid=TARGET_COMMIT)
    repository.branches["main"] = TARGET_COMMIT


def wait_for(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)


def copied(folder: Path, to: Path) -> Path:
    """A folder of the test's own."""
    return Path(shutil.copytree(folder, to))
