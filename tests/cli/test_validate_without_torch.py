"""`eaglekit validate` where nothing is installed that computes: the structure is checked, and the rest is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from eaglekit.report.schemas import problems
from tests.cli.running import CHECKPOINTS, Finished

DRAFTER, TARGET = CHECKPOINTS / "speculators-0.9-llama", CHECKPOINTS / "target-llama"
PROGRAM = """
import sys
for name in ("torch", "transformers", "jaxtyping"):
    sys.modules[name] = None  # as if it were not installed
from eaglekit.cli.main import main
sys.argv = ["eaglekit", *sys.argv[1:]]
main()
"""


def validate(*words: object) -> Finished:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "validate", *map(str, words)],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)


def test_the_structure_is_checked_and_the_rest_is_said_to_be_left_out() -> None:
    done = validate(DRAFTER, "--target", TARGET, "--json")
    stages = {row["stage"]: (row["outcome"], row["about"]) for row in done.document["tables"]["stages"]}
    assert (done.code, done.codes) == (0, ["embedding-copy", "extras-absent"])
    assert stages["structure"][0] == "passed"
    assert stages["numbers"][0] == stages["behaviour"][0] == "not run"
    assert "pip install 'eaglekit[validate]'" in stages["numbers"][1]


def test_people_are_told_what_to_install() -> None:
    done = validate(DRAFTER)
    assert done.code == 0
    assert "only the structure was checked" in done.out
    assert "pip install 'eaglekit[validate]'" in done.out


def test_the_last_words_say_that_nothing_was_measured() -> None:
    assert validate(DRAFTER).err.splitlines()[-1] == "validate found no error; no acceptance length was measured"


def test_what_is_wrong_with_the_structure_is_exit_code_1_here_too() -> None:
    done = validate(CHECKPOINTS / "safeailab-llama", "--target", TARGET, "--json")
    assert done.code == 1
    assert "aux-layers-absent" in done.codes


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--target", TARGET, "--prompts", "p.jsonl"], id="prompts"),
        pytest.param(["--capture", "c.safetensors"], id="a capture"),
        pytest.param(["--baseline", DRAFTER], id="a baseline"),
        pytest.param(["--min-acceptance-length", "2"], id="a gate"),
        pytest.param(["--gpu"], id="a gpu"),
    ],
)
def test_what_asks_for_computing_is_refused_with_what_to_install(words: list[object]) -> None:
    done = validate(DRAFTER, *words, "--json")
    document = json.loads(done.out)
    assert problems(document, "report") == []
    assert (done.code, [finding["code"] for finding in document["findings"]]) == (1, ["extras-missing"])
    assert document["findings"][0]["hint"] == "pip install 'eaglekit[validate]'"
