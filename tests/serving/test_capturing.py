"""`capture --engine` without an engine: states that a stand-in hands out, right ones and spoiled ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from eaglekit.checkpoint import LocalFolder
from eaglekit.report import Finding, Refusal
from eaglekit.serving.capturing import capture_with, job_of
from eaglekit.serving.environment import find_engine
from eaglekit.serving.extraction import Extraction
from eaglekit.serving.job import Prompt
from eaglekit.serving.wish import Wish
from eaglekit.target.capture_file import read_capture
from eaglekit.target.captured import Capture
from eaglekit.target.capturing import Ready, capture, prepare
from eaglekit.target.settings import Settings
from tests.cli.running import PROGRAM, eaglekit
from tests.serving import replaying

TRAINED = Path(__file__).resolve().parents[2] / "fixtures" / "trained"
PROMPTS = TRAINED / "prompts-llama.jsonl"
LAYERS, LAST = (2, 4, 5), 8


@pytest.fixture(scope="module")
def ready() -> Ready:
    return prepare(LocalFolder(TRAINED / "llama"), PROMPTS, LAYERS, Settings(), limit=3)


@pytest.fixture(scope="module")
def computed(ready: Ready) -> Capture:
    """What eaglekit's own pass gives, with the state behind the last block."""
    return capture(replace(ready, boundaries=(*LAYERS, LAST)))


@pytest.fixture
def variables(computed: Capture, tmp_path: Path) -> Mapping[str, str]:
    """What makes a Python find the stand-in."""
    texts = [(one.text.tokens, one.states, one.argmax) for one in computed.texts]
    folder = tmp_path / "engine"
    return {**replaying.write(folder, texts), "PYTHONPATH": f"{folder}:{':'.join(sys.path)}", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def wish(variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Wish:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return Wish(find_engine(sys.executable))


def refused(ready: Ready, wish: Wish, folder: Path) -> Finding:
    """The one finding of a capture that must not be; it leaves nothing."""
    (folder / "out").mkdir()
    with pytest.raises(Refusal) as caught:
        capture_with(ready, wish, folder / "out" / "capture")
    assert list((folder / "out").iterdir()) == []
    (finding,) = caught.value.findings
    return finding


def test_the_file_is_the_one_that_a_pass_makes_of_these_states(
    ready: Ready, computed: Capture, wish: Wish, tmp_path: Path
) -> None:
    made = capture_with(ready, wish, tmp_path / "capture")
    read = read_capture(tmp_path / "capture")
    assert read.boundaries == LAYERS
    assert (made.agreeing, made.responses) == (43, 43)
    for one, other in zip(read.texts, computed.texts, strict=True):
        assert one.text == other.text
        assert torch.equal(one.states, other.states[:, :3])
        assert torch.equal(one.argmax, other.argmax)
        assert torch.equal(one.final, other.final)


def test_the_file_names_engine_arguments_and_sources_and_no_folder(ready: Ready, wish: Wish, tmp_path: Path) -> None:
    capture_with(ready, wish, tmp_path / "capture")
    target = read_capture(tmp_path / "capture").target
    assert target["engine"] == "vLLM 9.8.7"
    assert json.loads(target["engine_arguments"])["speculative_config"]["method"] == "extract_hidden_states"
    assert target["digest"] == ready.model.digest
    assert "final norm" in target["final"]
    assert "log-probabilities" in target["argmax"]
    assert str(tmp_path).encode() not in (tmp_path / "capture").read_bytes()


def test_the_layer_behind_the_last_block_is_asked_for_once(ready: Ready, wish: Wish) -> None:
    assert job_of(ready, wish).boundaries == (2, 4, 5, LAST)
    assert job_of(replace(ready, boundaries=(0, LAST)), wish).boundaries == (0, LAST)


def test_answers_of_the_engine_become_part_of_the_texts(
    ready: Ready, computed: Capture, wish: Wish, tmp_path: Path
) -> None:
    capture_with(replace(ready, new_tokens=64), wish, tmp_path / "capture")
    read = read_capture(tmp_path / "capture")
    assert [one.text for one in read.texts] == [one.text for one in computed.texts]


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        pytest.param("does not load", "engine-not-loaded", "fc_norm", id="does not load"),
        pytest.param("breaks off", "engine-broke-off", "over text counting-01: RuntimeError: shapes", id="breaks off"),
        pytest.param("a layer too few", "engine-states-unusable", "'counting-00' have another shape", id="too few"),
        pytest.param("a layer off", "engine-states-unusable", "head does not say what vLLM says", id="a layer off"),
        pytest.param("other tokens", "engine-states-unusable", "of other tokens", id="other tokens"),
        pytest.param("a token outside", "engine-states-unusable", "a next token is outside", id="a token outside"),
        pytest.param("float16", "engine-states-unusable", "a dtype that captures are not kept in", id="float16"),
    ],
)
def test_what_is_no_capture_is_refused_and_leaves_nothing(
    how: str, code: str, words: str, ready: Ready, wish: Wish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAY", how)
    finding = refused(ready, wish, tmp_path)
    assert finding.code == code
    assert words in finding.message
    assert finding.hint
    assert str(tmp_path) not in str(finding)


def test_states_that_are_not_finite_are_named_by_text(
    ready: Ready, wish: Wish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAY", "infinite")
    with pytest.raises(Refusal) as caught:
        capture_with(ready, wish, tmp_path / "capture")
    assert {finding.code for finding in caught.value.findings} == {"capture-not-finite"}
    assert "counting-02" in {finding.place for finding in caught.value.findings}
    assert not (tmp_path / "capture").exists()


def test_a_job_cannot_be_told_what_it_states_itself() -> None:
    with pytest.raises(ValueError, match="kv_transfer_config"):
        Extraction("t", (1,), (Prompt("a", (1,), 0),), (), 128, arguments={"kv_transfer_config": {}})


CAPTURE = ("capture", TRAINED / "llama", "--prompts", PROMPTS, "--limit", 3, "--aux-layers", "2,4,5")
ENGINE = ("--engine", "vllm", "--engine-python", sys.executable)


def test_the_command_writes_the_file_and_tells_where_each_part_is_from(
    variables: Mapping[str, str], tmp_path: Path
) -> None:
    done = eaglekit(*CAPTURE, *ENGINE, "-o", tmp_path / "capture", "--json", environment=variables)
    assert done.code == 0, done.out
    document = done.document
    assert document["facts"]["run by"]["value"] == "vLLM 9.8.7"
    assert document["facts"]["layers asked of the engine"]["value"] == [2, 4, 5, 8]
    assert document["facts"]["next tokens"]["value"] == "the engine's log-probabilities"
    values = {one["name"]: one["value"] for one in document["measurements"]}
    assert (values["agreement"], values["head and engine"]) == (1.0, 1.0)
    assert values["file"] == (tmp_path / "capture").stat().st_size == document["result"]["size_bytes"]


def test_a_dry_run_starts_nothing_and_says_what_the_disk_must_hold(
    ready: Ready, variables: Mapping[str, str], tmp_path: Path
) -> None:
    done = eaglekit(
        *CAPTURE, *ENGINE, "--dry-run", "-o", tmp_path / "capture", "--json",
        environment={**variables, "REPLAY": "does not load"},
    )  # fmt: skip
    assert done.code == 0, done.out
    values = {one["name"]: one["value"] for one in done.document["measurements"]}
    tokens = done.document["facts"]["tokens"]["value"]
    assert values["file at most"] == tokens * (16 + 4 * 128 * 4)
    longest = sum(sorted(len(text.tokens) for text in ready.asked)[-2:])
    assert values["temporary files at most"] == longest * 4 * 128 * 4
    assert not (tmp_path / "capture").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(["--tensor-parallel-size", 2], "--tensor-parallel-size needs --engine", id="no engine"),
        pytest.param([*ENGINE, "--gpu"], "--gpu is about a target that is run here", id="gpu"),
        pytest.param([*ENGINE, "--memory-limit", "1GB"], "--memory-limit is about a target", id="memory"),
        pytest.param([*ENGINE, "--activations", "w4a4"], "--activations is about a target", id="activations"),
    ],
)
def test_options_that_do_not_go_together_are_a_usage_error(options: list[object], words: str, tmp_path: Path) -> None:
    done = eaglekit(*CAPTURE, *options, "-o", tmp_path / "capture")
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(["--engine", "vllm", "--engine-python", "/nowhere/python"], "engine-missing", id="no engine"),
        pytest.param([*ENGINE, "--engine-arg", "kv_transfer_config={}"], "engine-argument", id="ours"),
        pytest.param([*ENGINE, "--aux-layers", "2,4,9"], "aux-layers-range", id="a layer outside"),
    ],
)
def test_what_cannot_be_is_refused_before_an_engine_starts(
    options: list[object], code: str, variables: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**variables, "REPLAY": "does not load"}
    done = eaglekit(*CAPTURE, *options, "-o", tmp_path / "capture", "--json", environment=environment)
    assert (done.code, done.codes) == (1, [code])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_an_end_in_the_middle_leaves_no_states(
    how: signal.Signals, variables: Mapping[str, str], tmp_path: Path
) -> None:
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    out.mkdir()
    process = subprocess.Popen(
        [*PROGRAM, *map(str, (*CAPTURE, *ENGINE, "-o", out / "capture"))],
        env={**os.environ, **variables, "REPLAY": "waits", "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: any(out.iterdir()))
    process.send_signal(how)
    process.wait(60)
    wait_for(lambda: not any(temporary.iterdir()))
    # A file without its name is all that somebody who is killed cannot take away.
    assert not any(out.iterdir()) if how is signal.SIGINT else not (out / "capture").exists()


def wait_for(condition: Callable[[], bool], *, timeout_s: float = 90) -> None:
    """Return as soon as something is so."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)
