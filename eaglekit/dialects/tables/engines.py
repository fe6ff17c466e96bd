"""Layouts named after their readers: the portable one, vLLM, SGLang, TRT-LLM, tokenspeed."""

from __future__ import annotations

from eaglekit.dialects.dialect import Clue, Dialect, IdMeaning
from eaglekit.dialects.families import BOUNDARY, OUTPUT_OF
from eaglekit.dialects.keys import Dropped
from eaglekit.dialects.rows import table
from eaglekit.dialects.tables import groups as g

_DROPPED = (*g.COMMON_DROPPED, Dropped("_torchspec_version", "provenance of the training run"))
_BOTH_NORMS = ("input_layernorm.weight", "hidden_norm.weight")
_EAGLE3 = ("LlamaForCausalLMEagle3", "llama")
# vLLM takes deepseek_v3 for an MTP block (config/speculative.py hf_config_override); the published MLA drafters that
# vLLM and SGLang serve say kimi_k2, and vLLM 0.32 was seen to load it for a DeepSeek target too.
_MLA = ("Eagle3DeepseekV2ForCausalLM", "kimi_k2")

PORTABLE = Dialect(
    name="portable",
    title="one EAGLE 3.1 folder that vLLM and SGLang read alike",
    sources=(
        "vllm/model_executor/models/llama_eagle3.py",
        "vllm/model_executor/models/deepseek_eagle3.py",
        "sglang/srt/models/llama_eagle3.py",
        "sglang/srt/models/kimi_k25_eagle3.py",
    ),
    needs=(g.ours("portable"),),
    rows=table(first="layers.0.", later="layers.{n}.", later_norms=_BOTH_NORMS),
    dropped_tensors=g.COMMON_TENSORS,
    keys=(
        *g.ARCHITECTURE,
        *g.model_keys(dtypes=("torch_dtype", "dtype"), ropes="both"),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        *g.NESTED_FLAGS,
        g.TOP_BOUNDARY,
        g.NESTED_SGLANG,
        g.USE_AUX,
        *g.OWN_KEYS,
    ),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=_DROPPED,
    ids=(IdMeaning(BOUNDARY, "our own files state boundary indices"),),
    map_order="any",
    # vLLM and SGLang pass it over; trainers that go on from the file need it.
    writes_mask=True,
    classes={"gqa": _EAGLE3, "mla": _MLA},
    limits=(
        g.NO_NORMED_RESIDUAL, g.NO_QK_NORM_SGLANG, g.NO_BIAS_SGLANG, g.NO_FC_BIAS, g.NO_PARALLEL_SGLANG,
        g.NO_MLA_WHOLE_NORM, g.NO_MLA_DEEP, g.NO_MLA_RANKLESS,
    ),
    needs_target_family=True,
    example="eaglekit convert DRAFTER OUT --target TARGET",
)  # fmt: skip

VLLM = Dialect(
    name="vllm",
    title="vLLM's plain folder",
    sources=("vllm/model_executor/models/llama_eagle3.py", "vllm/transformers_utils/configs/eagle.py"),
    needs=(g.LAYERS_0, Clue("no key", "speculators_model_type"), Clue("no tensor", "model.*")),
    supports=(
        g.ours("vllm"),
        g.HIDDEN_NORM,
        Clue("key", "eagle_aux_hidden_state_layer_ids", weight=3),
        Clue("key", "num_aux_hidden_states"),
        Clue(
            "value",
            "architectures",
            ("LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "Eagle3DeepseekV2ForCausalLM",
             "Eagle3DeepseekV3ForCausalLM", "Eagle3Qwen3ForCausalLM", "PeagleLlamaForCausalLM"),
            weight=2,
        ),
    ),
    rows=table(
        first="layers.0.", later="layers.{n}.", later_norms=("input_layernorm.weight",), qk_norms=True
    ),
    dropped_tensors=g.COMMON_TENSORS,
    keys=(
        *g.ARCHITECTURE,
        *g.model_keys(dtypes=("torch_dtype", "dtype"), ropes="both"),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        *g.NESTED_FLAGS_READ,
        *g.MASK_KEYS,
        g.TOP_BOUNDARY,
        g.NESTED_READ,
        g.USE_AUX,
        *g.OWN_KEYS,
    ),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=_DROPPED,
    map_order="any",
    writes_mask=True,
    classes={
        "gqa": _EAGLE3,
        "qk": ("Eagle3Qwen3ForCausalLM", "qwen3"),
        "mla": _MLA,
        "parallel": _EAGLE3,
    },
    limits=(g.NO_FC_BIAS, g.NO_MLA_WHOLE_NORM, g.NO_MLA_RANKLESS),
    example="eaglekit convert DRAFTER OUT --to vllm",
)  # fmt: skip

SGLANG = Dialect(
    name="sglang",
    title="SGLang's plain folder",
    sources=("sglang/srt/models/llama_eagle3.py", "sglang/srt/models/kimi_k25_eagle3.py"),
    needs=(
        g.LAYERS_0,
        Clue("key", "eagle_config.eagle_aux_hidden_state_layer_ids"),
        Clue("no key", "eagle_aux_hidden_state_layer_ids"),
        Clue("no tensor", "model.*"),
    ),
    supports=(
        g.ours("sglang"),
        g.HIDDEN_NORM,
        Clue("value", "architectures", ("LlamaForCausalLMEagle3", "Eagle3DeepseekV2ForCausalLM"), weight=4),
    ),
    rows=table(first="layers.0.", later="layers.{n}.", later_norms=("hidden_norm.weight", "input_layernorm.weight")),
    dropped_tensors=g.COMMON_TENSORS,
    keys=(
        *g.ARCHITECTURE,
        *g.model_keys(dtypes=("torch_dtype", "dtype"), ropes="flat"),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        *g.NESTED_FLAGS,
        g.NESTED_SGLANG,
        g.TOP_READ,
        g.USE_AUX,
        *g.OWN_KEYS,
    ),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=_DROPPED,
    map_order="any",
    writes_mask=True,
    classes={"gqa": _EAGLE3, "mla": _MLA},
    limits=(
        g.NO_NORMED_RESIDUAL, g.NO_QK_NORM_SGLANG, g.NO_BIAS_SGLANG, g.NO_PARALLEL_SGLANG,
        g.NO_MLA_WHOLE_NORM, g.NO_MLA_DEEP, g.NO_MLA_RANKLESS,
    ),
    needs_target_family=True,
    example="eaglekit convert DRAFTER OUT --to sglang --target-family qwen3",
)  # fmt: skip

TRTLLM = Dialect(
    name="trtllm",
    title="TensorRT-LLM's PyTorch backend",
    sources=("tensorrt_llm/_torch/models/modeling_speculative.py", "NVIDIA/TensorRT-LLM#14988"),
    needs=(g.ours("trtllm"),),
    rows=table(first="layers.0.", later="layers.{n}.", later_norms=("hidden_norm.weight",)),
    keys=(
        *g.ARCHITECTURE,
        *g.model_keys(dtypes=("torch_dtype", "dtype"), ropes="flat"),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        *g.NESTED_FLAGS,
        g.NESTED_OUTPUT_OF,
        g.TOP_READ,
        g.USE_AUX,
        *g.OWN_KEYS,
    ),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=_DROPPED,
    ids=(IdMeaning(OUTPUT_OF, "modeling_speculative.py maybe_capture_hidden_states"),),
    map_order="any",
    classes={
        # modeling_auto.py turns this name into its EAGLE3LlamaForCausalLM; it is also what Model-Optimizer writes.
        "gqa": _EAGLE3,
        "mla": ("Eagle3DeepSeekV3ForCausalLM", "deepseek_v3"),
    },
    limits=(g.NO_NORMED_RESIDUAL, g.NO_QK_NORM, g.NO_PARALLEL, g.NO_FC_BIAS, g.NO_MLA_WHOLE_NORM),
    example="eaglekit convert DRAFTER OUT --to trtllm",
)

TOKENSPEED = Dialect(
    name="tokenspeed",
    title="tokenspeed",
    sources=("tokenspeed runtime/models/llama_eagle3.py", "tokenspeed runtime/models/deepseek_v3.py"),
    needs=(g.ours("tokenspeed"),),
    rows=table(first="layers.0.", later=None),
    keys=(
        *g.ARCHITECTURE,
        *g.model_keys(dtypes=("torch_dtype", "dtype"), ropes="flat"),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        g.TOP_TOKENSPEED,
        g.NESTED_TOKENSPEED,
        g.USE_AUX,
        *g.OWN_KEYS,
    ),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=_DROPPED,
    map_order="any",
    classes={"gqa": _EAGLE3, "mla": _MLA},
    limits=(
        g.NO_NORMED_RESIDUAL, g.NO_QK_NORM, g.NO_BIAS_SGLANG, g.NO_FC_BIAS, g.NO_PARALLEL, g.NO_MLA_WHOLE_NORM,
        g.ONE_LAYER, g.SAME_WIDTH,
    ),
    needs_target_family=True,
    example="eaglekit convert DRAFTER OUT --to tokenspeed --target-family gpt_oss",
)  # fmt: skip
