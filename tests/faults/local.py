"""`trial`: what convert, apply, capture and others write, run once in peace, to be run again with faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.running import eaglekit
from tests.faults.work import Work, digest, remove

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SOURCE, TARGET = FIXTURES / "checkpoints" / "speculators-0.9-llama", FIXTURES / "checkpoints" / "target-llama"
TRAINED = FIXTURES / "trained"


@dataclass(frozen=True)
class Writing:
    """A command that writes one thing."""

    words: Callable[[Path], Sequence[object]]
    """What follows `eaglekit`, for a destination."""
    sources: tuple[Path, ...]
    prepare: Callable[[Path], None] = lambda folder: None
    """What the command needs beside its destination."""


def _plan(folder: Path) -> None:
    done = eaglekit("convert", SOURCE, "--target", TARGET, "-o", folder / "plan.json", "--json")
    assert done.code == 0, done.out


WRITINGS = {
    "convert": Writing(lambda out: ("convert", SOURCE, out, "--target", TARGET), (SOURCE, TARGET)),
    "convert in shards": Writing(
        lambda out: ("convert", SOURCE, out, "--target", TARGET, "--max-shard-size", "60KB", "--dtype", "float32"),
        (SOURCE, TARGET),
    ),
    "convert to gguf": Writing(
        lambda out: ("convert", TRAINED / "llama-eagle3", out, "--to", "gguf"), (TRAINED / "llama-eagle3",)
    ),
    "save a plan": Writing(
        lambda out: ("convert", SOURCE, "--target", TARGET, "--dry-run", "-o", out), (SOURCE, TARGET)
    ),
    "write a report": Writing(lambda out: ("validate", SOURCE, "--target", TARGET, "-o", out), (SOURCE, TARGET)),
    "apply": Writing(lambda out: ("apply", out.parent / "plan.json", out), (SOURCE, TARGET), _plan),
    "capture": Writing(
        lambda out: ("capture", TRAINED / "llama", "--prompts", TRAINED / "prompts-llama.jsonl", "--limit", "1",
                     "--aux-layers", "2,4,6", "-o", out),
        (TRAINED / "llama",),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """A command that ran well once, and what it made then."""

    work: Work
    words: tuple[object, ...]
    destination: Path
    whole: str
    sources: dict[Path, str]
    beside: frozenset[str]
    """What lies in the folder when nothing is left over."""
    calls: int
    seconds: float

    def sound(self) -> bool:
        """Whether the destination is whole; fails when it is anything between whole and absent."""
        found = digest(self.destination)
        assert found in {self.whole, "absent"}
        assert {source: digest(source) for source in self.sources} == self.sources
        return found == self.whole

    def left(self) -> set[str]:
        """What lies about beside the destination."""
        return {path.name for path in self.destination.parent.iterdir()} - self.beside - {self.destination.name}

    def again(self) -> None:
        """Nothing that happened before keeps the command from doing its work, and nothing of it stays."""
        remove(self.destination)
        ended = self.work.run("watch", self.words)
        assert (ended.code, digest(self.destination), self.left()) == (0, self.whole, set())
        remove(self.destination)


@contextmanager
def trial(writing: Writing, tmp_path: Path) -> Iterator[Trial]:
    """A command, run once in peace."""
    folder = tmp_path / "work"
    with Work(folder) as work:
        writing.prepare(folder)
        beside = frozenset(path.name for path in folder.iterdir())
        destination, sources = folder / "out", {source: digest(source) for source in writing.sources}
        words = (*writing.words(destination), "--json")
        assert work.run("warm", words).code == 0
        remove(destination)
        peace = work.run("watch", words)
        assert (peace.code, peace.calls != ()) == (0, True)
        made = digest(destination)
        remove(destination)
        yield Trial(work, words, destination, made, sources, beside, len(peace.calls), peace.seconds)
