"""One pass of texts through a target, block by block: all texts go through a block before the next one is read.

n tokens of one text, B captured boundaries, G hidden size of the target, V vocabulary, T tokens of all texts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from jaxtyping import Float
from torch import Tensor, nn

from eaglekit import __version__
from eaglekit.checkpoint import Tensor as Declared
from eaglekit.target.activations import expert_rounding, refuse_unrounded, rounded_inputs
from eaglekit.target.captured import Capture, CapturedText
from eaglekit.target.experts import Chosen, Experts, Loaded, Memory, compute, hit_experts
from eaglekit.target.faults import within_config
from eaglekit.target.finishing import most_likely
from eaglekit.target.formats.fake_quantise import Order
from eaglekit.target.gathering import gathered
from eaglekit.target.loading import filled, load, load_rows, prove
from eaglekit.target.memory import plan_memory, return_freed_memory
from eaglekit.target.model import TargetModel
from eaglekit.target.reading import ReadBytes, Reader
from eaglekit.target.settings import Settings
from eaglekit.target.skeleton import record
from eaglekit.target.text_checks import refuse_impossible
from eaglekit.target.texts import Text
from eaglekit.target.weights import ModuleWeights


@dataclass
class _Running:
    """One text on its way through the blocks."""

    text: Text
    hidden: Float[Tensor, "1 n G"]
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]]
    """What each block is called with besides the state."""
    captured: Float[Tensor, "n B G"]
    """Filled boundary by boundary, on the CPU."""


@dataclass(frozen=True)
class _Pass:
    """What stays the same for a whole pass."""

    model: TargetModel
    reader: Reader
    settings: Settings
    device: torch.device
    dtype: torch.dtype
    group: int
    """Experts in memory at a time."""


def run(
    model: TargetModel,
    texts: Sequence[Text],
    *,
    boundaries: Sequence[int],
    settings: Settings | None = None,
    progress: ReadBytes | None = None,
) -> Capture:
    """The states of every text at `boundaries`, its final state and the target's argmax, in one pass over the file.

    Boundaries are ascending numbers from 0 to N. `progress` is told bytes of the target as they are dealt with;
    they add up to `model.size_bytes`. Raises `Refusal` for texts, boundaries, devices or limits that cannot be.
    """
    settings = settings or Settings()
    refuse_impossible(model, texts, boundaries)
    refuse_unrounded(model, settings)
    device, dtype = settings.torch_device(), settings.compute_dtype
    memory = plan_memory(model, sum(len(text.tokens) for text in texts), boundaries, settings)
    told = progress or (lambda count: None)
    return_freed_memory()
    with torch.no_grad(), Reader(model.source) as reader:
        now = _Pass(model, reader, settings, device, dtype, memory.experts_at_once)
        model.skeleton.move_frequencies(device)
        running = list(_embed(now, texts, len(boundaries)))
        columns = {boundary: column for column, boundary in enumerate(boundaries)}
        for number, block in enumerate(model.blocks):
            _note(running, columns.get(number))
            _run_block(now, number, block, running)
            prove(reader)
            told(block.size_bytes + block.experts_bytes)
        _note(running, columns.get(model.num_layers))
        _finish(now, running)
        argmax = most_likely(model, reader, [state.hidden[0] for state in running], dtype, device)
        prove(reader)
        doubts = gathered(reader.doubts)
        told(model.head_source.size_bytes)
    captured = [
        CapturedText(state.text, state.captured, state.hidden[0].cpu(), best)
        for state, best in zip(running, argmax, strict=True)
    ]
    return Capture(
        boundaries=tuple(boundaries),
        num_layers=model.num_layers,
        hidden_size=model.hidden_size,
        vocab_size=model.vocab_size,
        target=describe(model, settings),
        texts=tuple(captured),
        findings=tuple(doubts),
    )


def describe(model: TargetModel, settings: Settings) -> Mapping[str, str]:
    """What is kept of a target and its arithmetic beside what was captured of it; no local path."""
    return {
        "label": model.name,
        "digest": model.digest,
        "model_type": model.model_type,
        "formats": ", ".join(f"{name} x {count}" for name, count in model.formats.items()),
        "activations": settings.activations
        if settings.order is Order.VLLM
        else f"{settings.activations} (llmcompressor)",
        "dtype": settings.dtype_name,
        "device": settings.torch_device().type,
        "eaglekit": __version__,
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
    }


def _embed(now: _Pass, texts: Sequence[Text], num_boundaries: int) -> Iterator[_Running]:
    """Every text at boundary 0, with the calls that its blocks will get."""
    ids = sorted({token for text in texts for token in text.tokens})
    rows = load_rows(now.model.embedding_source, ids, now.reader, now.dtype, now.device)
    place = torch.empty(now.model.vocab_size, dtype=torch.int64)
    place[torch.tensor(ids)] = torch.arange(len(ids))
    for text in texts:
        embedded = rows[place[torch.tensor(text.tokens)].to(now.device)][None]
        recorders, _ = record(now.model.skeleton, embedded)
        calls = [recorder.calls[0] for recorder in recorders]
        captured = torch.empty(len(text.tokens), num_boundaries, embedded.shape[-1], dtype=now.dtype)
        yield _Running(text, calls[0][0], [(others, named) for _, others, named in calls], captured)


def _note(running: Sequence[_Running], column: int | None) -> None:
    """Keep the states of a boundary that is asked for."""
    if column is not None:
        for state in running:
            state.captured[:, column] = state.hidden[0]


def _run_block(now: _Pass, number: int, weights: ModuleWeights, running: Sequence[_Running]) -> None:
    """All texts through one block."""
    block = now.model.skeleton.blocks[number]
    following = now.model.blocks[number + 1] if number + 1 < now.model.num_layers else None
    ahead = list(_tensors(following)) if following else list(now.model.head_source.parts.values())
    if not weights.experts:
        now.reader.ahead.soon(ahead)
    with (
        filled(block, weights, now.reader, now.dtype, now.device),
        rounded_inputs(block, weights, now.reader, now.settings),
    ):
        if not weights.experts:
            for state in running:
                _step(now, block, number, state)
        else:
            _run_experts_block(now, block, number, weights, running, ahead)


def _step(now: _Pass, block: nn.Module, number: int, state: _Running) -> None:
    others, named = state.calls[number]
    with within_config(now.model.source.label):
        state.hidden = block(state.hidden, *others, **named)


def _run_experts_block(
    now: _Pass,
    block: nn.Module,
    number: int,
    weights: ModuleWeights,
    running: Sequence[_Running],
    ahead: Sequence[Declared],
) -> None:
    """All texts up to their experts, the experts for all of them, and all texts to the end."""
    module = block.get_submodule(weights.experts_path)
    assert isinstance(module, Experts)  # noqa: S101 - placed when the model was opened
    memory = Memory(block, weights.experts_path)
    for state in running:
        others, named = state.calls[number]
        with memory.noting(), within_config(now.model.source.label):
            try:
                block(state.hidden, *others, **named)
            except Chosen:
                continue
    asked, module.asked = module.asked, []
    now.reader.ahead.soon(_parts(hit_experts(weights.experts, asked)))
    now.reader.ahead.soon(ahead)

    def loaded(expert: int) -> Loaded:
        parts = weights.experts[expert]
        matrices = tuple(load(part, now.reader, now.dtype, now.device) for part in parts.gate_up)
        return matrices, load(parts.down, now.reader, now.dtype, now.device)

    def done(matrices: Loaded) -> None:
        for matrix in (*matrices[0], matrices[1]):
            now.reader.give_back(matrix)

    hidden, index, shares = (torch.cat([call[part] for call in asked]) for part in range(3))
    lengths = [len(call[0]) for call in asked]
    del asked
    rounding = expert_rounding(weights, now.reader, now.settings)
    answer = compute(module, hidden, index, shares, loaded, done=done, group=now.group, rounding=rounding)
    del hidden
    module.answers = list(torch.split(answer, lengths))
    del answer
    for state in running:
        with memory.repeating():
            _step(now, block, number, state)


def _tensors(weights: ModuleWeights) -> Iterator[Declared]:
    for filling in weights.fillings:
        yield from filling.source.parts.values()


def _parts(experts: Sequence[Any]) -> Iterator[Declared]:
    for expert in experts:
        for source in expert.sources:
            yield from source.parts.values()


def _finish(now: _Pass, running: Sequence[_Running]) -> None:
    """The final norm of every text, in place of its state."""
    norm = now.model.skeleton.norm
    with filled(norm, now.model.norm, now.reader, now.dtype, now.device):
        for state in running:
            state.hidden = norm(state.hidden)
    now.reader.spare.clear()
