"""Codes of the room `reference`: what keeps a drafter from being computed."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "weight-missing", ERROR, "the drafter lacks a weight that its function needs",
        "vLLM, SGLang and tokenspeed load such a file without a word and compute with whatever the memory held, or with "
        "ones for a norm. Numbers measured so would describe no checkpoint at all, so nothing is filled in here.",
        "See what `eaglekit inspect` says about the checkpoint, and get the file from its trainer again.",
        ("vllm: a drafter without q_proj or fc starts and serves",),
    ),
    Code(
        "weight-dtype", ERROR, "a weight is not in plain floating point",
        "The reference drafter is the definition of what a drafter computes; a quantised weight needs its format's "
        "formula first, and its numbers would then be those of the quantisation.",
        "Validate the drafter before it is quantised.",
    ),
    Code(
        "weight-shape", ERROR, "a weight has another shape than the spec gives it",
        "A size in the config and the tensors disagree. Whichever is believed, something would be cut or repeated.",
        "See which size `eaglekit inspect` names, and correct it with --set.",
    ),
    Code(
        "shared-part-needed", ERROR, "the drafter uses its target's embedding or head, and none was given",
        "Most drafters are saved without the embedding, full-vocabulary ones often without the head: engines lend them "
        "the target's. Without a target there is nothing to embed the tokens with.",
        "Name the target with --target.",
        ("vllm/v1/spec_decode/llm_base_proposer.py _maybe_share_embeddings and _maybe_share_lm_head",),
    ),
    Code(
        "shared-part-shape", ERROR, "the target's embedding or head does not fit the drafter",
        "A drafter can only borrow what has its own width and vocabulary. Another shape means another target, or a "
        "drafter of its own width whose embedding was lost on the way.",
        "Give the target that the drafter was trained for; for a lost embedding, get the file from its trainer again.",
        ("TensorRT-LLM _torch/models/modeling_speculative.py: own embedding where the widths differ",),
    ),
    Code(
        "activation-unknown", ERROR, "the MLP's activation has no definition here",
        "Every trainer of EAGLE-3 drafters builds a SwiGLU with silu, and most engines refuse or ignore another name. A "
        "name outside the table was copied from somewhere, or is one that nobody could serve.",
        "Say --set hidden_act=NAME with the activation that was trained.",
        ("vllm/model_executor/models/llama.py LlamaMLP accepts silu only",),
    ),
    Code(
        "rotation-impossible", ERROR, "the rotary embedding does not fit the heads",
        "Channels are rotated in pairs, so their number is even, and longrope has one divisor for each pair. A list of "
        "another length belongs to a model with other heads.",
        "Correct the head size, or take the rope from the training run.",
        ("transformers modeling_rope_utils.py checks the lengths of short_factor and long_factor",),
    ),
)  # fmt: skip
