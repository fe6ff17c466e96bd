"""`bench` end to end: two real servers, started and asked, and what they count. The ratio is not the point here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.running import Finished, eaglekit
from tests.live.command.conftest import TRAINED

pytestmark = pytest.mark.engine

CATEGORIES = {"counting", "brackets", "names", "story", "sorting"}
SMALL = ("enforce_eager=true", "dtype=float32", "max_model_len=256")


@pytest.fixture(scope="module")
def benched(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    page = tmp_path_factory.mktemp("bench") / "bench.html"
    arguments = [word for argument in SMALL for word in ("--engine-arg", argument)]
    done = eaglekit(
        "bench", TRAINED / "llama-eagle3.1", "--target", TRAINED / "llama",
        "--prompts", TRAINED / "prompts-llama.jsonl", "--limit", 2, "--concurrency", "1,2", "--repeats", 2,
        "--output-tokens", 64, *arguments, "--html", page, "--json", environment=environment,
    )  # fmt: skip
    assert done.code == 0, done.out
    return done, page


def test_both_servers_answer_every_request(benched: tuple[Finished, Path]) -> None:
    runs = benched[0].document["tables"]["runs"]
    assert {(run["server"], run["round"], run["concurrency"], run["category"]) for run in runs} == {
        (server, number, users, category)
        for server in ("speculating", "plain") for number in (1, 2) for users in (1, 2) for category in CATEGORIES
    }  # fmt: skip
    assert {run["requests"] for run in runs} == {2}


def test_greedy_answers_are_the_same_with_and_without_drafts(benched: tuple[Finished, Path]) -> None:
    assert benched[0].document["facts"]["answers alike"]["value"] == "40 of 40"


def test_what_is_counted_is_the_same_in_every_round_and_at_every_concurrency(benched: tuple[Finished, Path]) -> None:
    runs = [run for run in benched[0].document["tables"]["runs"] if run["server"] == "speculating"]
    counted = {(run["category"], run["drafts"], run["accepted"], run["output_tokens"]) for run in runs}
    assert len(counted) == len(CATEGORIES)
    assert all(drafts > 0 for _, drafts, _, _ in counted)


def test_a_server_without_a_drafter_counts_no_drafts(benched: tuple[Finished, Path]) -> None:
    runs = [run for run in benched[0].document["tables"]["runs"] if run["server"] == "plain"]
    assert {run["drafts"] for run in runs} == {None}


def test_there_is_a_speed_up_with_its_spread_at_each_concurrency(benched: tuple[Finished, Path]) -> None:
    done, page = benched
    told = {one["name"]: one for one in done.document["measurements"]}
    for users in (1, 2):
        one = told[f"speed-up per user at concurrency {users}"]
        assert 0 < one["low"] <= one["high"]
        assert told[f"acceptance length at concurrency {users}"]["value"] > 2
    assert "Speed-up per user" in page.read_text(encoding="utf-8")
