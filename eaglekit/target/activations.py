"""W4A4: inputs of NVFP4 linears rounded as engines round them.

FP8 and MXFP4 linears keep their inputs as computed. I columns of an input.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from eaglekit.report import Finding, Refusal
from eaglekit.target.experts import Rounding
from eaglekit.target.formats.dequantise import typed
from eaglekit.target.formats.fake_quantise import Order, fake_quantise
from eaglekit.target.formats.recognise import LinearFormat
from eaglekit.target.formats.scales import activation_factor
from eaglekit.target.formats.table import Elements, Group
from eaglekit.target.model import TargetModel
from eaglekit.target.reading import Reader
from eaglekit.target.settings import Settings
from eaglekit.target.weights import ModuleWeights

SHARING = (("q_proj", "k_proj", "v_proj"), ("q_a_proj", "kv_a_proj_with_mqa"), ("gate_proj", "up_proj"))
"""Linears that engines run as one: they read one input, so the largest of their input scales counts for all."""


def is_nvfp4(source: LinearFormat) -> bool:
    """Whether engines with FP4 hardware round the input of this linear to FP4."""
    return source.format.elements is Elements.E2M1 and source.group is Group.SIXTEEN


def refuse_unrounded(model: TargetModel, settings: Settings) -> None:
    """Raise `Refusal` when rounding is asked for and the target has no NVFP4 linear, or one without an input scale."""
    if settings.activations == "w4a16":
        return
    linears = [source for block in model.blocks for source in _sources(block) if is_nvfp4(source)]
    without = [source.name for source in linears if source.activation is None]
    if linears and not without:
        return
    shown = ", ".join(without[:3]) + (f" and {len(without) - 3} more" if len(without) > 3 else "")
    raise Refusal(
        Finding(
            "activations-not-quantised",
            f"{len(without)} NVFP4 linears have no input scale: {shown}"
            if without
            else "the target has no NVFP4 linear",
            place="--activations",
            got=f"{len(without)} of {len(linears)} without" if linears else ", ".join(model.formats),
            expected="input_scale or input_global_scale beside every NVFP4 linear",
            hint="leave --activations out: w4a16 needs no input scales",
        )
    )


def _sources(block: ModuleWeights) -> Iterator[LinearFormat]:
    for filling in block.fillings:
        yield filling.source
    for expert in block.experts:
        yield from expert.sources


@contextmanager
def rounded_inputs(block: nn.Module, weights: ModuleWeights, reader: Reader, settings: Settings) -> Iterator[None]:
    """Inside, the NVFP4 linears of a block, but its experts, round their inputs when that is asked for."""
    linears = {
        filling.parameter.removesuffix(".weight"): filling.source
        for filling in weights.fillings
        if settings.activations == "w4a4" and is_nvfp4(filling.source)
    }
    hooks = []
    for path in linears:
        names = _sharing(path) if settings.order is Order.VLLM else [path]
        factor = _smallest([linears[name] for name in names if name in linears], reader).to(settings.torch_device())
        hooks.append(block.get_submodule(path).register_forward_pre_hook(_rounding(factor, settings.order)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def expert_rounding(weights: ModuleWeights, reader: Reader, settings: Settings) -> Rounding | None:
    """How the inputs of a block's experts are rounded: by the largest input scale over all of them, as vLLM does it."""
    if settings.activations == "w4a16" or not all(
        is_nvfp4(source) for expert in weights.experts for source in expert.sources
    ):
        return None
    device = settings.torch_device()
    factors = {
        "gate_up": torch.stack([_smallest(expert.gate_up, reader) for expert in weights.experts]).to(device),
        "down": torch.stack([_smallest([expert.down], reader) for expert in weights.experts]).to(device),
    }
    if settings.order is Order.VLLM:
        factors = {product: own.min().expand(len(own)) for product, own in factors.items()}
    return lambda states, product, expert: fake_quantise(states, factors[product][expert], order=settings.order)


def _sharing(path: str) -> Iterable[str]:
    """Paths of the linears that read the same input as `path`, itself among them."""
    owner, _, name = path.rpartition(".")
    group = next((group for group in SHARING if name in group), (name,))
    return [f"{owner}.{member}".strip(".") for member in group]


def _smallest(sources: Iterable[LinearFormat], reader: Reader) -> Float[Tensor, ""]:
    """The factor that goes with the largest input scale: factors are reciprocals of scales."""
    return torch.stack([_factor(source, reader) for source in sources]).min()


def _factor(source: LinearFormat, reader: Reader) -> Float[Tensor, ""]:
    declared = source.activation
    assert declared is not None and source.format.activation is not None  # noqa: S101, PT018 - refused before a pass
    return activation_factor(source, {source.format.activation: typed(reader.raw(declared), declared)})


def _rounding(factor: Float[Tensor, ""], order: Order) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]:
    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return (fake_quantise(inputs[0], factor, order=order), *inputs[1:])

    return hook
