"""Greedy responses of a target to prompts, where the whole target fits in memory.

T tokens of one text, K experts per token, H hidden.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationConfig

from eaglekit.checkpoint.json_document import CONFIG_LIMIT, read_object
from eaglekit.report import Finding, Refusal
from eaglekit.target.activations import expert_rounding, refuse_unrounded, rounded_inputs
from eaglekit.target.experts import Experts, Loaded, Rounding, compute
from eaglekit.target.faults import within_config
from eaglekit.target.loading import filled, load, prove
from eaglekit.target.memory import available_bytes, whole_bytes
from eaglekit.target.model import TargetModel
from eaglekit.target.reading import ReadBytes, Reader
from eaglekit.target.settings import Settings
from eaglekit.target.text_checks import refuse_impossible
from eaglekit.target.texts import Text
from eaglekit.target.weights import ModuleWeights

GENERATION_FILE = "generation_config.json"


def generate(
    model: TargetModel,
    prompts: Sequence[Text],
    *,
    max_new_tokens: int,
    settings: Settings | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Text]:
    """The prompts, each with the target's own greedy response of at most `max_new_tokens` tokens.

    A response ends with the target's end token, when it comes to one. What a text holds behind its prompt is left out.
    `progress` is told 1 for every finished text. Raises `Refusal` when the target does not fit in memory.
    """
    settings = settings or Settings()
    asked = [
        Text(text.identity, text.category, text.tokens[: text.prompt_length], text.prompt_length) for text in prompts
    ]
    refuse_impossible(model, asked, (), room=max_new_tokens)
    refuse_unrounded(model, settings)
    device = settings.torch_device()
    _refuse_too_large(model, settings, device)
    wishes = GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=False, max_new_tokens=max_new_tokens, eos_token_id=end_tokens(model) or None, pad_token_id=0
    )
    told = progress or (lambda count: None)
    texts = []
    with torch.no_grad(), resident(model, settings):
        for text in asked:
            ids = torch.tensor([text.tokens], device=device)
            with within_config(model.source.label):
                made = model.skeleton.model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=wishes)
            texts.append(Text(text.identity, text.category, tuple(made[0].tolist()), text.prompt_length))
            told(1)
    return texts


def end_tokens(model: TargetModel) -> list[int]:
    """Ids that end a response: those of generation_config.json, else of the config."""
    stated: Any = None
    files = model.source.files()
    if files.get(GENERATION_FILE, CONFIG_LIMIT + 1) <= CONFIG_LIMIT:
        document = read_object(model.source.read(GENERATION_FILE, 0, files[GENERATION_FILE]), GENERATION_FILE)
        stated = document.get("eos_token_id")
    if stated is None:
        stated = model.config.get("eos_token_id")
    listed = stated if isinstance(stated, list) else [stated]
    return [token for token in listed if type(token) is int and 0 <= token < model.vocab_size]


@contextmanager
def resident(model: TargetModel, settings: Settings, progress: ReadBytes | None = None) -> Iterator[None]:
    """Inside, the whole target is in memory and its modules can be called; afterwards none takes memory."""
    device, dtype = settings.torch_device(), settings.compute_dtype
    skeleton = model.skeleton
    skeleton.move_frequencies(device)
    with ExitStack() as stack, Reader(model.source, progress) as reader:
        for number, weights in enumerate(model.blocks):
            block = skeleton.blocks[number]
            stack.enter_context(filled(block, weights, reader, dtype, device))
            stack.enter_context(rounded_inputs(block, weights, reader, settings))
            if weights.experts:
                rounding = expert_rounding(weights, reader, settings)
                stack.enter_context(_resident_experts(block, weights, reader, dtype, device, rounding))
        stack.enter_context(filled(skeleton.norm, model.norm, reader, dtype, device))
        embedding = load(model.embedding_source, reader, dtype, device)
        tied = model.head_source is model.embedding_source
        head = embedding if tied else load(model.head_source, reader, dtype, device)
        stack.enter_context(_weight(skeleton.model.get_input_embeddings(), embedding))
        stack.enter_context(_weight(skeleton.model.get_output_embeddings(), head))
        prove(reader)
        yield


@contextmanager
def _resident_experts(
    block: nn.Module,
    weights: ModuleWeights,
    reader: Reader,
    dtype: torch.dtype,
    device: torch.device,
    rounding: Rounding | None,
) -> Iterator[None]:
    module = block.get_submodule(weights.experts_path)
    assert isinstance(module, Experts)  # noqa: S101 - placed when the model was opened
    held: list[Loaded] = [
        (tuple(load(part, reader, dtype, device) for part in expert.gate_up), load(expert.down, reader, dtype, device))
        for expert in weights.experts
    ]

    def answer(hidden: Tensor, index: Tensor, shares: Tensor) -> Tensor:
        return compute(module, hidden, index, shares, held.__getitem__, rounding=rounding)

    module.resident = answer
    try:
        yield
    finally:
        module.resident = None


@contextmanager
def _weight(module: nn.Module, values: Tensor) -> Iterator[None]:
    """Inside, `module` has these values as its weight."""
    before = module._parameters["weight"]
    module._parameters["weight"] = nn.Parameter(values, requires_grad=False)
    try:
        yield
    finally:
        module._parameters["weight"] = before


def _refuse_too_large(model: TargetModel, settings: Settings, device: torch.device) -> None:
    needed = whole_bytes(model, settings.compute_dtype)
    limit = settings.memory_limit_bytes
    room = limit if limit is not None else available_bytes(device)
    if needed > room:
        raise Refusal(
            Finding(
                "target-too-large",
                f"the target takes {needed / 1e9:,.1f} GB in {settings.dtype_name}, and {room / 1e9:,.1f} GB are there",
                place="--generate",
                got=f"{room:,} bytes",
                expected=f"{needed:,} bytes",
                hint="give the target's responses in the prompt file, generated by the engine that serves it",
            )
        )
