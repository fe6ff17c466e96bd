"""The blocks of a target as transformers defines them, on the meta device: structure and code, no weights.

A skeleton is only accepted when its function is embedding, block after block, final norm, one product with the head:
that is measured on the skeleton itself, not looked up in a list of families.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, PretrainedConfig

from eaglekit.report import Finding, Refusal
from eaglekit.target.configuration import BUILDING, config_refused
from eaglekit.target.gated import place_gated

FREQUENCIES_LIMIT = 1 << 20
"""More rotary frequencies than any head has channels."""
WIDEST = 1 << 20
"""Above every hidden size: two states of that many channels are really made, to see what happens to them."""


@dataclass(frozen=True)
class Skeleton:
    """One causal language model of transformers without its weights."""

    model: Any
    """The whole model: a `PreTrainedModel`."""
    base: Any
    """The model below the head: calls the blocks one after the other."""
    blocks: nn.ModuleList
    norm_name: str
    """Attribute of `base` that is the final norm."""
    experts: dict[int, str]
    """Block number -> name of the experts module inside the block."""

    @property
    def config(self) -> PretrainedConfig:
        """The config it was built from."""
        config: PretrainedConfig = self.model.config
        return config

    @property
    def norm(self) -> nn.Module:
        """The final norm."""
        norm: nn.Module = getattr(self.base, self.norm_name)
        return norm

    def move_frequencies(self, device: torch.device) -> None:
        """Move what is kept outside of the blocks, and no checkpoint holds, to a device."""
        for module in self.model.modules():
            for name in module._non_persistent_buffers_set:
                module._buffers[name] = module._buffers[name].to(device)


class Recorder(nn.Module):
    """Stands for one block: notes what it is called with and gives the hidden state back as it came."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Tensor, tuple[Any, ...], dict[str, Any]]] = []

    def forward(self, hidden: Tensor, *others: Any, **named: Any) -> Tensor:
        """Note the call; the result is the input itself."""
        self.calls.append((hidden, others, named))
        return hidden


def build(config: PretrainedConfig, label: str) -> Skeleton:
    """The skeleton for a config. Raises `Refusal` when its function is more than blocks between embedding and head."""
    if config.hidden_size > WIDEST:
        raise Refusal(config_refused(label, f"hidden_size is {config.hidden_size:,}", config.hidden_size))
    try:
        # In bfloat16: what is float32 all the same is meant to stay so.
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
                config, dtype=torch.bfloat16, experts_implementation="eager"
            )
    except BUILDING as error:
        raise Refusal(config_refused(label, f"transformers refuses it ({type(error).__name__})", error)) from error
    model.eval()
    model.requires_grad_(False)
    base = getattr(model, model.base_model_prefix, None)
    blocks = getattr(base, "layers", None)
    norm = next((name for name in NORMS if isinstance(getattr(base, name, None), nn.Module)), None)
    if not isinstance(blocks, nn.ModuleList) or norm is None or len(blocks) != config.num_hidden_layers:
        raise Refusal(_not_plain(config, label, "it has no list of blocks with a norm behind it"))
    if type(model.get_input_embeddings()) is not nn.Embedding:
        raise Refusal(_not_plain(config, label, "its embedding does more than look up a row"))
    place_gated(blocks)
    skeleton = Skeleton(model, base, blocks, norm, _experts(blocks, config, label))
    _make_frequencies(model, config, label)
    try:
        _prove_plain(skeleton, label)
    except BUILDING as error:
        raise Refusal(config_refused(label, f"its blocks cannot be called ({type(error).__name__})", error)) from error
    return skeleton


NORMS = ("norm", "final_layernorm")
"""Names of the final norm."""


def record(skeleton: Skeleton, embedded: Tensor) -> tuple[list[Recorder], Tensor]:
    """What every block would be called with for one embedded text [1, n, H], and the state that reaches the norm.

    The model's own forward runs once, with recorders in place of its blocks: masks and rotations stay its business.
    """
    recorders = [Recorder() for _ in skeleton.blocks]
    last = Recorder()
    with _in_place(skeleton, recorders, last), torch.no_grad():
        skeleton.base(inputs_embeds=embedded, use_cache=False)
    return recorders, last.calls[0][0]


@contextmanager
def _in_place(skeleton: Skeleton, blocks: list[Recorder], norm: nn.Module) -> Iterator[None]:
    """Inside, recorders stand for the blocks, and `norm` for the final norm."""
    real = skeleton.norm
    skeleton.base.layers = nn.ModuleList(blocks)
    setattr(skeleton.base, skeleton.norm_name, norm)
    try:
        yield
    finally:
        skeleton.base.layers = skeleton.blocks
        setattr(skeleton.base, skeleton.norm_name, real)


def _prove_plain(skeleton: Skeleton, label: str) -> None:
    """Raise `Refusal` unless states go through the blocks untouched, and the head's input is its whole output."""
    config, model = skeleton.config, skeleton.model
    embedded = torch.linspace(-60.0, 90.0, 2 * config.hidden_size).reshape(1, 2, config.hidden_size)
    recorders, last = record(skeleton, embedded)
    calls = [recorder.calls for recorder in recorders]
    if any(len(call) != 1 for call in calls):
        raise Refusal(_not_plain(config, label, "its blocks are not called once each"))
    first = calls[0][0][0]
    if any(call[0][0] is not first for call in calls) or last is not first:
        raise Refusal(_not_plain(config, label, "something happens to the states between its blocks"))
    head = model.get_output_embeddings()
    if type(head) is not nn.Linear or head.bias is not None:
        raise Refusal(_not_plain(config, label, "its head is more than one matrix"))
    model.set_output_embeddings(nn.Identity())
    try:
        with _in_place(skeleton, [Recorder() for _ in skeleton.blocks], nn.Identity()), torch.no_grad():
            logits = model(inputs_embeds=embedded, use_cache=False).logits
    finally:
        model.set_output_embeddings(head)
    if not torch.equal(logits, first):
        raise Refusal(_not_plain(config, label, "its logits are scaled or capped behind the head"))


def _experts(blocks: nn.ModuleList, config: PretrainedConfig, label: str) -> dict[int, str]:
    """Where fused experts sit, block by block. Raises `Refusal` for a kind that is not computed here."""
    found: dict[int, str] = {}
    for number, block in enumerate(blocks):
        for name, module in block.named_modules():
            if getattr(module, "down_proj", None) is None or not isinstance(module.down_proj, nn.Parameter):
                continue
            odd = [flag for flag, usual in EXPERTS.items() if getattr(module, flag, not usual) is not usual]
            if odd or number in found or not isinstance(getattr(module, "gate_up_proj", None), nn.Parameter):
                raise Refusal(_not_plain(config, label, f"its experts are of another kind ({', '.join(odd) or name})"))
            found[number] = name
    return found


EXPERTS = {"has_gate": True, "has_bias": False, "is_transposed": False, "is_concatenated": True}
"""What transformers says of an experts module that is computed as act(gate x) * (up x), then down."""


def _make_frequencies(model: nn.Module, config: PretrainedConfig, label: str) -> None:
    """Compute buffers that no checkpoint holds: the modules that own them are built once more, with storage."""
    for path, module in list(model.named_modules()):
        hidden = module._non_persistent_buffers_set
        if not hidden:
            continue
        needed = {
            name
            for name, parameter in inspect.signature(type(module).__init__).parameters.items()
            if parameter.default is inspect.Parameter.empty
            and parameter.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        } - {"self"}
        small = all(buffer.numel() <= FREQUENCIES_LIMIT for buffer in module.buffers(recurse=False))
        if needed != {"config"} or list(module.parameters()) or not small:
            raise Refusal(_not_plain(config, label, f"{path} has tables that cannot be computed again"))
        fresh = type(module)(config=config)
        for name in hidden:
            module._buffers[name] = fresh._buffers[name]


def _not_plain(config: PretrainedConfig, label: str, why: str) -> Finding:
    return Finding(
        "target-family-unsupported",
        f"{label} is of the family {config.model_type!r}, which is not streamed: {why}",
        place=f"{label} config.json model_type",
        got=config.model_type,
        expected="an embedding, blocks one after the other, a final norm and one head matrix",
        hint="capture this target with the engine that serves it",
    )
