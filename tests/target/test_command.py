"""`eaglekit capture`, run as a user runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
import transformers

from eaglekit.target.capture_file import read_capture
from eaglekit.target.streaming import run
from tests.cli.running import CHECKPOINTS, eaglekit
from tests.target.models import fixture, make, opened

ENVIRONMENT = {"OMP_NUM_THREADS": "1"}


def prompts(folder: Path) -> Path:
    """Two texts of token ids."""
    rows = [
        {"id": "first", "prompt_token_ids": [5, 6, 7], "response_token_ids": [8, 9]},
        {"id": "second", "category": "math", "prompt_token_ids": [15, 16], "response_token_ids": [17]},
    ]
    file = folder / "prompts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_it_writes_what_a_pass_computes(tmp_path: Path) -> None:
    target, out = fixture("llmcompressor-llama-nvfp4", tmp_path / "target"), tmp_path / "capture"
    done = eaglekit(
        "capture", target, "--prompts", prompts(tmp_path), "--aux-layers", "0,1,3", "-o", out, "--json",
        environment=ENVIRONMENT,
    )  # fmt: skip
    assert (done.code, done.codes) == (0, [])
    written = read_capture(out)
    texts = [captured.text for captured in written.texts]
    expected = run(opened(target), texts, boundaries=[0, 1, 3])
    assert [(text.identity, text.category, text.prompt_length) for text in texts] == [
        ("first", "", 3), ("second", "math", 2),
    ]  # fmt: skip
    assert all(torch.equal(a.states, b.states) for a, b in zip(expected.texts, written.texts, strict=True))
    assert done.document["facts"]["target digest"]["value"] == written.target["digest"]
    assert done.document["facts"]["formats"]["value"] == {"nvfp4-compressed-tensors": 21, "plain": 6}
    assert done.document["facts"]["arithmetic"]["value"] == "float32, w4a16, cpu"
    assert done.document["result"]["size_bytes"] == out.stat().st_size
    assert str(tmp_path).encode() not in out.read_bytes()


def test_generated_responses_agree_with_the_target(tmp_path: Path) -> None:
    make(tmp_path / "target")
    done = eaglekit(
        "capture", tmp_path / "target", "--prompts", prompts(tmp_path), "--generate", 6, "--aux-layers", "1,2,3",
        "-o", tmp_path / "capture", "--json", environment=ENVIRONMENT,
    )  # fmt: skip
    (agreement,) = [m for m in done.document["measurements"] if m["name"] == "agreement"]
    assert (agreement["value"], agreement["count"]) == (1.0, 12)
    assert done.document["facts"]["arithmetic"]["value"] == "float32, cpu", "nothing of this target is quantised"


def test_the_layers_of_a_drafter_are_captured(tmp_path: Path) -> None:
    drafter, target = CHECKPOINTS / "speculators-0.9-llama", tmp_path / "target"
    stated = json.loads((CHECKPOINTS / "target-llama" / "config.json").read_text())
    config = transformers.LlamaConfig(**{**stated, "num_attention_heads": 4})
    transformers.LlamaForCausalLM(config).save_pretrained(target)
    done = eaglekit(
        "capture", target, "--prompts", prompts(tmp_path), "--drafter", drafter, "--dry-run", "--json",
        environment=ENVIRONMENT,
    )  # fmt: skip
    shown = eaglekit("inspect", drafter, "--target", target, "--json").document
    assert done.document["facts"]["boundaries"]["value"] == shown["facts"]["aux_layers"]["value"] == [2, 4, 5]


def test_a_dry_run_writes_nothing_and_says_what_it_would_take(tmp_path: Path) -> None:
    make(tmp_path / "target", "qwen3-moe")
    done = eaglekit(
        "capture", tmp_path / "target", "--prompts", prompts(tmp_path), "--aux-layers", "1,2", "-o",
        tmp_path / "capture", "--dry-run", "--json", "--limit", 1, environment=ENVIRONMENT,
    )  # fmt: skip
    assert done.code == 0
    assert not (tmp_path / "capture").exists()
    assert {m["name"] for m in done.document["measurements"]} == {"bytes to read", "memory planned"}
    assert done.document["facts"]["tokens"]["value"] == 5


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["--gpu"], "device-missing", id="no GPU"),
        pytest.param(["--memory-limit", "plenty"], "memory-limit-unclear", id="a limit that is no size"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_run(words: list[str], code: str, tmp_path: Path) -> None:
    make(tmp_path / "target")
    environment = {**ENVIRONMENT, "CUDA_VISIBLE_DEVICES": ""}
    done = eaglekit(
        "capture", tmp_path / "target", "--prompts", prompts(tmp_path), "--aux-layers", "1,2", "-o",
        tmp_path / "capture", "--json", *words, environment=environment,
    )  # fmt: skip
    assert (done.code, done.codes) == (1, [code])
    assert not (tmp_path / "capture").exists()


def test_a_file_that_exists_is_refused_before_the_pass(tmp_path: Path) -> None:
    (tmp_path / "capture").write_text("mine")
    done = eaglekit(
        "capture", tmp_path / "absent", "--prompts", "p", "--aux-layers", "1", "-o", tmp_path / "capture", "--json",
        environment=ENVIRONMENT,
    )  # fmt: skip
    assert (done.code, done.codes) == (1, ["capture-exists"])


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([], id="no layers"),
        pytest.param(["--aux-layers", "1", "--drafter", "d"], id="layers twice"),
        pytest.param(["--aux-layers", "1"], id="no file to write"),
        pytest.param(["--aux-layers", "1", "-o", "c", "--gpu", "--device", "cpu"], id="two devices"),
    ],
)
def test_options_that_contradict_are_a_usage_error(words: list[str]) -> None:
    done = eaglekit("capture", "target", "--prompts", "p", *words, "--json")
    assert (done.code, done.codes) == (2, ["usage"])


def test_without_torch_it_says_what_to_install(tmp_path: Path) -> None:
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text(
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'torch' else real(name, *rest)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = eaglekit(
        "capture", tmp_path, "--prompts", "p", "--aux-layers", "1", "-o", tmp_path / "c", "--json",
        environment={"PYTHONPATH": path},
    )  # fmt: skip
    assert done.codes == ["extras-missing"]
    assert "eaglekit[validate]" in done.document["findings"][0]["hint"]
