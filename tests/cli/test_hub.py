"""Drafters and targets given by Hub id, over real HTTP against the Hub on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import CHECKPOINTS, Finished, eaglekit
from tests.hub import Client, Hub

pytestmark = pytest.mark.hub_client

TOKEN = "aVerySecretToken0123456789"  # noqa: S105 - opens nothing but the server of this test
DRAFTER, TARGET = "org/drafter", "org/target"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub") as hub:
        hub.account("tester", TOKEN, organisations=("org",))
        hub.publish(DRAFTER, CHECKPOINTS / "speculators-0.9-llama")
        hub.publish(TARGET, CHECKPOINTS / "target-llama")
        yield hub


@pytest.fixture
def client(hub: Hub, tmp_path: Path) -> Client:
    return Client(hub, tmp_path / "home")


def run(client: Client, *words: object) -> Finished:
    return eaglekit(*words, environment=client.environment)


def test_inspecting_a_hub_id_tells_its_commit_and_what_it_is(client: Client) -> None:
    done = run(client, "inspect", DRAFTER, "--json")
    assert done.code == 0, done.out
    assert done.document["facts"]["dialect"]["value"] == "speculators"
    assert len(done.document["facts"]["commit"]["value"]) == 40


def test_inspecting_a_hub_id_says_the_same_as_inspecting_the_folder(client: Client) -> None:
    there = run(client, "inspect", DRAFTER, "--json").document
    here = run(client, "inspect", CHECKPOINTS / "speculators-0.9-llama", "--json").document
    for name in ("repository", "commit"):
        del there["facts"][name]
    assert (there["facts"], there["tables"]) == (here["facts"], here["tables"])


def test_converting_a_hub_id_writes_the_folder_that_converting_its_files_writes(client: Client, tmp_path: Path) -> None:
    there = run(client, "convert", DRAFTER, tmp_path / "there", "--target", TARGET)
    here = run(client, "convert", CHECKPOINTS / "speculators-0.9-llama", tmp_path / "here",
               "--target", CHECKPOINTS / "target-llama")  # fmt: skip
    assert (there.code, here.code) == (0, 0), there.err + here.err
    assert (tmp_path / "there/model.safetensors").read_bytes() == (tmp_path / "here/model.safetensors").read_bytes()
    config = json.loads((tmp_path / "there/config.json").read_text())
    assert config["eaglekit"]["target"]["name"] == TARGET


def test_the_provenance_names_repository_and_commit_and_no_path(client: Client, tmp_path: Path) -> None:
    assert run(client, "convert", DRAFTER, tmp_path / "out", "--target", TARGET).code == 0
    text = (tmp_path / "out/provenance.json").read_text()
    source = json.loads(text)["source"]
    assert (source["kind"], source["repo"], len(source["commit"])) == ("hub", DRAFTER, 40)
    assert str(tmp_path) not in text


def test_a_saved_plan_keeps_the_commit_when_the_branch_moves(client: Client, hub: Hub, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert run(client, "convert", DRAFTER, "--target", TARGET, "-o", plan).code == 0
    hub.publish(DRAFTER, CHECKPOINTS / "producer-speculators-0.9-saved")
    done = run(client, "apply", plan, tmp_path / "out")
    assert done.code == 0, done.err
    before = CHECKPOINTS / "speculators-0.9-llama/model.safetensors"
    assert (tmp_path / "out/model.safetensors").stat().st_size <= before.stat().st_size + 4096
    assert run(client, "diff", tmp_path / "out", CHECKPOINTS / "speculators-0.9-llama").code == 0


def test_a_head_is_copied_from_a_target_on_the_hub(client: Client, tmp_path: Path) -> None:
    source = CHECKPOINTS / "safeailab-llama"
    done = run(client, "convert", source, tmp_path / "out", "--target", TARGET, "--aux-layers", "default",
               "--embedding", "copy")  # fmt: skip
    assert done.code == 0, done.err
    shown = run(client, "inspect", tmp_path / "out", "--target", CHECKPOINTS / "target-llama", "--json")
    assert "embedding-copy" in shown.codes


def test_a_repository_that_does_not_exist_is_one_clear_finding(client: Client) -> None:
    done = run(client, "inspect", "org/nothing", "--json")
    assert done.code == 1
    assert done.codes == ["hub-repository-not-found"]


def test_no_token_is_ever_printed(hub: Hub, tmp_path: Path) -> None:
    client = Client(hub, tmp_path / "home", TOKEN)
    done = [run(client, "inspect", DRAFTER), run(client, "inspect", "org/nothing"), run(client, "inspect", "x/y@z")]
    assert all(TOKEN not in finished.out + finished.err for finished in done)
