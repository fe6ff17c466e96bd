"""A target that fits in memory answers greedily, as transformers' own generate makes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from eaglekit.report import Refusal
from eaglekit.target.generation import end_tokens, generate
from eaglekit.target.memory import whole_bytes
from eaglekit.target.settings import Settings
from eaglekit.target.streaming import run
from tests.target.models import codes, edit_config, edit_weights, expected, fixture, make, opened, text

PROMPTS = [text(5, prompt=5), text(9, prompt=6)]


@pytest.mark.parametrize("family", ["llama", "llama, tied", "mistral, sliding window", "qwen3-moe", "deepseek-v3"])
def test_responses_equal_those_of_transformers(family: str, tmp_path: Path) -> None:
    reference = make(tmp_path, family)
    answered = generate(opened(tmp_path), PROMPTS, max_new_tokens=16)
    for prompt, answer in zip(PROMPTS, answered, strict=True):
        ids = torch.tensor([prompt.tokens[: prompt.prompt_length]])
        expected = reference.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=16)
        assert answer.tokens == tuple(expected[0].tolist())
        assert (answer.identity, answer.prompt_length) == (prompt.identity, prompt.prompt_length)


@pytest.mark.parametrize("activations", ["w4a16", "w4a4"])
def test_a_response_is_the_argmax_of_the_streamed_pass(activations: str, tmp_path: Path) -> None:
    model = opened(fixture("llmcompressor-deepseek-v3-nvfp4", tmp_path))
    settings = Settings(activations=activations)
    answered = generate(model, PROMPTS, max_new_tokens=8, settings=settings)
    for captured in run(model, answered, boundaries=[], settings=settings).texts:
        first = captured.text.prompt_length
        assert captured.argmax[first - 1 : -1].tolist() == list(captured.text.tokens[first:])


def test_a_response_ends_with_the_end_token(tmp_path: Path) -> None:
    make(tmp_path)
    free = generate(opened(tmp_path), PROMPTS[:1], max_new_tokens=8)[0].tokens[5:]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [int(free[2]), 3]}))
    model = opened(tmp_path)
    ended = generate(model, PROMPTS[:1], max_new_tokens=8)[0].tokens[5:]
    assert end_tokens(model) == [free[2], 3]
    assert ended == free[: free.index(free[2]) + 1]


def test_end_tokens_that_are_none_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [True, "2", -1, 10_000, 7]}))
    assert end_tokens(opened(tmp_path)) == [7]


def test_the_config_tells_end_tokens_where_no_generation_config_does(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "generation_config.json").unlink()
    edit_config(tmp_path, eos_token_id=[4, 5])
    assert end_tokens(opened(tmp_path)) == [4, 5]


def test_a_target_that_does_not_fit_is_refused_with_what_to_do(tmp_path: Path) -> None:
    make(tmp_path)
    model = opened(tmp_path)
    needed = whole_bytes(model, torch.float32)
    with pytest.raises(Refusal) as caught:
        generate(model, PROMPTS, max_new_tokens=4, settings=Settings(memory_limit_bytes=needed - 1))
    (finding,) = caught.value.findings
    assert (finding.code, finding.expected) == ("target-too-large", f"{needed:,} bytes")
    assert "responses" in finding.hint
    assert len(generate(model, PROMPTS, max_new_tokens=4, settings=Settings(memory_limit_bytes=needed))) == 2


def test_more_tokens_than_the_target_has_positions_are_refused(tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(Refusal) as caught:
        generate(opened(tmp_path), PROMPTS, max_new_tokens=252)
    assert codes(caught.value.findings) == {"text-too-long"}


def test_the_model_can_be_streamed_after_it_answered_and_keeps_nothing(tmp_path: Path) -> None:
    make(tmp_path, "qwen3-moe")
    model = opened(tmp_path)
    before = run(model, PROMPTS, boundaries=[1]).texts[0].final
    generate(model, PROMPTS, max_new_tokens=2)
    assert {parameter.device.type for parameter in model.skeleton.model.parameters()} == {"meta"}
    assert torch.equal(run(model, PROMPTS, boundaries=[1]).texts[0].final, before)


def test_progress_counts_texts(tmp_path: Path) -> None:
    make(tmp_path)
    told: list[int] = []
    generate(opened(tmp_path), PROMPTS, max_new_tokens=1, progress=told.append)
    assert told == [1, 1]


def test_a_head_of_zeros_answers_with_the_lowest_id(tmp_path: Path) -> None:
    make(tmp_path)
    edit_weights(tmp_path, lambda tensors: tensors["lm_head.weight"].zero_())
    answer = generate(opened(tmp_path), PROMPTS[:1], max_new_tokens=3)[0]
    assert answer.tokens[5:] == (0, 0, 0)


def test_recorded_tokens_are_answered_with_the_recorded_argmax(tmp_path: Path) -> None:
    name = "llmcompressor-qwen3-nvfp4a16"
    recorded = expected(name)
    tokens = tuple(recorded["tokens"].tolist())
    model = opened(fixture(name, tmp_path))
    prompt = text(3)
    asked = [type(prompt)("recorded", "", tokens, len(tokens))]
    answer = generate(model, asked, max_new_tokens=1)[0]
    assert answer.tokens[-1] == int(recorded["w4a16/float32/logits"][-1].argmax())
