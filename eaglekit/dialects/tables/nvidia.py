"""NVIDIA Model-Optimizer: the Hugging Face export and the Megatron one."""

from __future__ import annotations

from eaglekit.dialects.dialect import Clue, Dialect, IdMeaning
from eaglekit.dialects.families import OUTPUT_OF
from eaglekit.dialects.keys import Dropped
from eaglekit.dialects.rows import table
from eaglekit.dialects.tables import groups as g

_KEYS = (
    *g.ARCHITECTURE,
    *g.model_keys(),
    *g.SIZE_KEYS,
    *g.flag_keys(write=False),
    *g.NESTED_FLAGS_READ[:2],
    g.NESTED_FLAGS[2],
    g.NESTED_FLAGS_READ[3],
    g.NESTED_OUTPUT_OF,
    g.TOP_READ,
    g.USE_AUX,
    *g.OWN_KEYS,
)
_FIXED = (*(g.written(row) for row in g.NVIDIA_FIXED[:6]), *g.NVIDIA_FIXED[6:], *g.PLAIN_FIXED)
_DROPPED = (
    *g.COMMON_DROPPED,
    Dropped("bias", "repeats attention_bias; the stored tensors say it"),
    Dropped("eagle_config.*", "a training option of Model-Optimizer"),
)

MODELOPT = Dialect(
    name="modelopt",
    title="NVIDIA Model-Optimizer, Hugging Face export",
    sources=(
        "NVIDIA/Model-Optimizer modelopt/torch/export/plugins/hf_spec_export.py",
        "NVIDIA/Model-Optimizer modelopt/torch/speculative/plugins/hf_eagle.py",
    ),
    needs=(g.LAYERS_0, Clue("no key", "speculators_model_type"), Clue("no tensor", "model.*")),
    supports=(
        g.ours("modelopt"),
        Clue("key", "eagle_config.next_layer_regular", weight=10),
        Clue("key", "eagle_config.parallel_draft_step", weight=3),
        Clue("no tensor", "t2d"),
    ),
    rows=table(first="layers.0.", later="layers.{n}."),
    dropped_tensors=g.COMMON_TENSORS,
    strips=("eagle_module.",),
    keys=_KEYS,
    fixed=_FIXED,
    dropped_keys=_DROPPED,
    ids=(
        # nvidia/gpt-oss-120b-Eagle3-v3 lists boundaries, 36 = the depth (sgl-project/sglang#32334).
        IdMeaning(
            OUTPUT_OF, "Model-Optimizer hf_eagle.py hooks the output of each listed layer", needs_depth=True
        ),
    ),
    map_order="any",
    classes={
        "gqa": ("LlamaForCausalLMEagle3", "llama"),
        "mla": ("Eagle3DeepseekV2ForCausalLM", "deepseek_v3"),
        "mla kimi": ("Eagle3DeepseekV2ForCausalLM", "kimi_k2"),
    },
    limits=(
        g.NO_NORMED_RESIDUAL_HERE, g.NO_QK_NORM, g.NO_PARALLEL, g.NO_STATE_NORM, g.NO_NORMED_FEEDBACK,
        g.NO_MLA_WHOLE_NORM, g.NEEDS_HEAD, g.SAME_WIDTH,
    ),
    writes_embedding=False,
    example="eaglekit convert DRAFTER OUT --to modelopt",
)  # fmt: skip

MODELOPT_MEGATRON = Dialect(
    name="modelopt-megatron",
    title="NVIDIA Model-Optimizer, Megatron export",
    sources=("NVIDIA/Model-Optimizer modelopt/torch/export/unified_export_megatron.py",),
    needs=(
        Clue("tensor", "midlayer.*"),
        Clue("no key", "speculators_model_type"),
        Clue("no key", "_torchspec_version"),
        Clue("no tensor", "t2d"),
    ),
    supports=(
        Clue("tensor", "midlayer.0.*", weight=10),
        Clue("value", "architectures", ("LlamaForCausalLMEagle3Deep",), weight=10),
        Clue("key", "eagle_config.next_layer_regular", weight=6),
    ),
    rows=(
        *table(first="midlayer.{n}.", later="midlayer.{n}.", later_norms=("hidden_norm.weight",)),
        *(row for row in table(first="midlayer.", later=None) if row.template.startswith("midlayer.")),
    ),
    dropped_tensors=g.COMMON_TENSORS,
    strips=("eagle_module.",),
    keys=_KEYS,
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=_DROPPED,
    ids=(IdMeaning(OUTPUT_OF, "Model-Optimizer's Megatron layers are listed as layer_number - 1"),),
    map_order="any",
)
