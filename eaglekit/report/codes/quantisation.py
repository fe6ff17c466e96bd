"""Codes of quantised targets, raised by the room `target`."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING = Severity.ERROR, Severity.WARNING

CODES: tuple[Code, ...] = (
    Code(
        "quantisation-unknown",
        ERROR,
        "The tensors of a linear match no known weight format",
        "Every exporter has its own names for scales, and a scale that is passed over changes every weight by a factor "
        "without any error: transformers up to 5.24 loads NVFP4 experts of compressed-tensors without their global "
        "scale, weights come out tens of thousands of times too large, and nothing is said.",
        "Validate against a plain, NVFP4 or FP8 export of the same target; report the names in an issue.",
        ("https://github.com/huggingface/transformers/issues/48371",),
    ),
    Code(
        "quantisation-unsupported",
        ERROR,
        "The target is quantised in a way that is known and not read",
        "INT4, AWQ, SVDQuant, GPTQ, bitsandbytes and torchao files hold more than codes and scales: zero points, column "
        "orders, factors on the inputs, low-rank terms, swizzled scales. Read as if they held less, they give a model "
        "that looks alive and is another one.",
        "Validate against a plain, NVFP4, MXFP4 or FP8 export of the same target. A re-quantised target is measurably "
        "a different network, so say which one the report is about.",
        ("modelopt/torch/export/quant_utils.py", "compressed_tensors/compressors"),
    ),
    Code(
        "quantisation-part-missing",
        ERROR,
        "A quantised linear lacks a scale",
        "An NVFP4 weight is code x block scale x second scale. Engines that met a checkpoint without one of them took "
        "whatever the memory held, or one, and served noise.",
        "Fetch the missing shard, or export the target again.",
        ("https://github.com/vllm-project/vllm/issues/54189", "https://github.com/vllm-project/vllm/pull/35693"),
    ),
    Code(
        "quantisation-shape",
        ERROR,
        "Scales do not divide the weight into groups that are known",
        "Block scales lie row by row, one for 16 or 32 columns (FP8: one per tensor, row, or 128 x 128). Scales that are "
        "padded or swizzled for a kernel, or half as wide because a low-memory export went wrong, would be applied to "
        "the wrong columns.",
        "Export the target again with a current exporter.",
        ("https://github.com/NVIDIA/Model-Optimizer/pull/2038", "https://github.com/sgl-project/sglang/pull/23625"),
    ),
    Code(
        "quantisation-scale-invalid",
        ERROR,
        "A scale is NaN, infinite, negative, or zero where it divides",
        "Static exports of blocks that are all zero wrote NaN scales, and experts that calibration never reached have "
        "infinite input scales: the model then answers NaN for some prompts only.",
        "Export the target again. For scales of activations: run with activations as computed (w4a16).",
        (
            "https://github.com/NVIDIA/Model-Optimizer/pull/1397",
            "https://github.com/vllm-project/vllm/issues/45212",
            "https://github.com/vllm-project/compressed-tensors/pull/595",
        ),
    ),
    Code(
        "quantisation-scales-zero",
        WARNING,
        "All scales of a linear are zero",
        "A zero scale makes its block zero. A whole linear of them computes nothing: its scales were never filled, or the "
        "tensor is another one's place holder.",
        "Look at the export's log, and export again.",
    ),
    Code(
        "quantisation-second-scale-suspicious",
        WARNING,
        "A second scale looks like its own reciprocal",
        "ModelOpt stores amax / 2688, by which weights are multiplied; compressed-tensors stores 2688 / amax, by which "
        "they are divided. A converter that renames the tensor and forgets the reciprocal makes weights wrong by the "
        "square of the scale.",
        "Compare a few weights with the unquantised target before believing a number measured on this one.",
        ("https://github.com/modular/modular/issues/6600",),
    ),
)
