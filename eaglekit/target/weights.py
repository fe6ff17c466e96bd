"""Which tensors of a checkpoint fill which parameters of a block: every one is used, left behind, or refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import nn

from eaglekit.checkpoint import Tensor
from eaglekit.report import Finding, Refusal
from eaglekit.target.formats.recognise import LinearFormat, by_module, is_dropped, recognise_linear

ROUTERS = ("gate", "router")
"""Names of the module that chooses experts, beside the experts module."""


@dataclass(frozen=True, slots=True)
class Filling:
    """One parameter or buffer of a module and where its values lie."""

    parameter: str
    """Path inside the module, for example `self_attn.q_proj.weight`."""
    source: LinearFormat
    float32: bool
    """Kept in float32 whatever is computed in: routers, and what transformers keeps so itself."""


@dataclass(frozen=True, slots=True)
class Expert:
    """The weights of one expert: out x in, the rows of gate above the rows of up."""

    gate_up: tuple[LinearFormat, ...]
    """One tensor with the rows of both, or gate and up."""
    down: LinearFormat

    @property
    def sources(self) -> tuple[LinearFormat, ...]:
        """Everything that is read of it."""
        return (*self.gate_up, self.down)


@dataclass(frozen=True)
class ModuleWeights:
    """What fills one module: a block, a norm, a table."""

    name: str
    """What findings call it: `layers.3`, `norm`."""
    fillings: tuple[Filling, ...]
    experts_path: str = ""
    """Where the experts sit in the module; empty when there are none."""
    experts: tuple[Expert, ...] = ()
    left: Mapping[str, str] | None = None
    """Tensor on disk -> why it is left behind."""

    @property
    def size_bytes(self) -> int:
        """Bytes on disk without the experts."""
        return sum(filling.source.size_bytes for filling in self.fillings)

    @property
    def experts_bytes(self) -> int:
        """Bytes on disk of all experts."""
        return sum(source.size_bytes for expert in self.experts for source in expert.sources)


def bind(
    name: str, module: nn.Module, tensors: Mapping[str, Tensor], *, experts_path: str, findings: list[Finding]
) -> ModuleWeights:
    """What fills `module` from `tensors`, by their names inside it. What is wrong is added to `findings`."""
    modules = by_module(tensors)
    fillings: list[Filling] = []
    experts: tuple[Expert, ...] = ()
    left: dict[str, str] = {}
    routers = [f"{experts_path.rpartition('.')[0]}.{router}" for router in ROUTERS] if experts_path else []
    for path, part in module.named_modules():
        if experts_path and path == experts_path:
            experts = _bind_experts(f"{name}.{path}", path, part, modules, findings)
            continue
        wanted = dict(_own(part))
        stored = modules.pop(path, {})
        if wanted:
            fillings += _bind_module(f"{name}.{path}".strip("."), path, wanted, stored, path in routers, findings)
        elif stored:
            modules[path] = stored
    for stored in modules.values():
        if is_dropped(stored):
            left |= {tensor.name: "a scale that nothing here needs" for tensor in stored.values()}
        else:
            findings += [_unknown(tensor, name) for tensor in stored.values()]
    return ModuleWeights(name, tuple(fillings), experts_path, experts, left)


def _own(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters and stored buffers of the module itself."""
    yield from module.named_parameters(recurse=False)
    for name, buffer in module.named_buffers(recurse=False):
        if name not in module._non_persistent_buffers_set:
            yield name, buffer


def _bind_module(
    name: str,
    path: str,
    wanted: Mapping[str, torch.Tensor],
    stored: dict[str, Tensor],
    router: bool,
    findings: list[Finding],
) -> Iterator[Filling]:
    """The fillings of one module: `weight` in any format, everything else as plain numbers."""
    for key, parameter in wanted.items():
        if key == "weight":
            parts = {suffix: tensor for suffix, tensor in stored.items() if suffix not in wanted or suffix == key}
        else:
            parts = {"weight": stored[key]} if key in stored else {}
        full = f"{name}.{key}".strip(".")
        if not parts or (key == "weight" and is_dropped(parts)):
            findings.append(_missing(full, tuple(parameter.shape)))
            continue
        source = recognised(full if key != "weight" else name, parts, tuple(parameter.shape), findings)
        if source is not None:
            float32 = router or parameter.dtype == torch.float32
            yield Filling(f"{path}.{key}".strip("."), source, float32)
    if "weight" not in wanted:
        unknown = {suffix: tensor for suffix, tensor in stored.items() if suffix not in wanted}
        findings.extend(
            _unknown(tensor, name) for suffix, tensor in unknown.items() if not is_dropped({suffix: tensor})
        )
    elif "bias" in stored and "bias" not in wanted:
        findings.append(_unknown(stored["bias"], name))


def recognised(
    name: str, parts: Mapping[str, Tensor], shape: tuple[int, ...], findings: list[Finding]
) -> LinearFormat | None:
    """The format of a weight that must have `shape`; None with a finding when there is none."""
    try:
        source = recognise_linear(name, parts)
    except Refusal as refusal:
        findings.extend(refusal.findings)
        return None
    if source.shape != shape:
        place = next(iter(source.parts.values())).name
        findings.append(
            Finding(
                "target-tensor-shape",
                f"{place} is {list(source.shape)} when dequantised, and the block reads {list(shape)}",
                place=place,
                got=str(list(source.shape)),
                expected=str(list(shape)),
                hint="config and weights are of different models: get both from one place",
            )
        )
        return None
    return source


def _bind_experts(
    name: str, path: str, module: nn.Module, modules: dict[str, dict[str, Tensor]], findings: list[Finding]
) -> tuple[Expert, ...]:
    """All experts of a block: stored one by one, or as two tensors with an axis of experts."""
    gate_up, down = (tuple(getattr(module, key).shape) for key in ("gate_up_proj", "down_proj"))
    fused = modules.pop(path, {})
    if "gate_up_proj" in fused and "down_proj" in fused and len(fused) == 2:
        return _split(name, fused, gate_up, down, findings)
    if fused:
        findings.extend(_unknown(tensor, name) for tensor in fused.values())
    rows = gate_up[1] // 2
    shapes = {"gate_proj": (rows, gate_up[2]), "up_proj": (rows, gate_up[2]), "down_proj": down[1:]}
    experts = []
    for number in range(gate_up[0]):
        found = []
        for part, shape in shapes.items():
            full = f"{name}.{number}.{part}"
            stored = modules.pop(f"{path}.{number}.{part}", {})
            if not stored or is_dropped(stored):
                findings.append(_missing(f"{full}.weight", shape))
                continue
            if "bias" in stored:
                findings.append(_unknown(stored["bias"], full))
            source = recognised(full, stored, shape, findings)
            if source is not None:
                found.append(source)
        if len(found) == len(shapes):
            experts.append(Expert((found[0], found[1]), found[2]))
    return tuple(experts)


def _split(
    name: str, fused: Mapping[str, Tensor], gate_up: tuple[int, ...], down: tuple[int, ...], findings: list[Finding]
) -> tuple[Expert, ...]:
    """Views of single experts in two plain tensors."""
    both = [
        recognised(f"{name}.{key}", {"weight": fused[key]}, shape, findings)
        for key, shape in (("gate_up_proj", gate_up), ("down_proj", down))
    ]
    whole = [source for source in both if source is not None]
    if len(whole) < 2:
        return ()
    first, second = whole
    return tuple(Expert((_slice(first, number),), _slice(second, number)) for number in range(gate_up[0]))


def _slice(source: LinearFormat, number: int) -> LinearFormat:
    """Expert `number` of a plain tensor with an axis of experts."""
    tensor = source.parts["weight"]
    width = tensor.size_bytes // tensor.shape[0]
    start = tensor.start + number * width
    part = replace(tensor, shape=tensor.shape[1:], start=start, end=start + width)
    return replace(source, shape=source.shape[1:], parts={"weight": part})


def _missing(name: str, shape: tuple[int, ...]) -> Finding:
    return Finding(
        "target-tensor-absent",
        f"the target has no tensor for {name}",
        place=name,
        got="absent",
        expected=f"{list(shape)}, plain or quantised",
        hint="the target is incomplete, or its config is another model's: nothing is ever filled with random numbers",
    )


def _unknown(tensor: Tensor, where: str) -> Finding:
    return Finding(
        "target-tensor-unknown",
        f"{tensor.name} is {tensor.dtype} {list(tensor.shape)}, and {where} has no place for it",
        place=tensor.name,
        got=f"{tensor.dtype} {list(tensor.shape)}",
        expected="a parameter of the block, or a tensor that is known to be left behind",
        hint="a tensor that is passed over could change the function: check that config and weights belong together",
    )
