"""Two of a kind at the same time: one does its work, the other says why it did not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.cli.running import Finished, eaglekit
from tests.faults.local import SOURCE, TARGET
from tests.faults.work import digest
from tests.hub import Hub
from tests.hub.published import validated
from tests.hub.pushes import REPO, TOKEN, WORDS, Pushes, copied, publish_target


def at_once(runs: Sequence[Callable[[], Finished]]) -> list[Finished]:
    """All of them, begun together."""
    start = Barrier(len(runs))

    def one(run: Callable[[], Finished]) -> Finished:
        start.wait()
        return run()

    with ThreadPoolExecutor(len(runs)) as pool:
        return list(pool.map(one, runs))


def test_of_two_conversions_to_one_folder_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    def convert(out: Path) -> Finished:
        return eaglekit("convert", SOURCE, out, "--target", TARGET, "--json")

    assert convert(tmp_path / "alone").code == 0
    for turn in range(5):
        out = tmp_path / f"out-{turn}"
        done = at_once([lambda out=out: convert(out)] * 2)  # type: ignore[misc]
        assert sorted(one.code for one in done) == [0, 1]
        assert [one.codes for one in done if one.code] == [["destination-exists"]]
        assert digest(out) == digest(tmp_path / "alone")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated(tmp_path_factory.mktemp("published"))


def test_of_two_pushes_to_one_repository_one_wins_and_the_other_says_so(folder: Path, tmp_path: Path) -> None:
    with Hub(tmp_path / "storage") as hub:
        hub.account("publisher", TOKEN, organisations=("acme",))
        publish_target(hub)
        both = [Pushes(hub, copied(folder, tmp_path / name), tmp_path / f"home-{name}") for name in ("one", "two")]
        licences = ("apache-2.0", "mit")

        def push(pushes: Pushes, licence: str) -> Finished:
            words = ("--license", licence, *WORDS[2:], "--no-figure", "--yes", "--json")
            return eaglekit("push", pushes.folder, REPO, *words, environment=pushes.environment)

        done = at_once([lambda p=p, c=c: push(p, c) for p, c in zip(both, licences, strict=True)])  # type: ignore[misc]
        assert sorted(one.code for one in done) == [0, 1]
        winner, loser = sorted(done, key=lambda one: one.code)
        assert winner.document["result"]["outcome"] == "published"
        # Which of them: whether it looked before the other had finished, and what it found by then.
        assert loser.codes
        assert set(loser.codes) <= {"push-rival-commit", "push-would-overwrite", "card-conflict"}, loser.out
        assert both[0].count() == 2
        licence = licences[done.index(winner)]
        card = hub.storage.content.path(both[0].head().files["README.md"]).read_text()
        assert f"license: {licence}" in card
