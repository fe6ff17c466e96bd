"""vLLM, 0.10.2 to 0.32.0: read from its wheels, malformed files tried on 0.32.0."""

from __future__ import annotations

from functools import partial

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
    between,
    releases,
    since,
)

B, F = Behaviour, Feature

LLAMA, MLA, QWEN3 = "llama", "mla", "qwen3"

_IDS = "eagle_aux_hidden_state_layer_ids"
_NESTED = "eagle_config." + _IDS
_WIDTH = "num_aux_hidden_states"

_llama = "vllm/model_executor/models/llama_eagle3.py"
_mla = "vllm/model_executor/models/deepseek_eagle3.py"
_qwen3 = "vllm/model_executor/models/qwen3_eagle3.py"
_eagle = "vllm/transformers_utils/configs/eagle.py"
_reader = "vllm/transformers_utils/configs/speculators/algos.py"
_speculative = "vllm/config/speculative.py"
_registry = "vllm/model_executor/models/registry.py"
_proposer = "vllm/v1/spec_decode/llm_base_proposer.py"
_v1 = "vllm/v1/worker/gpu_model_runner.py"
_v2 = "vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py"
_targets = "vllm/model_executor/models/interfaces.py"
_deepseek = "vllm/model_executor/models/deepseek_v2.py"
_eagle31 = "vllm-project/vllm#42764"
_MASK_IDS = ("dflash_config.mask_token_id", "mask_token_id", "dspark_noise_token_id", "pard_token", "ptd_token_id")
_roped = ("rope_parameters.rope_theta", "rope_theta")

_ = partial(Capability, "vllm")

_CLASSES = (
    # The name is looked up as it is written first, so what Eagle3 is put before must be a model of its own.
    _("*",   F.LOOKUP,        EVER,           B.PREFIXED, _eagle,
      ("LlamaForCausalLM", "Qwen3ForCausalLM", "MiniMaxM2ForCausalLM", "DeepseekV2ForCausalLM",
       "DeepseekV3ForCausalLM")),
    _(LLAMA, F.ARCHITECTURES, EVER,           B.HONOURED, _registry,
      ("Eagle3LlamaForCausalLM", "LlamaForCausalLMEagle3")),
    _(LLAMA, F.ARCHITECTURES, since("0.32"),  B.HONOURED, _registry,
      ("Eagle3MiniMaxM2ForCausalLM", "Eagle3Qwen2_5vlForCausalLM", "Eagle3Qwen3vlForCausalLM", "PEagleDraftModel",
       "PeagleLlamaForCausalLM")),
    _(QWEN3, F.ARCHITECTURES, since("0.24"),  B.HONOURED, _registry,
      ("Eagle3Qwen3ForCausalLM", "PeagleQwen3ForCausalLM")),
    _(MLA,   F.ARCHITECTURES, since("0.18"),  B.HONOURED, _registry,
      ("Eagle3DeepseekV2ForCausalLM", "Eagle3DeepseekV3ForCausalLM")),
    _(MLA,   F.MODEL_TYPES,   before("0.26"), B.HONOURED, _speculative, ("kimi_k2", "deepseek_v2")),
    _(MLA,   F.MODEL_TYPES,   since("0.26"),  B.HONOURED, _speculative, ("kimi_k2", "axk1", "deepseek_v2")),
    # Wheels 0.18.0, 0.21.0, 0.24.0, 0.26.0, 0.29.0, 0.32.0: hf_config_override, before Eagle3 is put in front.
    _(MLA,   F.OTHER_MODEL_TYPES, EVER,       B.REJECTED, _speculative,
      ("deepseek_v3", "deepseek_v32", "deepseek_mtp", "glm_moe_dsa")),
    _(MLA,   F.QUERY_RANK,    EVER,           B.REJECTED, _mla),
)  # fmt: skip

_SPECULATORS = (
    _("*", F.SPECULATORS_FORMAT,   EVER,                    B.FLATTENED,    _reader),
    _("*", F.SPECULATORS_TYPES,    before("0.22"),          B.REJECTED,     _reader, ("eagle3",)),
    _("*", F.SPECULATORS_TYPES,    since("0.22"),           B.REJECTED,     _reader, ("eagle3", "peagle")),
    _("*", F.SPECULATORS_CLASSES,  before("0.24"),          B.HONOURED,     "vllm-project/vllm#25961",
      ("*=Eagle3LlamaForCausalLM",)),
    _("*", F.SPECULATORS_CLASSES,  since("0.24"),           B.REJECTED,     _reader,
      ("llama=Eagle3LlamaForCausalLM", "qwen3=Eagle3Qwen3ForCausalLM")),
    _("*", F.COPIED_KEYS,          EVER,                    B.HONOURED,     _reader,
      ("draft_vocab_size", "target_hidden_size", "norm_before_residual")),
    _("*", F.COPIED_KEYS,          since("0.11.2"),         B.HONOURED,     "vllm-project/vllm#25961", (_IDS,)),
    _("*", F.COPIED_KEYS,          since("0.19"),           B.HONOURED,     "vllm-project/vllm#38111",
      ("norm_before_fc",)),
    _("*", F.COPIED_KEYS,          since("0.25"),           B.HONOURED,     "vllm-project/vllm#46488",
      ("fc_norm", "norm_output")),
    _("*", F.COPIED_KEYS_PARALLEL, since("0.22"),           B.HONOURED,     _reader,
      ("draft_vocab_size", "target_hidden_size", "norm_before_residual", "norm_before_fc", "mask_token_id", _IDS)),
    _("*", F.KEYS_LEFT_INSIDE,     EVER,                    B.HONOURED,     _reader, ("target_hidden_size", _IDS)),
    _("*", F.ASSUMED_RESIDUAL,     EVER,                    B.ASSUMED_TRUE, _reader, ("eagle3",)),
)  # fmt: skip

_TENSORS = (
    _("*",   F.OUTER_PREFIX,          EVER,           B.REJECTED,      _llama),
    _("*",   F.LAYER_NAMES,           EVER,           B.REJECTED,      _llama, ("midlayer.", "layers.{n}.")),
    _("*",   F.UNEXPECTED_TENSOR,     EVER,           B.REJECTED,      _llama),
    _("*",   F.UNEXPECTED_BIAS,       EVER,           B.DROPPED,       _llama),
    _(LLAMA, F.UNEXPECTED_INPUT_NORM, since("0.18"),  B.DROPPED,       _llama),
    _(QWEN3, F.UNEXPECTED_INPUT_NORM, EVER,           B.DROPPED,       _qwen3),
    _("*",   F.MISSING_TENSOR,        EVER,           B.UNINITIALISED, _llama),
    _("*",   F.DEPTH,                 before("0.11.2"), B.ONE,         _llama),
    _("*",   F.DEPTH,                 since("0.11.2"), B.FROM_CONFIG,  "vllm-project/vllm#26164"),
    _("*",   F.LATER_NORM,            EVER,           B.HONOURED,      _llama, ("input_layernorm.weight",)),
)  # fmt: skip

_SWITCHES = (
    _(LLAMA, F.FC_NORM,              before("0.22"),         B.ABSENT,      _eagle31),
    _(LLAMA, F.FC_NORM,              since("0.22"),          B.HONOURED,    _eagle31, ("fc_norm",)),
    _(MLA,   F.FC_NORM,              before("0.22"),         B.ABSENT,      _eagle31),
    _(MLA,   F.FC_NORM,              between("0.22", "0.23"), B.NOT_APPLIED, "vllm-project/vllm#43482", ("fc_norm",)),
    _(MLA,   F.FC_NORM,              since("0.23"),          B.HONOURED,    "vllm-project/vllm#43482", ("fc_norm",)),
    _(QWEN3, F.FC_NORM,              EVER,                   B.HONOURED,    _qwen3, ("fc_norm",)),
    _("*",   F.OLD_STATE_NORMS,      EVER,                   B.ABSENT,      _llama),
    _(LLAMA, F.NORM_BEFORE_FC,       before("0.18"),         B.ABSENT,      "vllm-project/vllm#36545"),
    _(LLAMA, F.NORM_BEFORE_FC,       between("0.18", "0.22"), B.HONOURED,   "vllm-project/vllm#36545",
      ("norm_before_fc",)),
    _(LLAMA, F.NORM_BEFORE_FC,       since("0.22"),          B.HONOURED,    _eagle31,
      ("eagle_config.norm_before_fc", "norm_before_fc")),
    _(MLA,   F.NORM_BEFORE_FC,       EVER,                   B.ABSENT,      _mla),
    _(QWEN3, F.NORM_BEFORE_FC,       EVER,                   B.HONOURED,    _qwen3,
      ("eagle_config.norm_before_fc", "norm_before_fc")),
    _("*",   F.NORM_OUTPUT,          before("0.22"),         B.ABSENT,      _eagle31),
    _("*",   F.NORM_OUTPUT,          since("0.22"),          B.HONOURED,    _eagle31, ("norm_output",)),
    _("*",   F.NORM_BEFORE_RESIDUAL, EVER,                   B.HONOURED,    _llama, ("norm_before_residual",)),
    _(LLAMA, F.QK_NORM,              EVER,                   B.ABSENT,      _llama),
    _(QWEN3, F.QK_NORM,              EVER,                   B.HONOURED,    _qwen3),
    _(LLAMA, F.ATTENTION_BIAS,       before("0.16"),         B.ABSENT,      _llama),
    _(LLAMA, F.ATTENTION_BIAS,       since("0.16"),          B.HONOURED,    _llama, ("attention_bias",)),
    _(QWEN3, F.ATTENTION_BIAS,       EVER,                   B.HONOURED,    _qwen3, ("attention_bias",)),
    _(QWEN3, F.OUTPUT_BIAS,          EVER,                   B.ABSENT,      "vllm/model_executor/models/qwen3.py"),
    _(LLAMA, F.MLP_BIAS,             EVER,                   B.HONOURED,    _llama, ("mlp_bias",)),
    _(QWEN3, F.MLP_BIAS,             EVER,                   B.ABSENT,      _qwen3),
    _(MLA,   F.MLP_BIAS,             EVER,                   B.ABSENT,      _mla),
    _("*",   F.FC_BIAS,              EVER,                   B.ABSENT,      _llama),
    _("*",   F.USE_AUX,              before("0.12"),         B.ABSENT,      _v1),
    _("*",   F.USE_AUX,              since("0.12"),          B.HONOURED,    _v1,
      ("eagle_config.use_aux_hidden_state",)),
    _(MLA,   F.USE_AUX,              EVER,                   B.NOT_APPLIED, _mla,
      ("eagle_config.use_aux_hidden_state",)),
    _("*",   F.USE_AUX_V2,           EVER,                   B.REJECTED,    _v2,
      ("eagle_config.use_aux_hidden_state",)),
)  # fmt: skip

_LAYERS = (
    _("*",   F.RUNNERS,        before("0.20"),           B.V1,       _v1),
    _("*",   F.RUNNERS,        between("0.20", "0.29"),  B.BOTH,     _v2),
    _("*",   F.RUNNERS,        since("0.29"),            B.V2_OR_V1, "vllm/config/vllm.py"),
    _("*",   F.IDS,            before("0.11.2"),         B.BOUNDARY, _v1),
    _("*",   F.IDS,            between("0.11.2", "0.22"), B.BOUNDARY, "vllm-project/vllm#25961", (_IDS,)),
    _("*",   F.IDS,            since("0.22"),            B.BOUNDARY, _eagle31, (_IDS, _NESTED)),
    _("*",   F.IDS_V2,         before("0.27"),           B.BOUNDARY, _v2, (_IDS,)),
    _("*",   F.IDS_V2,         since("0.27"),            B.BOUNDARY, _v2, (_IDS, "eagle_config.layer_ids")),
    _("*",   F.DEFAULT_IDS,    EVER,                     B.EARLY_MIDDLE_LATE, _targets),
    _("*",   F.LAST_BOUNDARY,  EVER,                     B.CAPTURED, _targets),
    _("*",   F.LAST_BOUNDARY,  before("0.25"),           B.NEVER,    "vllm-project/vllm#46788", (), "deepseek"),
    _("*",   F.FIRST_BOUNDARY, EVER,                     B.CAPTURED, _targets),
    _("*",   F.FIRST_BOUNDARY, EVER,                     B.REJECTED, _deepseek, (), "deepseek"),
    _("*",   F.WIDTH,          before("0.22"),           B.HONOURED, _llama),
    _("*",   F.WIDTH,          since("0.22"),            B.HONOURED, _eagle31, (_WIDTH, _NESTED)),
    _(QWEN3, F.WIDTH,          EVER,                     B.HONOURED, _qwen3, ("num_aux_layers", _WIDTH, _IDS, _NESTED)),
    _("*",   F.TARGET_WIDTH,   EVER,                     B.HONOURED, _llama, ("target_hidden_size",)),
    _("*",   F.FC_BY_WIDTH,    EVER,                     B.ABSENT,   _llama),
)  # fmt: skip

_SIZES = (
    _("*",   F.DRAFT_VOCAB_ABSENT,     EVER,           B.HONOURED, _llama),
    _("*",   F.PRUNED_HEAD,            EVER,           B.HONOURED, _llama),
    _("*",   F.MAP,                    EVER,           B.HONOURED, _llama),
    _("*",   F.MAP_ABSENT,             EVER,           B.IDENTITY, _llama),
    _("*",   F.MAP_AT_FULL_VOCABULARY, before("0.30"), B.HONOURED, _llama),
    _("*",   F.MAP_AT_FULL_VOCABULARY, since("0.30"),  B.REJECTED, _llama),
    _("*",   F.MAP_PAST_VOCABULARY,    EVER,           B.REJECTED, _llama),
    _("*",   F.VOCAB_SIZE,             before("0.30"), B.NOT_KNOWN, _llama),
    _("*",   F.VOCAB_SIZE,             since("0.30"),  B.REJECTED_AT_FULL_VOCABULARY, _llama),
    _("*",   F.HEAD_ABSENT,            EVER,           B.FILLED,   _proposer),
    # Wheels 0.10.2 and 0.11.0 share the target's whenever the shapes are equal; 0.11.2 looks whether they differ.
    _("*",   F.EMBEDDING,              before("0.11.2"), B.REPLACED_AT_SAME_WIDTH, "vllm/v1/spec_decode/eagle.py"),
    _("*",   F.EMBEDDING,              since("0.11.2"), B.KEPT,    "vllm-project/vllm#28549"),
    _(LLAMA, F.ACTIVATION,             EVER,           B.REJECTED, "vllm/model_executor/models/llama.py", ("silu",)),
    _("*",   F.ROPE_THETA,             EVER,           B.HONOURED, _llama, _roped),
    _("*",   F.ROPE_SCALING,           EVER,           B.HONOURED, _llama),
    _(LLAMA, F.PARALLEL,               before("0.16"), B.ABSENT,   _llama),
    _(LLAMA, F.PARALLEL,               since("0.16"),  B.HONOURED, _proposer),
    _(QWEN3, F.PARALLEL,               EVER,           B.HONOURED, _qwen3),
    _(MLA,   F.PARALLEL,               EVER,           B.ABSENT,   _mla),
    _(LLAMA, F.MASK_ID,             EVER,           B.HONOURED, _proposer,
      _MASK_IDS),
    _(QWEN3, F.MASK_ID,             EVER,           B.HONOURED, _proposer, _MASK_IDS),
)  # fmt: skip

TRIALS = Trials(
    Version.parse("0.32.0"),
    "make test-engines",
    {
        F.RUNNERS: "a CPU has V1 only; that everything runs on V1 there is seen in every trial",
        F.USE_AUX_V2: "V2 needs a GPU",
        F.IDS_V2: "V2 needs a GPU; its function that reads the ids is called by itself",
    },
    families=frozenset({"deepseek"}),
)

VLLM = Engine(
    name="vllm",
    title="vLLM",
    # Releases that lie between two wheels of one behaviour are listed with them.
    releases=releases(
        ("0.10.2", "0.11.0", "0.11.2", "0.12.0", "0.13.0", "0.14.0", "0.14.1", "0.15.0", "0.15.1", "0.16.0", "0.17.1",
         "0.18.1", "0.19.0", "0.19.1", "0.20.2", "0.21.0", "0.22.0", "0.22.1", "0.23.0", "0.24.0", "0.25.1", "0.26.0",
         "0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0"),
        "the wheel",
    ),
    classes=(
        DrafterClass(LLAMA, Attention.GQA, "its Llama drafter"),
        DrafterClass(QWEN3, Attention.GQA, "its Qwen3 drafter"),
        DrafterClass(MLA, Attention.MLA, "its MLA drafter"),
    ),
    rows=(*_CLASSES, *_SPECULATORS, *_TENSORS, *_SWITCHES, *_LAYERS, *_SIZES),
    read_throughout=True,
    trials=TRIALS,
    hint='say "method": "eagle3" in --speculative-config: without it the method is guessed from the path, and a path '
         'without "eagle3" in it is taken for an ordinary draft model',
)  # fmt: skip
