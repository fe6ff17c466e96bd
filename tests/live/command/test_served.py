"""Trained drafters in a real vLLM, started by `validate --engine vllm`: alike where right, located where not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from eaglekit.validate.protocol import read_protocol
from tests.cli.running import Finished, eaglekit
from tests.live.command.conftest import TRAINED
from tests.live.command.running import finding, recorded, served, validate

pytestmark = pytest.mark.engine

DRAFTERS = ("llama-eagle3", "llama-eagle3.1", "deepseek-eagle3", "deepseek-eagle3.1")
SOME = 12
"""Texts that are enough for a drafter that is wrong."""

Environment = Mapping[str, str]


@pytest.fixture(scope="module", params=DRAFTERS)
def right(request: pytest.FixtureRequest, environment: Environment) -> tuple[str, Finished]:
    """One drafter with its own target."""
    drafter: str = request.param
    return drafter, validate(drafter, drafter.partition("-")[0], environment=environment)


def test_a_right_drafter_passes_in_the_engine(right: tuple[str, Finished]) -> None:
    _, done = right
    assert done.code == 0, done.out
    assert done.document["result"]["stages"]["served"] == "passed"


def test_every_draft_of_the_engine_is_the_references(right: tuple[str, Finished]) -> None:
    _, done = right
    (same,) = [one for one in done.document["measurements"] if one["name"] == "vllm: rounds like the reference's"]
    assert same["value"] == 1.0
    assert same["count"] > 250


def test_the_counters_are_those_that_another_script_recorded(right: tuple[str, Finished]) -> None:
    drafter, done = right
    assert served(done, "vLLM") == recorded(drafter)


def test_the_counters_are_those_that_the_reference_predicts(right: tuple[str, Finished]) -> None:
    _, done = right
    assert served(done, "reference") == served(done, "vLLM")


def test_the_report_is_bound_to_the_engine_and_can_be_verified(right: tuple[str, Finished]) -> None:
    _, done = right
    result = done.document["result"]
    assert result["engine"]["name"] == "vllm"
    assert result["engine"]["arguments"]["speculative_config"] == {"method": "eagle3", "num_speculative_tokens": 3}
    assert str(TRAINED) not in json.dumps(result)
    assert read_protocol(done.document).settings["draft_tokens"] == 3


def test_the_rotation_of_mla_on_a_cpu_is_told(right: tuple[str, Finished]) -> None:
    drafter, done = right
    told = [one for one in done.document["findings"] if one["code"] == "served-plain-rotation"]
    assert len(told) == (drafter.startswith("deepseek") and done.document["result"]["engine"]["device"] == "cpu")


def test_layers_that_only_the_reference_is_told_are_named(environment: Environment) -> None:
    done = validate("llama-eagle3.1", "llama", "--aux-layers", "1,3,4", environment=environment, texts=SOME)
    assert done.code == 1
    layers, drafts = finding(done, "served-layers-differ"), finding(done, "served-drafts-differ")
    assert (layers["got"], layers["expected"]) == ("[2, 4, 5]", "[1, 3, 4]")
    assert drafts["place"] == "text counting-00, position 14, draft 1"
    assert drafts["got"].startswith("token 17: logit 9.54")
    assert drafts["expected"].startswith("token 15: logit 8.08")


def test_another_feedback_is_seen_from_the_second_draft_on(environment: Environment) -> None:
    done = validate("llama-eagle3.1", "llama", "--set", "norm_output=false", environment=environment, texts=SOME)
    drafts = finding(done, "served-drafts-differ")
    assert drafts["place"].endswith("draft 2")
    assert "every first draft is the same" in drafts["hint"]


def test_a_file_that_this_engine_misreads_is_caught_by_its_drafts(environment: Environment, tmp_path: Path) -> None:
    # Nested ids are one less than boundaries, and this runner takes them for boundaries.
    made = eaglekit("convert", TRAINED / "llama-eagle3.1", tmp_path / "made", "--to", "torchspec", "--target",
                    TRAINED / "llama")  # fmt: skip
    assert made.code == 0, made.err
    done = validate(tmp_path / "made", "llama", environment=environment, texts=SOME)
    assert finding(done, "served-layers-differ")["got"] == "[1, 3, 4]"
    assert finding(done, "served-drafts-differ")["severity"] == "error"


def test_a_file_that_the_engine_does_not_load_is_told_in_its_words(environment: Environment, tmp_path: Path) -> None:
    shutil.copytree(TRAINED / "llama-eagle3.1", tmp_path / "made")
    config = json.loads((tmp_path / "made" / "config.json").read_text(encoding="utf-8"))
    # The reference reads the flag where it is nested as well; vLLM only at top level.
    config["eagle_config"] = {**config.get("eagle_config", {}), "fc_norm": config.pop("fc_norm")}
    (tmp_path / "made" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    done = validate(tmp_path / "made", "llama", environment=environment, texts=SOME)
    told = finding(done, "served-not-loaded")
    assert "fc_norm" in told["message"]
    assert told["place"].startswith("vllm/")
    assert str(tmp_path) not in json.dumps(done.document["findings"])


def test_answers_that_differ_from_the_given_responses_are_told(environment: Environment, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (TRAINED / "prompts-llama.jsonl").read_text(encoding="utf-8").splitlines()[:4]]
    rows[1]["response_token_ids"][3] = 250
    (tmp_path / "changed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = eaglekit(
        "validate", TRAINED / "llama-eagle3.1", "--target", TRAINED / "llama", "--prompts", tmp_path / "changed.jsonl",
        "--engine", "vllm", "--json", environment=environment,
    )  # fmt: skip
    told = finding(done, "served-answers-differ")
    assert (told["severity"], told["expected"]) == ("note", "token 250")
    assert served(done, "reference") == served(done, "vLLM")


def test_the_engine_may_answer_at_length(environment: Environment) -> None:
    done = validate("llama-eagle3.1", "llama", "--generate", 10, environment=environment, texts=4)
    assert done.code == 0, done.out
    assert served(done, "reference") == served(done, "vLLM")


def test_an_engine_over_two_processes_is_counted(environment: Environment) -> None:
    done = validate("llama-eagle3.1", "llama", "--tensor-parallel-size", 2, environment=environment, texts=SOME)
    assert done.code == 0, done.out
    assert "counted, not seen" in done.document["facts"]["drafts in the engine"]["value"]
    assert served(done, "vLLM")[:4] == served(done, "reference")[:2] + served(done, "vLLM")[2:4]
