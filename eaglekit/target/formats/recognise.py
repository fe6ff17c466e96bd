"""Recognition: which row of the table a linear's tensors match, from the tensors alone.

Lists of ignored modules in configs are never asked: they use other prefixes than the tensors, and contradict them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from eaglekit.checkpoint.model import Tensor
from eaglekit.report import Finding, Refusal
from eaglekit.target.formats.table import (
    DROPPED,
    FLOATS,
    FORMATS,
    UNSUPPORTED,
    UNSUPPORTED_WEIGHTS,
    Elements,
    Format,
    Group,
)

BIAS = "bias"
BLOCKS = "_blocks"


@dataclass(frozen=True, slots=True)
class LinearFormat:
    """How one linear lies in its checkpoint, and what it becomes."""

    name: str
    """The module's name in the checkpoint, without a suffix."""
    format: Format
    group: Group
    """The elements that share one scale; the whole tensor for a plain weight."""
    shape: tuple[int, ...]
    """Of the weight when dequantised: (..., out, in)."""
    parts: Mapping[str, Tensor]
    """Suffix -> tensor, exactly those that `dequantise` needs."""
    bias: Tensor | None = None
    """The plain bias, which is added to the output."""
    activation: Tensor | None = None
    """The static second scale of 4-bit activations; None where the checkpoint has none."""

    @property
    def quantised(self) -> bool:
        """False for a plain weight."""
        return self.format.elements is not Elements.PLAIN

    @property
    def size_bytes(self) -> int:
        """Bytes to read for the weight."""
        return sum(part.size_bytes for part in self.parts.values())


def by_module(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Module name -> suffix -> tensor, in the order of `tensors`.

    A name is cut at its last dot; experts fused as gpt-oss does (`experts.down_proj_blocks`) at the underscore.
    """
    fused = {name.removesuffix(BLOCKS) for name in tensors if name.endswith(BLOCKS)}
    modules: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        stem, _, ending = name.rpartition("_")
        module, suffix = (stem, ending) if stem in fused else name.rpartition(".")[::2]
        modules.setdefault(module, {})[suffix] = tensor
    return modules


def is_dropped(parts: Mapping[str, Tensor]) -> bool:
    """Whether a module has nothing but known tensors that are no weights: cache scales of modules that do not exist."""
    return all(suffix in DROPPED for suffix in parts)


def recognise_linear(name: str, parts: Mapping[str, Tensor]) -> LinearFormat:
    """The format of the linear `name`, from its tensors: suffix -> tensor as declared, all that the module has.

    Raises `Refusal` with everything wrong: unknown or unsupported formats, missing parts, shapes that do not fit.
    Values are not read here; `dequantise` looks at the scales.
    """
    strangers = list(_strangers(name, parts))
    fitting = [row for row in FORMATS if _fits(row, parts)]
    if not fitting:
        raise Refusal(*(strangers or [_no_row(name, parts)]))
    row = max(fitting, key=lambda row: len(row.required))
    known = {*row.required, BIAS, *DROPPED}
    unknown = [_unknown(name, parts[suffix], suffix, row) for suffix in parts if suffix not in known | set(UNSUPPORTED)]
    missing = [_missing(name, part, row) for part in row.required if part not in parts]
    if strangers or unknown or missing:
        raise Refusal(*strangers, *unknown, *missing)
    shape, group = _shape(name, row, parts)
    return LinearFormat(
        name,
        row,
        group,
        shape,
        {part: parts[part] for part in row.required},
        parts.get(BIAS),
        # Groups of 32 under E4M3 scales go with FP8 activations, which are not rounded to four bits.
        parts.get(row.activation) if row.activation and group is Group.SIXTEEN else None,
    )


def _fits(row: Format, parts: Mapping[str, Tensor]) -> bool:
    """Whether the dtypes of weight and scale are those of `row`; a missing second scale is said, not passed over."""
    if row.weight not in parts or parts[row.weight].dtype not in row.weight_dtypes:
        return False
    if row.second is not None and row.second in parts and parts[row.second].dtype not in FLOATS:
        return False
    return row.scale is None or (row.scale in parts and parts[row.scale].dtype in row.scale_dtypes)


def _strangers(name: str, parts: Mapping[str, Tensor]) -> Iterator[Finding]:
    """A finding for each thing that is known and not read, one per story."""
    stories: dict[str, Tensor] = {}
    for suffix, tensor in parts.items():
        story = UNSUPPORTED.get(suffix) or UNSUPPORTED_WEIGHTS.get((suffix, tensor.dtype))
        if story is not None:
            stories.setdefault(story, tensor)
    for story, tensor in stories.items():
        yield Finding(
            "quantisation-unsupported",
            f"{name!r} is quantised in a way that is not read here: {story}",
            place=tensor.name,
            got=f"{tensor.name} ({tensor.dtype})",
            expected="NVFP4, MXFP4, FP8 or plain floats",
            hint="validate against a plain, NVFP4 or FP8 export of the same target",
        )


def _no_row(name: str, parts: Mapping[str, Tensor]) -> Finding:
    """The finding for tensors that match no format, nearly or at all."""
    listing = ", ".join(f"{suffix} {tensor.dtype} {list(tensor.shape)}" for suffix, tensor in parts.items())
    near = [row for row in FORMATS if row.weight in parts and parts[row.weight].dtype in row.weight_dtypes]
    scales = sorted({row.scale for row in near if row.scale is not None and row.scale not in parts})
    if near and len(scales) == len({row.scale for row in near}):
        return Finding(
            "quantisation-part-missing",
            f"{name!r} has a {parts[near[0].weight].dtype} weight and no scale beside it",
            place=name,
            got=listing,
            expected=" or ".join(f"{name}.{scale}" for scale in scales),
            hint="the export is incomplete: export the target again, or fetch the missing shard",
        )
    return Finding(
        "quantisation-unknown",
        f"the tensors of {name!r} match no known weight format",
        place=name,
        got=listing or "no tensors",
        expected=", ".join(sorted({row.name for row in FORMATS})),
        hint="validate against a plain, NVFP4 or FP8 export of the same target",
    )


def _unknown(name: str, tensor: Tensor, suffix: str, row: Format) -> Finding:
    return Finding(
        "quantisation-unknown",
        f"{name!r} is {row.name}, and {suffix!r} is no part of that format",
        place=tensor.name,
        got=f"{tensor.dtype} {list(tensor.shape)}",
        expected=", ".join((*row.required, BIAS)),
        hint="a tensor that is passed over could change the function: say which program wrote the target, in an issue",
    )


def _missing(name: str, part: str, row: Format) -> Finding:
    return Finding(
        "quantisation-part-missing",
        f"{name!r} is {row.name}, and its {part!r} is missing",
        place=name,
        got="absent",
        expected=f"{name}.{part}",
        hint="without it every weight is off by one common factor: export the target again, or fetch the missing shard",
    )


def _shape(name: str, row: Format, parts: Mapping[str, Tensor]) -> tuple[tuple[int, ...], Group]:
    """The dequantised shape and the group of a scale. Raises `Refusal` when a division is not exact."""
    weight = parts[row.weight]
    shape = weight.shape
    if row.elements is Elements.E2M1 and weight.dtype == "U8":
        # Blocks may be an axis of their own; bytes count twice.
        shape = (*shape[:-2], shape[-2] * shape[-1] * 2) if row.weight == "blocks" else (*shape[:-1], shape[-1] * 2)
    if row.scale is None:
        return shape, Group.TENSOR
    scale = parts[row.scale]
    # Only gpt-oss stacks its experts in one tensor; elsewhere a third axis would leave open what a scale covers.
    axes = 3 if row.weight == "blocks" else 2
    group = next((group for group in row.groups if scale.shape in _scale_shapes(shape, group)), None)
    wrong = []
    if len(shape) != axes or group is None:
        words = ", ".join(f"{list(_scale_shapes(shape, known)[0])} ({known.words})" for known in row.groups)
        wrong.append(
            Finding(
                "quantisation-shape",
                f"{name!r} is {row.name} of shape {list(shape)}, and its {row.scale!r} of shape {list(scale.shape)}"
                " does not divide it into groups that are known",
                place=scale.name,
                got=f"{list(scale.shape)} for {weight.dtype} {list(weight.shape)}",
                expected=words if len(shape) == axes else f"{axes} axes",
                hint="scales that are padded, swizzled or of another group size belong to some engine, not to a file: "
                "export the target again",
            )
        )
    second = parts[row.second] if row.second is not None else None
    if second is not None and prod(second.shape) != 1:
        wrong.append(
            Finding(
                "quantisation-shape",
                f"{second.name!r} has {prod(second.shape)} numbers; the second scale of a linear is one",
                place=second.name,
                got=f"{list(second.shape)}",
                expected="[] or [1]",
                hint="fused projections are stored one by one: export the target again",
            )
        )
    if wrong:
        raise Refusal(*wrong)
    assert group is not None  # noqa: S101 - None was refused above
    return shape, group


def _scale_shapes(shape: tuple[int, ...], group: Group) -> list[tuple[int, ...]]:
    """The shapes a scale per `group` may have, the usual one first; impossible ones where `shape` does not divide."""
    *outer, columns = shape or (1,)
    match group:
        case Group.TENSOR:
            return [(), (1,), (1, 1)]
        case Group.CHANNEL:
            return [(*outer, 1), tuple(outer)]
        case Group.SQUARE:
            whole = (*outer[:-1], -(-outer[-1] // 128) if outer else 1, -(-columns // 128))
            return [whole, (whole[0], 1, whole[-1], 1)]
        case Group.SIXTEEN | Group.THIRTY_TWO:
            width = 16 if group is Group.SIXTEEN else 32
            return [(*outer, columns // width)] if columns % width == 0 else [(*outer, -1)]
