"""Weights as tensors: whole linears, single rows of a table, whole modules; dequantised where they are quantised.

O rows and I columns of a weight, R rows of a table.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from eaglekit.checkpoint import Tensor as Stored
from eaglekit.report import Finding, Refusal
from eaglekit.target.formats.dequantise import DTYPES, dequantise, typed
from eaglekit.target.formats.recognise import LinearFormat
from eaglekit.target.formats.table import Elements
from eaglekit.target.gathering import gathered
from eaglekit.target.reading import Reader
from eaglekit.target.weights import ModuleWeights


def load(source: LinearFormat, reader: Reader, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "..."]:
    """The weight of one module in `dtype` on `device`. Raises `Refusal` for scales that cannot be."""
    if not source.quantised:
        tensor = source.parts[source.format.weight]
        return _finite(reader.plain(tensor, DTYPES[tensor.dtype], dtype, device), tensor, reader)
    pinned = device.type == "cuda"
    parts = {suffix: typed(reader.raw(tensor, pinned=pinned), tensor) for suffix, tensor in source.parts.items()}
    room = reader.room(source.shape, dtype, device)
    weight = dequantise(source, parts, dtype=dtype, device=device, out=room, doubts=reader.doubts)
    # Four bits have no NaN, and their scales were checked.
    if source.format.elements is Elements.E2M1:
        return weight
    return _finite(weight, source.parts[source.format.weight], reader)


def _finite(weight: Float[Tensor, "*shape"], stored: Stored, reader: Reader) -> Float[Tensor, "*shape"]:
    """The weight. Raises `Refusal` when some of it is not finite; on a GPU that is left to `prove`, to wait once.

    States would not always tell: the attention of torch on the CPU gives zeros for scores that are NaN.
    """
    if weight.numel():
        reader.unproven.append((stored, torch.stack(torch.aminmax(weight))))
    if weight.device.type == "cpu":
        prove(reader)
    return weight


def prove(reader: Reader) -> None:
    """Raise `Refusal` when something that was loaded is not finite. Waits for the GPU."""
    loaded, reader.unproven = reader.unproven, []
    if not loaded:
        return
    finite = torch.stack([ends.float() for _, ends in loaded]).isfinite().all(-1).tolist()
    broken = [stored for (stored, _), good in zip(loaded, finite, strict=True) if not good]
    if broken:
        raise Refusal(*gathered(map(_not_finite, broken)))


def _not_finite(stored: Stored) -> Finding:
    return Finding(
        "target-weight-not-finite",
        f"{stored.name} has values that are NaN or infinite",
        place=stored.name,
        got=f"{stored.dtype} {list(stored.shape)}",
        expected="finite weights",
        hint="the file is damaged, or was cast to a dtype too narrow for it: get the target again",
    )


def load_rows(
    source: LinearFormat, rows: Sequence[int], reader: Reader, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, "R I"]:
    """Some rows of a table, in the order given; nothing else of it is read."""
    height = source.shape[0]
    declared, tensors = {}, {}
    for suffix, tensor in source.parts.items():
        by_row = bool(tensor.shape) and tensor.shape[0] == height
        part = replace(tensor, shape=(len(rows), *tensor.shape[1:])) if by_row else tensor
        data = reader.rows(tensor, rows).view(-1) if by_row else reader.raw(tensor)
        declared[suffix], tensors[suffix] = part, typed(data, part)
    some = replace(source, shape=(len(rows), *source.shape[1:]), parts=declared)
    found = dequantise(some, tensors, dtype=dtype, device=device)
    return _finite(found, source.parts[source.format.weight], reader)


@contextmanager
def filled(
    module: nn.Module, weights: ModuleWeights, reader: Reader, dtype: torch.dtype, device: torch.device
) -> Iterator[None]:
    """Inside, every parameter of `module` but its experts' has its values; afterwards none takes memory."""
    _keep_fitting(reader, weights, dtype)
    empty = fill(module, weights, reader, dtype, device)
    try:
        yield
    finally:
        for parameter, meta in empty.items():
            reader.give_back(_put(module, parameter, meta).detach())


def _keep_fitting(reader: Reader, weights: ModuleWeights, dtype: torch.dtype) -> None:
    """Give up the memory of weights that `weights` cannot use: it holds no more than one module at a time."""
    wanted = Counter(
        (filling.source.shape, torch.float32 if filling.float32 else dtype) for filling in weights.fillings
    )
    reader.spare = {key: tensors[: wanted[key]] for key, tensors in reader.spare.items() if key in wanted}


def fill(
    module: nn.Module, weights: ModuleWeights, reader: Reader, dtype: torch.dtype, device: torch.device
) -> dict[str, Tensor]:
    """Give `module` its values; what stood there before, by path."""
    empty = {}
    for filling in weights.fillings:
        values = load(filling.source, reader, torch.float32 if filling.float32 else dtype, device)
        empty[filling.parameter] = _put(module, filling.parameter, values)
    return empty


def _put(module: nn.Module, path: str, values: Tensor) -> Tensor:
    """Set a parameter or buffer by its path; the one that was there."""
    owner_path, _, name = path.rpartition(".")
    owner = module.get_submodule(owner_path)
    place = owner._parameters if name in owner._parameters else owner._buffers
    before = place[name]
    assert before is not None  # noqa: S101 - only parameters that exist were bound
    if place is owner._parameters and not isinstance(values, nn.Parameter):
        values = nn.Parameter(values, requires_grad=False)
    place[name] = values  # type: ignore[assignment]
    return before
