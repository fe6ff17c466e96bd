"""pull and push, killed and refused what they need, against a Hub on loopback."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.work import Ended, Work, digest, remove
from tests.hub import Hub
from tests.hub.published import validated
from tests.hub.pushes import REPO, TOKEN, WORDS, Pushes, copied, publish_target

MOMENTS = 200
NAMES = {"README.md", "SHA256SUMS", "config.json", "model.safetensors", "provenance.json", "report.json"}
"""What a push without the figure publishes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated(tmp_path_factory.mktemp("published"))


@pytest.fixture
def pushes(tmp_path: Path, folder: Path) -> Iterator[Pushes]:
    with Hub(tmp_path / "storage") as hub:
        hub.account("publisher", TOKEN, organisations=("acme",))
        publish_target(hub)
        yield Pushes(hub, copied(folder, tmp_path / "drafter"), tmp_path / "work" / "hf")


@dataclass
class Pushing:
    """A push that is made again and again, each time to a repository that is not there yet."""

    pushes: Pushes
    work: Work
    source: str

    def run(self, do: str, **more: object) -> Ended:
        words = ("push", self.pushes.folder, REPO, *WORDS, "--no-figure", "--yes", "--json")
        return self.work.run(do, words, **more)

    def published(self) -> bool:
        """Whether the commit is there, whole; fails when it is anything between whole and absent."""
        # What a killed client had asked for is answered to the end.
        self.pushes.hub.requests()
        assert digest(self.pushes.folder) == self.source
        if REPO not in self.pushes.hub.storage.repositories or self.pushes.count() == 1:
            return False
        assert self.pushes.count() == 2
        assert {*self.pushes.head().files} - {".gitattributes"} == NAMES
        return True

    def again(self) -> None:
        """The same command finishes what was begun, once: no second commit, whatever had happened."""
        there = self.published()
        ended = self.run("watch")
        assert ended.code == 0, ended.out
        assert ('"outcome": "nothing to do"' in ended.out) == there
        assert self.published()
        self.forget()

    def forget(self) -> None:
        """No repository again."""
        del self.pushes.hub.storage.repositories[REPO]


@pytest.fixture
def pushing(pushes: Pushes, tmp_path: Path) -> Iterator[Pushing]:
    with Work(tmp_path / "work", pushes.environment) as work:
        made = Pushing(pushes, work, digest(pushes.folder))
        assert made.run("warm").code == 0
        assert made.published()
        made.forget()
        yield made


def test_a_push_that_is_killed_before_any_call_that_sends_or_writes_is_finished_by_the_next(pushing: Pushing) -> None:
    peace = pushing.run("watch")
    assert (peace.code, {"sendto", "sendmsg", "write"} & {name for name, _ in peace.calls} != set()) == (0, True)
    pushing.forget()
    for at in range(len(peace.calls)):
        assert pushing.run("kill", at=at).code is None
        pushing.again()


def test_a_push_that_is_killed_at_any_moment_is_finished_by_the_next(pushing: Pushing) -> None:
    seconds = pushing.run("watch").seconds
    pushing.forget()
    moments, published = random.Random("push"), 0
    for _ in range(MOMENTS):
        pushing.run("kill after", seconds=moments.uniform(0, seconds))
        published += pushing.published()
        if REPO in pushing.pushes.hub.storage.repositories:
            pushing.forget()
    assert published < MOMENTS
    pushing.run("watch")
    pushing.again()


@dataclass
class Pulling:
    """A pull that is made again and again, each time with an empty cache."""

    work: Work
    hub: Hub

    @property
    def out(self) -> Path:
        return self.work.folder / "out"

    def run(self, do: str, **more: object) -> Ended:
        return self.work.run(do, ("pull", REPO, self.out, "--json"), **more)

    def sound(self) -> bool:
        """Whether the folder is there, whole; fails when it is anything between whole and absent."""
        names = {path.name for path in self.out.iterdir()} if self.out.exists() else set()
        assert names in (set(), NAMES)
        return names != set()

    def left(self) -> set[str]:
        """What lies about beside the folder and the cache."""
        return {path.name for path in self.work.folder.iterdir()} - {"out", "hf"}

    def again(self) -> None:
        """The same command does its work with what the fault left in the cache."""
        remove(self.out)
        ended = self.run("watch")
        assert (ended.code, self.left()) == (0, set()), ended
        assert self.sound()
        self.forget()

    def forget(self) -> None:
        """Nothing again, no cache either."""
        remove(self.out)
        remove(self.work.folder / "hf")


@pytest.fixture
def pulling(pushes: Pushes, tmp_path: Path) -> Iterator[Pulling]:
    assert pushes.push().code == 0
    with Work(tmp_path / "work", pushes.environment) as work:
        made = Pulling(work, pushes.hub)
        made.forget()
        assert made.run("warm").code == 0
        made.forget()
        yield made


def test_a_pull_that_is_killed_before_any_call_that_writes_leaves_all_or_nothing(pulling: Pulling) -> None:
    calls = len(pulling.run("watch").calls)
    pulling.forget()
    for at in range(calls):
        assert pulling.run("kill", at=at).code is None
        pulling.sound()
        pulling.again()


def test_a_pull_that_is_killed_at_any_moment_leaves_all_or_nothing(pulling: Pulling) -> None:
    seconds = pulling.run("watch").seconds
    pulling.forget()
    moments = random.Random("pull")
    for _ in range(MOMENTS):
        pulling.run("kill after", seconds=moments.uniform(0, seconds))
        if pulling.sound():
            remove(pulling.out)
    pulling.again()


@pytest.mark.parametrize("do", ["fill", "forbid", "break"])
def test_a_pull_that_is_refused_a_call_says_so_and_leaves_nothing(do: str, pulling: Pulling) -> None:
    calls = len(pulling.run("watch").calls)
    pulling.forget()
    for at in range(calls):
        ended = pulling.run(do, at=at)
        if ended.code == 0:
            assert pulling.sound()
        else:
            assert ended.code == 1, ended
            assert ended.codes, ended
            assert "Traceback" not in ended.err
            pulling.sound()
            assert do == "forbid" or pulling.left() == set()
        pulling.again()
