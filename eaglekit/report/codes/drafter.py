"""Codes about what a drafter can be: captured layers and vocabulary maps."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "aux-layers-repeat", ERROR, "an aux layer is listed twice",
        "fc reads one state per listed layer. vLLM removes repeated ids, so fc gets fewer states than it is wide; other "
        "engines feed the same state twice. Neither is what was trained.",
        "State the layers of the training run with --aux-layers.",
        ("vllm: ids are sorted and de-duplicated (run with ids 5, 3, 1)",),
    ),
    Code(
        "aux-layers-order", ERROR, "aux layers are not ascending",
        "Engines sort the list before they capture, and fc sees the states from the lowest to the highest block. A "
        "drafter trained with another order gets its inputs in the wrong places: right text, no speed-up.",
        "Check the order of the training run. Only ascending lists can be served.",
        ("vllm: ids 5, 3, 1 are used as 1, 3, 5",),
    ),
    Code(
        "aux-layers-range", ERROR, "an aux layer does not exist in the target",
        "A target with N blocks has the boundaries 0 to N. An id beyond is accepted by vLLM and then simply never "
        "captured, so fc receives fewer channels than it reads.",
        "Count in boundary indices: 0 is the embeddings, N the state after the last block, before the final norm.",
        ("vllm: id 20 of an 8-layer target starts without an error",),
    ),
    Code(
        "aux-layers-count", ERROR, "the number of aux layers does not fit fc",
        "fc has one block of columns per captured state. Another number of layers fails at the first batch, or on some "
        "kernels is reshaped into nonsense.",
        "Give as many layers as fc reads states.",
        ("vllm: num_aux_hidden_states 4 without ids fails at the first batch",),
    ),
    Code(
        "map-out-of-range", ERROR, "a draft id maps past the target's vocabulary",
        "d2t holds offsets: the target id is the row plus its entry. A table of absolute ids read as offsets doubles "
        "every id; drafts then mean other tokens and nothing is accepted.",
        "If the table holds token ids, say --set map=absolute and it is re-encoded; else take d2t from the training run.",
        ("llama.cpp conversion/llama.py checks range and uniqueness",),
    ),
    Code(
        "map-not-unique", ERROR, "two draft ids map to one target token",
        "Every row of the head stands for one target token. Two rows for one token means that another token lost its "
        "row: the table is damaged or belongs to another head.",
        "Take d2t from the training run again.",
        ("llama.cpp conversion/llama.py checks uniqueness",),
    ),
    Code(
        "mask-count", ERROR, "the vocabulary mask marks another number of tokens than the head has rows",
        "t2d marks the target tokens that have a draft row. When their number differs from the head's rows, mask, map "
        "and head are not from one run.",
        "Take d2t, t2d and the head from the same training run.",
        ("speculators takes the target's vocabulary from the length of t2d",),
    ),
    Code(
        "map-against-mask", ERROR, "the vocabulary map and its mask name different tokens",
        "A map of zeros with a filled mask is a table that was registered and never written. vLLM would draft the first "
        "ids of the vocabulary: almost nothing is accepted.",
        "Take d2t from the training run again.",
        ("vllm serves such a file with the identity map",),
    ),
    Code(
        "map-absolute", ERROR, "the vocabulary map looks like absolute ids",
        "Read as offsets, the table leaves the vocabulary; read as token ids, it is a valid map. Only GGUF stores "
        "absolute ids; every safetensors producer stores offsets, and every engine adds the row number. A table of its own "
        "row numbers is asked about too: as offsets it would mean every second token.",
        "If it holds token ids, say --set map=absolute; the output holds offsets. If it holds offsets, map=offsets.",
        ("ggml-org/llama.cpp conversion/llama.py", "https://github.com/verl-project/verl-SpeCo/pull/67"),
    ),
    Code(
        "map-zeros", ERROR, "the vocabulary map is all zeros",
        "Zeros mean the first ids of the vocabulary, or a table that was never filled; the file cannot tell which. NeMo's "
        "own documentation describes the collapse that an unfilled table causes.",
        "If the first ids are meant, say --set map=first.",
        ("NVIDIA-NeMo/Automodel draft_llama.py",),
    ),
    Code(
        "map-missing", ERROR, "a reduced head without a vocabulary map",
        "Without d2t, vLLM maps draft id i to target id i and serves happily: almost every draft is rejected. "
        "Model-Optimizer's Megatron export never writes the map.",
        "Take d2t from the training run. A mask alone is enough only where the producer sorts its vocabulary.",
        ("NVIDIA/Model-Optimizer unified_export_megatron.py",),
    ),
    Code(
        "map-from-mask", WARNING, "the vocabulary map was rebuilt from its mask",
        "A mask names the tokens and not their order. Producers of this layout sort their vocabulary, so the order is "
        "known, unless somebody permuted the head and lost the map.",
        "Take d2t from the training run if it was lost on the way.",
    ),
    Code(
        "map-dtype", ERROR, "a vocabulary map or mask has another dtype",
        "Maps are I64 and masks BOOL. A float map is one that a careless cast went over; large ids are then rounded.",
        "Take the tensors from the training run again.",
        (),
    ),
)  # fmt: skip
