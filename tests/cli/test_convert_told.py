"""What `eaglekit convert` tells beside what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import CHECKPOINTS, Finished, eaglekit

TRAINED = CHECKPOINTS.parent / "trained"


def planned(name: str) -> Finished:
    words = ("convert", TRAINED / "llama-eagle3.1", "--target", TRAINED / "llama", "--dry-run", "--json")
    return eaglekit(*words, "--set", f"target_name={name}")


@pytest.mark.parametrize("name", ["/data/models/llama", "./llama", "C:\\models\\llama"])
def test_a_place_of_this_machine_is_told_before_anything_is_validated(name: str) -> None:
    [finding] = [each for each in planned(name).document["findings"] if each["code"] == "config-local-path"]
    assert finding["message"] == "config.json names a place of this machine: eaglekit.target.name"
    assert (finding["severity"], finding["got"]) == ("note", name)
    assert "--set target_name=ORG/NAME" in finding["hint"]


def test_two_keys_that_name_one_place_are_one_note() -> None:
    words = ("convert", CHECKPOINTS / "speculators-peagle", "--to", "speculators", "--dry-run", "--json")
    document = eaglekit(*words, "--set", "target_name=/data/models/llama").document
    [message] = [each["message"] for each in document["findings"] if each["code"] == "config-local-path"]
    assert message.endswith(": eaglekit.target.name, speculators_config.verifier.name_or_path")


def test_a_hub_id_is_no_place_of_this_machine() -> None:
    assert "config-local-path" not in planned("org/llama").codes


def test_on_a_narrow_terminal_the_last_lines_are_broken_between_words(tmp_path: Path) -> None:
    words = ("convert", TRAINED / "llama-eagle3.1", tmp_path / "out", "--target", TRAINED / "llama")
    closing = eaglekit(*words, environment={"COLUMNS": "80"}).err.partition("serve with")[2]
    assert closing
    assert max(map(len, closing.splitlines())) <= 80
