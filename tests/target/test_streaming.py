"""A streamed target computes what transformers computes with the whole one, at every boundary."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn.functional import linear

from eaglekit.report import Refusal
from eaglekit.target import finishing
from eaglekit.target.generation import resident
from eaglekit.target.memory import plan_memory
from eaglekit.target.model import TargetModel
from eaglekit.target.settings import Settings
from eaglekit.target.streaming import run
from tests.target.models import FAMILIES, MOE, codes, edit_weights, make, opened, text, whole

TEXTS = [text(5), text(17, prompt=4), text(33)]
ROUNDING = 2e-6
"""Experts of several texts share one product in float32, which then adds up in another order; states are about 10."""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_boundary_the_final_state_and_the_argmax_equal_those_of_transformers(family: str, tmp_path: Path) -> None:
    reference = make(tmp_path, family)
    model = opened(tmp_path)
    boundaries = range(model.num_layers + 1)
    capture = run(model, TEXTS, boundaries=boundaries)
    # Dense blocks are called exactly as transformers calls them: not one bit may differ.
    allowed = ROUNDING if family in MOE else 0.0
    for captured in capture.texts:
        states, final, logits = whole(reference, captured.text)
        for boundary in boundaries:
            torch.testing.assert_close(captured.states[:, boundary], states[boundary], rtol=0, atol=allowed)
        torch.testing.assert_close(captured.final, final, rtol=0, atol=2 * allowed)
        assert captured.argmax.tolist() == logits.argmax(dim=-1).tolist()


def test_the_last_boundary_is_before_the_final_norm(tmp_path: Path) -> None:
    make(tmp_path)
    model = opened(tmp_path)
    captured = run(model, TEXTS[:1], boundaries=[model.num_layers]).texts[0]
    assert not torch.allclose(captured.states[:, 0], captured.final, atol=0.1)


@pytest.mark.parametrize("family", ["llama", "qwen3-moe", "deepseek-v3"])
def test_streamed_equals_resident(family: str, tmp_path: Path) -> None:
    make(tmp_path, family)
    model = opened(tmp_path)
    streamed = run(model, TEXTS[1:2], boundaries=[]).texts[0]
    with resident(model, Settings()), torch.no_grad():
        ids = torch.tensor([TEXTS[1].tokens])
        final = model.skeleton.base(ids, use_cache=False).last_hidden_state[0]
    assert torch.equal(streamed.final, final)


def test_nothing_stays_in_memory_after_a_pass(tmp_path: Path) -> None:
    make(tmp_path, "deepseek-v3")
    model = opened(tmp_path)
    run(model, TEXTS, boundaries=[1])
    assert {parameter.device.type for parameter in model.skeleton.model.parameters()} == {"meta"}


def test_a_second_pass_gives_the_same_bits(tmp_path: Path) -> None:
    make(tmp_path, "qwen3-moe")
    model = opened(tmp_path)
    first, second = (run(model, TEXTS, boundaries=[0, 2]) for _ in range(2))
    assert all(torch.equal(a.states, b.states) for a, b in zip(first.texts, second.texts, strict=True))


@pytest.mark.parametrize("at_once", [1, 3, 8])
def test_how_many_experts_are_in_memory_does_not_change_a_bit(at_once: int, tmp_path: Path) -> None:
    make(tmp_path, "qwen3-moe")
    model = opened(tmp_path)
    limit = limit_for(model, at_once)
    assert plan_memory(model, 55, [1], Settings(memory_limit_bytes=limit)).experts_at_once == at_once
    limited = run(model, TEXTS, boundaries=[1], settings=Settings(memory_limit_bytes=limit))
    free = run(model, TEXTS, boundaries=[1])
    assert all(torch.equal(a.final, b.final) for a, b in zip(limited.texts, free.texts, strict=True))


def limit_for(model: TargetModel, at_once: int) -> int:
    """The lowest limit under which so many experts are held."""
    plan = plan_memory(model, sum(len(text.tokens) for text in TEXTS), [1], Settings())
    return plan.block_bytes + plan.states_bytes + at_once * plan.expert_bytes


def test_a_limit_below_one_expert_is_refused_with_what_is_needed(tmp_path: Path) -> None:
    make(tmp_path, "qwen3-moe")
    model = opened(tmp_path)
    with pytest.raises(Refusal) as caught:
        run(model, TEXTS, boundaries=[1], settings=Settings(memory_limit_bytes=limit_for(model, 1) - 1))
    (finding,) = caught.value.findings
    assert (finding.code, finding.expected) == ("memory-limit-too-low", f"at least {limit_for(model, 1):,} bytes")


def test_a_text_does_not_depend_on_its_companions(tmp_path: Path) -> None:
    make(tmp_path, "llama")
    model = opened(tmp_path)
    together = run(model, TEXTS, boundaries=[2]).texts[1]
    alone = run(model, TEXTS[1:2], boundaries=[2]).texts[0]
    assert torch.equal(together.states, alone.states)


def test_experts_that_no_token_was_sent_to_are_not_computed(tmp_path: Path) -> None:
    make(tmp_path, "qwen3-moe")
    before = run(opened(tmp_path), [text(1)], boundaries=[]).texts[0]
    spoiled = 0

    def spoil(tensors: dict[str, torch.Tensor]) -> None:
        nonlocal spoiled
        for expert in range(8):
            name = f"model.layers.0.mlp.experts.{expert}.down_proj.weight"
            kept = tensors[name].clone()
            tensors[name].fill_(torch.nan)
            spoiled += 1
            if expert in chosen:
                tensors[name] = kept
                spoiled -= 1

    chosen = chosen_experts(tmp_path)
    edit_weights(tmp_path, spoil)
    after = run(opened(tmp_path), [text(1)], boundaries=[]).texts[0]
    assert spoiled == 6
    assert torch.equal(before.final, after.final)


def chosen_experts(folder: Path) -> set[int]:
    """The experts of block 0 that the one token of `text(1)` goes to, by transformers."""
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    seen: list[torch.Tensor] = []
    model.model.layers[0].mlp.gate.register_forward_hook(lambda module, inputs, output: seen.append(output[2]))
    with torch.no_grad():
        model(torch.tensor([text(1).tokens]))
    return set(seen[0].flatten().tolist())


def test_routers_compute_in_float32_whatever_the_rest_does(tmp_path: Path) -> None:
    make(tmp_path, "qwen3-moe")
    model = opened(tmp_path)
    gate = model.skeleton.blocks[0].get_submodule("mlp.gate")
    seen: list[tuple[torch.dtype, torch.dtype]] = []
    gate.register_forward_hook(lambda module, inputs, output: seen.append((inputs[0].dtype, output[0].dtype)))
    run(model, TEXTS[:1], boundaries=[], settings=Settings(dtype=torch.bfloat16))
    assert set(seen) == {(torch.float32, torch.float32)}


def test_bfloat16_is_computed_as_transformers_computes_it(tmp_path: Path) -> None:
    import transformers

    make(tmp_path, "llama")
    reference = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16).eval()
    captured = run(opened(tmp_path), TEXTS[2:], boundaries=[2], settings=Settings(dtype=torch.bfloat16)).texts[0]
    states, final, _ = whole(reference, TEXTS[2])
    assert captured.states.dtype == torch.bfloat16
    assert torch.equal(captured.states[:, 0], states[2])
    assert torch.equal(captured.final, final)


def test_the_head_in_slices_gives_the_argmax_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)
    model = opened(tmp_path)
    captured = run(model, TEXTS, boundaries=[]).texts
    monkeypatch.setattr(finishing, "HEAD_BYTES", 7 * 64 * 4)
    monkeypatch.setattr(finishing, "TOKENS_AT_ONCE", 4)
    sliced = run(model, TEXTS, boundaries=[]).texts
    head = model.head("cpu", torch.float32)
    for one, other in zip(captured, sliced, strict=True):
        assert one.argmax.tolist() == other.argmax.tolist() == linear(one.final, head).argmax(dim=-1).tolist()


def test_of_equal_logits_the_lowest_id_counts(tmp_path: Path) -> None:
    make(tmp_path)
    edit_weights(tmp_path, lambda tensors: tensors["lm_head.weight"].zero_())
    assert set(run(opened(tmp_path), TEXTS[:1], boundaries=[]).texts[0].argmax.tolist()) == {0}


def test_shards_are_read_as_one_file_is(tmp_path: Path) -> None:
    make(tmp_path / "one", "qwen3-moe")
    make(tmp_path / "many", "qwen3-moe", shard="60KB")
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 3
    one, many = (run(opened(tmp_path / name), TEXTS, boundaries=[1]) for name in ("one", "many"))
    assert all(torch.equal(a.states, b.states) for a, b in zip(one.texts, many.texts, strict=True))


def test_progress_adds_up_to_what_a_pass_reads(tmp_path: Path) -> None:
    make(tmp_path, "deepseek-v3")
    model = opened(tmp_path)
    told: list[int] = []
    run(model, TEXTS, boundaries=[1], progress=told.append)
    assert (sum(told), len(told)) == (model.size_bytes, model.num_layers + 1)


@pytest.mark.parametrize(
    ("texts", "boundaries", "code"),
    [
        pytest.param([], [1], "texts-none", id="no text"),
        pytest.param([text(4), text(4)], [1], "text-identity-twice", id="two texts of one name"),
        pytest.param([text(4, prompt=0)], [1], "text-prompt-length", id="no prompt"),
        pytest.param([text(4, prompt=5)], [1], "text-prompt-length", id="a prompt longer than its text"),
        pytest.param([text(300)], [1], "text-too-long", id="longer than the target takes"),
        pytest.param([text(4)], [4], "aux-layers-range", id="a boundary behind the last"),
        pytest.param([text(4)], [2, 1], "aux-layers-order", id="boundaries that descend"),
        pytest.param([text(4)], [1, 1], "aux-layers-repeat", id="a boundary twice"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_read(
    texts: list[object], boundaries: list[int], code: str, tmp_path: Path
) -> None:
    make(tmp_path)
    with pytest.raises(Refusal) as caught:
        run(opened(tmp_path), texts, boundaries=boundaries)  # type: ignore[arg-type]
    assert codes(caught.value.findings) == {code}


def test_a_token_outside_of_the_vocabulary_is_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    make(tmp_path)
    with pytest.raises(Refusal) as caught:
        run(opened(tmp_path), [replace(text(3), tokens=(5, 160, -1))], boundaries=[1])
    assert [(f.code, f.got) for f in caught.value.findings] == [("text-token-outside", "160, -1")]


def test_a_missing_device_is_refused_and_nothing_falls_back(tmp_path: Path) -> None:
    make(tmp_path)
    for device in ("cuda:77", "tpu", "nonsense"):
        with pytest.raises(Refusal) as caught:
            run(opened(tmp_path), TEXTS[:1], boundaries=[1], settings=Settings(device=device))
        assert codes(caught.value.findings) == {"device-missing"}


def test_a_capture_says_what_it_is_of_and_names_no_path(tmp_path: Path) -> None:
    make(tmp_path / "my-target")
    model = opened(tmp_path / "my-target")
    capture = run(model, TEXTS[:1], boundaries=[0, 2])
    assert capture.target["label"] == "my-target"
    assert capture.target["digest"] == model.digest
    assert capture.target["dtype"] == "float32"
    assert not any(str(tmp_path) in value for value in capture.target.values())
