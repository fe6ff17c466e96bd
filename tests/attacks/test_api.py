"""Attacks on `import eaglekit`: what other programs do with refusals and reports, and values of every type."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import eaglekit
from tests.cli.running import CHECKPOINTS

DRAFTER = CHECKPOINTS / "speculators-0.9-llama"
AGAIN: dict[str, Callable[[Any], Any]] = {
    "pickled": lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301 - our own
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


@pytest.mark.parametrize("how", AGAIN)
def test_a_refusal_goes_to_another_process_with_its_report(how: str) -> None:
    with pytest.raises(eaglekit.Refusal) as caught:
        eaglekit.inspect(DRAFTER, settings={"nothing": 1})
    again = AGAIN[how](caught.value)
    assert (again.report, str(again)) == (caught.value.report, str(caught.value))
    assert again.report.command == "inspect"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        pytest.param("aux_convention", ("boundary",), id="a word in a tuple"),
        pytest.param("embedding", None, id="nothing where auto is the word for it"),
        pytest.param("head", None, id="nothing for the head"),
        pytest.param("dtype", ["float32"], id="a word in a list"),
    ],
)
def test_a_value_that_is_no_word_of_an_argument_is_told(argument: str, value: Any) -> None:
    wrong: dict[str, Any] = {argument: value}
    with pytest.raises(ValueError, match=rf"^{argument} cannot be .*: it is one of "):
        eaglekit.plan(DRAFTER, **wrong)


@pytest.mark.parametrize("name", ["producer-torchspec-2026-08-kimi-mla-eagle3.1", "safeailab-llama"])
def test_a_switch_that_denies_the_fc_is_a_finding(name: str, tmp_path: Path) -> None:
    folder = shutil.copytree(CHECKPOINTS / name, tmp_path / "drafter")
    config = json.loads((folder / "config.json").read_text())
    config.setdefault("eagle_config", {})["use_aux_hidden_state"] = False
    (folder / "config.json").write_text(json.dumps(config))
    assert "fusion-contradiction" in [finding.code for finding in eaglekit.inspect(folder).errors]
