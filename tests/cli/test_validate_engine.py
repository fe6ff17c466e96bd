"""`validate --engine` without an engine: what is refused before any work, and the one line when vLLM is not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.running import CHECKPOINTS, eaglekit
from tests.serving import stand_in

TRAINED = Path(__file__).resolve().parents[2] / "fixtures" / "trained"
VALIDATE = ("validate", TRAINED / "llama-eagle3.1", "--target", TRAINED / "llama")
PROMPTS = ("--prompts", TRAINED / "prompts-llama.jsonl", "--limit", 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(["--engine", "vllm"], "--engine needs --prompts", id="no prompts"),
        pytest.param(["--engine-python", "p", *PROMPTS], "--engine-python needs --engine", id="python alone"),
        pytest.param(["--endpoint", "http://h", *PROMPTS], "--endpoint needs --engine", id="endpoint alone"),
        pytest.param(["--engine-arg", "a=1", *PROMPTS], "--engine-arg needs --engine", id="argument alone"),
        pytest.param(
            ["--engine", "vllm", "--endpoint", "http://h", "--tensor-parallel-size", 2, *PROMPTS],
            "--tensor-parallel-size is about an engine that is started here", id="server and parallel",
        ),
        pytest.param(["--engine", "other", *PROMPTS], "'other' is not", id="another engine"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_a_usage_error(options: list[object], words: str) -> None:
    done = eaglekit(*VALIDATE, *options)
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        pytest.param("model=other", "stated by eaglekit itself", id="the target"),
        pytest.param("--speculative-config={}", "stated by eaglekit itself", id="the drafter, as an option"),
        pytest.param("seed", "no NAME=VALUE", id="no value"),
        pytest.param("a b=1", "no NAME=VALUE", id="no name"),
    ],
)
def test_an_argument_that_cannot_be_given_is_refused(argument: str, words: str) -> None:
    done = eaglekit(*VALIDATE, *PROMPTS, "--engine", "vllm", f"--engine-arg={argument}", "--json")
    assert (done.code, done.codes) == (1, ["engine-argument"])
    assert words in done.document["findings"][0]["message"]
    assert ("leave it out" in done.document["findings"][0]["hint"]) == ("stated" in words)


def test_without_vllm_there_is_one_clear_line() -> None:
    done = eaglekit(*VALIDATE, *PROMPTS, "--engine", "vllm", "--engine-python", "/nowhere/python")
    assert done.code == 1
    first = next(line for line in done.err.splitlines() if line)
    assert first == "error  engine-missing  /nowhere/python cannot be run as Python: No such file or directory"


def test_a_server_that_is_not_there_is_told_before_any_work() -> None:
    done = eaglekit(*VALIDATE, *PROMPTS, "--engine", "vllm", "--endpoint", "http://127.0.0.1:1", "--json")
    assert (done.code, done.codes) == (1, ["endpoint-silent"])


def test_an_engine_that_does_not_load_the_drafter_is_an_error_of_its_stage(tmp_path: Path) -> None:
    folder = stand_in.write(tmp_path)
    environment = {"PYTHONPATH": f"{folder}:{':'.join(sys.path)}", "STAND_IN": "refuses", "OMP_NUM_THREADS": "1"}
    done = eaglekit(
        *VALIDATE, *PROMPTS, "--engine", "vllm", "--engine-python", sys.executable, "--json", environment=environment
    )
    assert done.code == 1
    (finding,) = [one for one in done.document["findings"] if one["severity"] == "error"]
    assert (finding["code"], finding["place"]) == ("served-not-loaded", "vllm/models.py:3, load")
    assert "no module or parameter named 'fc_norm' in llama-eagle3.1" in finding["message"]
    assert done.document["result"]["stages"]["served"] == "failed"


def test_an_engine_that_answers_otherwise_is_told_and_compared_on_its_own_answers(tmp_path: Path) -> None:
    folder = stand_in.write(tmp_path)
    environment = {"PYTHONPATH": f"{folder}:{':'.join(sys.path)}", "OMP_NUM_THREADS": "1"}
    done = eaglekit(
        *VALIDATE, *PROMPTS, "--engine", "vllm", "--engine-python", sys.executable, "--draft-tokens", 2, "--json",
        environment=environment,
    )  # fmt: skip
    codes = {one["code"]: one for one in done.document["findings"]}
    # The stand-in answers with one token over and over, which the real target is sure not to say.
    assert codes["served-answers-differ"]["severity"] == "warning"
    assert codes["served-counters-differ"]["severity"] == "error"
    assert {row["counter"] for row in done.document["tables"]["served"]} >= {"drafts", "acceptance length"}
    assert done.document["result"]["engine"]["version"] == "9.8.7"


def test_where_the_structure_has_errors_no_engine_is_started(tmp_path: Path) -> None:
    folder = stand_in.write(tmp_path)
    environment = {"PYTHONPATH": f"{folder}:{':'.join(sys.path)}", "STAND_IN": "silent"}
    broken = CHECKPOINTS / "producer-speculators-0.9-converted-lost-norms"
    done = eaglekit(
        "validate", broken, "--target", CHECKPOINTS / "target-llama", "--aux-layers", "default", *PROMPTS, "--engine",
        "vllm", "--engine-python", sys.executable, "--json", environment=environment,
    )  # fmt: skip
    assert done.code == 1
    assert done.document["result"]["stages"]["served"] == "not run"
