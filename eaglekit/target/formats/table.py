"""The on-disk formats of a linear's weight, one row each; everything else in this room reads these rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Elements(Enum):
    """What one element of the weight is."""

    E2M1 = "4-bit float, two to a byte, the even column in the low nibble"
    E4M3 = "8-bit float"
    PLAIN = "a float that needs no scale"


class Use(Enum):
    """What is done with a second scale, or with the scale of activations."""

    MULTIPLY = "the stored number is the factor"
    DIVIDE = "the stored number is the reciprocal of the factor"


class Group(Enum):
    """Which elements share one scale: (rows, columns); None means all of them."""

    SIXTEEN = (1, 16)
    THIRTY_TWO = (1, 32)
    TENSOR = (None, None)
    CHANNEL = (1, None)
    SQUARE = (128, 128)

    @property
    def words(self) -> str:
        """The group as people say it."""
        rows, columns = self.value
        if rows is None:
            return "the whole tensor"
        return "one row" if columns is None else f"{rows} x {columns}"


FLOATS = frozenset({"BF16", "F16", "F32"})
E4M3 = frozenset({"F8_E4M3"})
E8M0 = frozenset({"U8", "F8_E8M0"})


@dataclass(frozen=True, slots=True)
class Format:
    """One way to store a weight: W = element x scale x second scale, each part a tensor with a suffix of its own."""

    name: str
    """Kebab-case; what reports call it."""
    weight: str
    """Suffix of the tensor of elements."""
    elements: Elements
    weight_dtypes: frozenset[str]
    """safetensors dtype names."""
    scale: str | None = None
    """Suffix of the scale per group."""
    scale_dtypes: frozenset[str] = frozenset()
    groups: tuple[Group, ...] = ()
    """Groups that are known, in the order they are tried."""
    second: str | None = None
    """Suffix of the second scale, one F32 per tensor."""
    second_use: Use = Use.MULTIPLY
    activation: str | None = None
    """Suffix of the static second scale of 4-bit activations; a weight-only file has none."""
    activation_use: Use = Use.DIVIDE
    """What is done to x with it, before the block scales are found."""
    source: str = ""
    """Where the layout is defined."""

    @property
    def required(self) -> tuple[str, ...]:
        """Suffixes without which the weight cannot be made."""
        return tuple(part for part in (self.weight, self.scale, self.second) if part is not None)


COMPRESSED_TENSORS = "compressed_tensors/compressors"
MODELOPT = "modelopt/torch/quantization/qtensor"

FORMATS: tuple[Format, ...] = (
    Format("plain", "weight", Elements.PLAIN, FLOATS, source="safetensors"),
    Format(
        # F4 is what torch.float4_e2m1fn_x2 becomes in a file: the same bytes, a header that counts elements.
        "nvfp4-modelopt",
        "weight",
        Elements.E2M1,
        frozenset({"U8", "F4"}),
        scale="weight_scale",
        scale_dtypes=E4M3,
        groups=(Group.SIXTEEN, Group.THIRTY_TWO),
        second="weight_scale_2",
        activation="input_scale",
        source=f"{MODELOPT}/nvfp4_tensor.py (groups of 32: W4A8_NVFP4_FP8)",
    ),
    Format(
        "nvfp4-compressed-tensors",
        "weight_packed",
        Elements.E2M1,
        frozenset({"U8"}),
        scale="weight_scale",
        scale_dtypes=E4M3,
        groups=(Group.SIXTEEN,),
        second="weight_global_scale",
        second_use=Use.DIVIDE,
        activation="input_global_scale",
        activation_use=Use.MULTIPLY,
        source=f"{COMPRESSED_TENSORS}/nvfp4",
    ),
    Format(
        "mxfp4-compressed-tensors",
        "weight_packed",
        Elements.E2M1,
        frozenset({"U8"}),
        scale="weight_scale",
        scale_dtypes=E8M0,
        groups=(Group.THIRTY_TWO,),
        source=f"{COMPRESSED_TENSORS}/mxfp4",
    ),
    Format(
        "mxfp4-modelopt",
        "weight",
        Elements.E2M1,
        frozenset({"U8", "F4"}),
        scale="weight_scale",
        scale_dtypes=E8M0,
        groups=(Group.THIRTY_TWO,),
        source=f"{MODELOPT}/mxfp4_tensor.py",
    ),
    Format(
        # Blocks are an axis of their own: [E, O, I/32, 16] bytes beside [E, O, I/32] scales.
        "mxfp4-gpt-oss",
        "blocks",
        Elements.E2M1,
        frozenset({"U8"}),
        scale="scales",
        scale_dtypes=E8M0,
        groups=(Group.THIRTY_TWO,),
        source="transformers/integrations/mxfp4.py",
    ),
    Format(
        "fp8",
        "weight",
        Elements.E4M3,
        E4M3,
        scale="weight_scale",
        scale_dtypes=FLOATS,
        groups=(Group.TENSOR, Group.CHANNEL, Group.SQUARE),
        source=f"{MODELOPT}/fp8_tensor.py, {COMPRESSED_TENSORS}",
    ),
    Format(
        "fp8-inverse-scale",
        "weight",
        Elements.E4M3,
        E4M3,
        scale="weight_scale_inv",  # the name is historical: it is the factor, not its inverse
        scale_dtypes=FLOATS,
        groups=(Group.TENSOR, Group.SQUARE),
        source="deepseek-ai/DeepSeek-V3: inference/kernel.py",
    ),
    Format(
        "mxfp8",
        "weight",
        Elements.E4M3,
        E4M3,
        scale="weight_scale",
        scale_dtypes=E8M0,
        groups=(Group.THIRTY_TWO,),
        source=f"{MODELOPT}/mxfp8_tensor.py",
    ),
)
"""Every format that is dequantised. A linear's tensors match one row or none."""

DROPPED: Mapping[str, str] = {
    "input_scale": "the static scale of activations: weights do not need it",
    "input_global_scale": "the static scale of activations: weights do not need it",
    "activation_scale": "the static scale of activations: weights do not need it",
    "output_scale": "the static scale of an output that feeds a quantised cache",
    "k_scale": "the scale of a quantised key cache; keys are kept as computed",
    "v_scale": "the scale of a quantised value cache; values are kept as computed",
    "q_scale": "the scale of quantised queries; queries are kept as computed",
    "kv_scale": "the older, common scale of a quantised cache",
    "k_bias": "the shift of a quantised key cache",
    "v_bias": "the shift of a quantised value cache",
    "kv_cache_scale": "the older, common scale of a quantised cache",
    "weight_shape": "the shape before packing; the packed tensors say it",
}
"""Suffixes that are known and are no part of a weight -> why they are left alone."""

UNSUPPORTED: Mapping[str, str] = {
    "pre_quant_scale": "AWQ (NVFP4_AWQ): inputs are multiplied by `pre_quant_scale` before the linear",
    "svdquant_lora_a": "SVDQuant (NVFP4_SVD): the weight has a low-rank term beside it",
    "svdquant_lora_b": "SVDQuant (NVFP4_SVD): the weight has a low-rank term beside it",
    "qdata": "torchao: its scales may be swizzled, and nothing in the file says so",
    "_weight_qdata": "torchao: its scales may be swizzled, and nothing in the file says so",
    "qweight": "GPTQ or AWQ integers",
    "qzeros": "GPTQ or AWQ integers",
    "g_idx": "GPTQ integers in another column order",
    "weight_g_idx": "columns in another order than their scales",
    "weight_zero_point": "integers with a zero point",
    "absmax": "bitsandbytes",
    "quant_map": "bitsandbytes",
    "SCB": "bitsandbytes 8-bit integers",
    "gate_up_proj_weight_scale": "fused experts of ModelOpt (Llama 4): all experts in one transposed tensor",
    "down_proj_weight_scale": "fused experts of ModelOpt (Llama 4): all experts in one transposed tensor",
}
"""Suffixes of formats that are known and not read -> what they are."""

UNSUPPORTED_WEIGHTS: Mapping[tuple[str, str], str] = {
    ("weight_packed", "I32"): "INT4 (compressed-tensors pack-quantized): integers, eight to an I32",
    ("weight", "I8"): "INT8: integers",
    ("weight", "I32"): "packed integers",
    ("weight", "F8_E5M2"): "FP8 with five exponent bits",
    ("weight", "F8_E4M3FNUZ"): "FP8 in AMD's own encoding",
}
"""(suffix, dtype) of weights that are known and not read -> what they are."""
