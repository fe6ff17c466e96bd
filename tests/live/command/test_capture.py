"""`capture --engine vllm` in a real vLLM: the file is the one that eaglekit's own pass makes, up to rounding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from eaglekit.target.capture_file import read_capture
from eaglekit.target.captured import Capture
from tests.cli.running import Finished, eaglekit
from tests.live.command.conftest import TRAINED
from tests.live.command.running import finding

pytestmark = pytest.mark.engine

FAMILIES = ("llama", "deepseek")
SOME = 16
NEAR = 3e-5
"""Of the largest state. Float32 resolves 6e-8; sums in another order through eight blocks made 7e-6 here, and a state
one layer off is 1e-1 away."""
# A share of the machine's memory: other engines may be running beside these.
SMALL = ("--engine", "vllm", "--engine-arg", "gpu_memory_utilization=0.3")

Environment = Mapping[str, str]


def captured(family: str, out: Path, *options: object, environment: Environment) -> Finished:
    """One run of the program over the first texts of a trained fixture."""
    done = eaglekit(
        "capture", TRAINED / family, "--prompts", TRAINED / f"prompts-{family}.jsonl", "--limit", SOME, "-o", out,
        "--json", *options, environment=environment,
    )  # fmt: skip
    assert done.code == 0, done.out
    return done


@dataclass(frozen=True)
class Both:
    """A capture by each side, of the layers that the trained drafter reads."""

    family: str
    by_engine: Path
    by_pass: Path
    done: Finished

    @property
    def captures(self) -> tuple[Capture, Capture]:
        return read_capture(self.by_engine), read_capture(self.by_pass)


@pytest.fixture(scope="module", params=FAMILIES)
def both(request: pytest.FixtureRequest, environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Both:
    family: str = request.param
    folder = tmp_path_factory.mktemp(family)
    drafter = ("--drafter", TRAINED / f"{family}-eagle3.1")
    done = captured(family, folder / "engine", *drafter, *SMALL, environment=environment)
    captured(family, folder / "pass", *drafter, environment=environment)
    return Both(family, folder / "engine", folder / "pass", done)


def apart(one: Capture, other: Capture, kind: str) -> float:
    """The largest difference of a state, as a share of the largest state."""
    a, b = (torch.cat([getattr(text, kind) for text in capture.texts]) for capture in (one, other))
    return float((a - b).abs().max() / b.abs().max())


@pytest.mark.parametrize("kind", ["states", "final"])
def test_the_states_are_those_of_our_own_pass(both: Both, kind: str) -> None:
    engine, own = both.captures
    assert engine.boundaries == own.boundaries
    assert apart(engine, own, kind) < NEAR


def test_every_next_token_is_that_of_our_own_pass(both: Both) -> None:
    engine, own = both.captures
    for one, other in zip(engine.texts, own.texts, strict=True):
        assert one.text == other.text
        assert torch.equal(one.argmax, other.argmax)


def test_the_head_says_of_the_final_states_what_the_engine_says(both: Both) -> None:
    values = {one["name"]: one for one in both.done.document["measurements"]}
    assert values["head and engine"]["value"] == 1.0
    assert values["head and engine"]["count"] >= SOME * 16


@pytest.mark.parametrize("drafter", ["eagle3", "eagle3.1"])
def test_a_drafter_is_worth_the_same_on_either_file(both: Both, drafter: str, environment: Environment) -> None:
    lengths = []
    for file in (both.by_engine, both.by_pass):
        done = eaglekit(
            "validate", TRAINED / f"{both.family}-{drafter}", "--target", TRAINED / both.family, "--capture", file,
            "--json", environment=environment,
        )  # fmt: skip
        assert done.code == 0, done.out
        measured = {one["name"]: one for one in done.document["measurements"]}
        lengths.append([measured["acceptance length"][name] for name in ("value", "low", "high", "count")])
    assert lengths[0] == lengths[1]
    assert lengths[0][0] > 1.5


def test_what_computed_it_is_kept_in_the_file(both: Both) -> None:
    engine, own = both.captures
    assert engine.target["engine"].startswith("vLLM 0.")
    assert json.loads(engine.target["engine_arguments"])["max_num_batched_tokens"] == 2048
    assert "engine" not in own.target
    assert engine.target["digest"] == own.target["digest"]


def test_texts_longer_than_a_step_and_every_layer(environment: Environment, tmp_path: Path) -> None:
    layers = ("--aux-layers", "0,1,3,8")
    captured(
        "llama", tmp_path / "engine", *layers, *SMALL, "--engine-arg", "max_num_batched_tokens=16",
        environment=environment,
    )  # fmt: skip
    captured("llama", tmp_path / "pass", *layers, environment=environment)
    engine, own = read_capture(tmp_path / "engine"), read_capture(tmp_path / "pass")
    assert max(len(one.text.tokens) for one in own.texts) > 2 * 16
    assert apart(engine, own, "states") < NEAR
    assert apart(engine, own, "final") < NEAR


def test_an_engine_over_two_devices_gives_the_same(environment: Environment, tmp_path: Path) -> None:
    layers = ("--aux-layers", "2,4,5")
    captured("llama", tmp_path / "engine", *layers, *SMALL, "--tensor-parallel-size", 2, environment=environment)
    captured("llama", tmp_path / "pass", *layers, environment=environment)
    engine, own = read_capture(tmp_path / "engine"), read_capture(tmp_path / "pass")
    assert apart(engine, own, "states") < NEAR
    assert all(torch.equal(a.argmax, b.argmax) for a, b in zip(engine.texts, own.texts, strict=True))


def test_pipeline_stages_are_refused_in_the_engines_words(environment: Environment, tmp_path: Path) -> None:
    done = eaglekit(
        "capture", TRAINED / "llama", "--prompts", TRAINED / "prompts-llama.jsonl", "--aux-layers", "2,4,5", "-o",
        tmp_path / "capture", "--json", *SMALL, "--pipeline-parallel-size", 2, environment=environment,
    )  # fmt: skip
    told = finding(done, "engine-not-loaded")
    assert "Pipeline parallelism is not supported" in told["message"]
    assert "--tensor-parallel-size" in told["hint"]
    assert not (tmp_path / "capture").exists()


def test_a_layer_that_a_family_does_not_hand_out_is_told(environment: Environment, tmp_path: Path) -> None:
    done = eaglekit(
        "capture", TRAINED / "deepseek", "--prompts", TRAINED / "prompts-deepseek.jsonl", "--aux-layers", "0,3,5", "-o",
        tmp_path / "capture", "--json", *SMALL, environment=environment,
    )  # fmt: skip
    told = finding(done, "engine-broke-off")
    assert told["place"].startswith("vllm/model_executor/models/deepseek_v2.py")
    assert "layer 0" in told["hint"]
    assert list(tmp_path.iterdir()) == []


def test_the_engine_may_answer(environment: Environment, tmp_path: Path) -> None:
    layers = ("--aux-layers", "2,4,5", "--generate", 24)
    done = captured("llama", tmp_path / "engine", *layers, *SMALL, environment=environment)
    captured("llama", tmp_path / "pass", *layers, environment=environment)
    engine, own = read_capture(tmp_path / "engine"), read_capture(tmp_path / "pass")
    assert [one.text for one in engine.texts] == [one.text for one in own.texts]
    values = {one["name"]: one["value"] for one in done.document["measurements"]}
    assert values["agreement"] == 1.0
