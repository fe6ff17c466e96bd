"""Programs that load drafters without serving them to others: speculators, and the inference code of two trainers."""

from __future__ import annotations

from functools import partial

from eaglekit.drafter import Attention
from eaglekit.engines.rules import (
    EVER,
    Behaviour,
    Capability,
    DrafterClass,
    Engine,
    Feature,
    before,
    releases,
    since,
)

B, F = Behaviour, Feature

_IDS = "eagle_aux_hidden_state_layer_ids"
_GQA = DrafterClass("llama", Attention.GQA, "its drafter")

_core = "vllm-project/speculators src/speculators/models/eagle3/core.py"
_config = "vllm-project/speculators src/speculators/models/eagle3/config.py"
_model = "vllm-project/speculators src/speculators/model.py"
_utils = "vllm-project/speculators src/speculators/models/utils.py"
_whole_norm = "vllm-project/speculators#337"
_state_norms = "vllm-project/speculators#670"
_feedback = "vllm-project/speculators#610"
_ = partial(Capability, "speculators")

SPECULATORS = Engine(
    name="speculators",
    title="speculators",
    read_throughout=True,
    releases=releases(
        ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "0.9.0"),
        "the tag; 0.9.0 the wheel",
    ),
    classes=(_GQA,),
    rows=(
        _("*", F.SPECULATORS_FORMAT,   EVER,          B.MERGED,        _config),
        _("*", F.PLAIN_FORMAT,         before("0.9"), B.NOT_KNOWN,     _config),
        _("*", F.PLAIN_FORMAT,         since("0.9"),  B.REJECTED,      _model),
        _("*", F.LOOKUP,               EVER,          B.BY_ATTENTION,  _config),
        _("*", F.LAYER_NAMES,          EVER,          B.WARNED,        _core, ("layers.{n}.",)),
        _("*", F.UNEXPECTED_TENSOR,    EVER,          B.WARNED,        _core),
        _("*", F.UNEXPECTED_BIAS,      EVER,          B.WARNED,        _core),
        _("*", F.MISSING_TENSOR,       EVER,          B.UNINITIALISED, _core),
        _("*", F.DEPTH,                EVER,          B.FROM_CONFIG,   _core),
        _("*", F.LATER_NORM,           EVER,          B.HONOURED,      _core, ("input_layernorm.weight",)),
        _("*", F.FC_NORM,              before("0.7"), B.NOT_KNOWN,     _state_norms),
        _("*", F.FC_NORM,              since("0.7"),  B.HONOURED,      _state_norms, ("fc_norm",)),
        _("*", F.NORM_OUTPUT,          before("0.7"), B.NOT_KNOWN,     _feedback),
        _("*", F.NORM_OUTPUT,          since("0.7"),  B.HONOURED,      _feedback, ("norm_output",)),
        _("*", F.NORM_BEFORE_FC,       before("0.5"), B.NOT_KNOWN,     _whole_norm),
        _("*", F.NORM_BEFORE_FC,       since("0.5"),  B.HONOURED,      _whole_norm, ("norm_before_fc",)),
        _("*", F.NORM_BEFORE_RESIDUAL, EVER,          B.HONOURED,      _config, ("norm_before_residual",)),
        _("*", F.ATTENTION_BIAS,       EVER,          B.HONOURED,      _core, ("attention_bias",)),
        _("*", F.RUNNERS,              EVER,          B.V1,            _config),
        _("*", F.IDS,                  before("0.2"), B.NOT_KNOWN,     _config),
        _("*", F.IDS,                  since("0.2"),  B.BOUNDARY,      _config, (_IDS,)),
        _("*", F.DEFAULT_IDS,          EVER,          B.EARLY_MIDDLE_LATE, _utils),
        _("*", F.TARGET_WIDTH,         EVER,          B.REJECTED,      _core),
        _("*", F.PRUNED_HEAD,          EVER,          B.HONOURED,      _core),
        _("*", F.MAP,                  EVER,          B.HONOURED,      _core),
        _("*", F.EMBEDDING,            EVER,          B.KEPT,          _core),
        _("*", F.EMBEDDING_ABSENT,     since("0.9"),  B.UNINITIALISED, _model),
    ),
)  # fmt: skip

_cnets = "SafeAILab/EAGLE eagle/model/cnets.py"
_ea = "SafeAILab/EAGLE eagle/model/ea_model.py"
_ = partial(Capability, "safeailab")

SAFEAILAB = Engine(
    name="safeailab",
    title="SafeAILab/EAGLE",
    releases=releases(("2026.08",), "SafeAILab/EAGLE cb7e0841"),
    classes=(_GQA,),
    rows=(
        _("*", F.LOOKUP,               EVER, B.BY_ATTENTION,  _ea),
        _("*", F.OUTER_PREFIX,         EVER, B.DROPPED,       _ea),
        _("*", F.LAYER_NAMES,          EVER, B.DROPPED,       _ea, ("midlayer.",)),
        _("*", F.UNEXPECTED_TENSOR,    EVER, B.DROPPED,       _ea),
        _("*", F.UNEXPECTED_BIAS,      EVER, B.DROPPED,       _ea),
        _("*", F.MISSING_TENSOR,       EVER, B.UNINITIALISED, _ea),
        _("*", F.DEPTH,                EVER, B.ONE,           _cnets),
        _("*", F.FC_NORM,              EVER, B.ABSENT,        _cnets),
        _("*", F.OLD_STATE_NORMS,      EVER, B.ABSENT,        _cnets),
        _("*", F.NORM_OUTPUT,          EVER, B.ABSENT,        _cnets),
        _("*", F.NORM_BEFORE_FC,       EVER, B.ABSENT,        _cnets),
        _("*", F.NORM_BEFORE_RESIDUAL, EVER, B.ABSENT,        _cnets),
        _("*", F.QK_NORM,              EVER, B.ABSENT,        _cnets),
        _("*", F.FC_BIAS,              EVER, B.ABSENT,        _cnets),
        _("*", F.PARALLEL,             EVER, B.ABSENT,        _cnets),
        _("*", F.RUNNERS,              EVER, B.V1,            "SafeAILab/EAGLE eagle/model/modeling_llama_kv.py"),
        _("*", F.IDS,                  EVER, B.BOUNDARY,      "SafeAILab/EAGLE eagle/model/modeling_llama_kv.py"),
        _("*", F.DEFAULT_IDS,          EVER, B.EARLY_MIDDLE_LATE, "SafeAILab/EAGLE eagle/model/modeling_llama_kv.py"),
        _("*", F.WIDTH,                EVER, B.HONOURED,      _cnets),
        _("*", F.TARGET_WIDTH,         EVER, B.HONOURED,      _cnets, ("target_hidden_size",)),
        _("*", F.FC_BY_WIDTH,          EVER, B.HONOURED,      _cnets),
        _("*", F.DRAFT_VOCAB_ABSENT,   EVER, B.REJECTED,      _cnets),
        _("*", F.PRUNED_HEAD,          EVER, B.HONOURED,      _cnets),
        _("*", F.MAP,                  EVER, B.HONOURED,      _cnets),
        _("*", F.EMBEDDING,            EVER, B.KEPT,          _ea),
        _("*", F.ROPE_THETA,           EVER, B.HONOURED,      _cnets, ("rope_theta",)),
        _("*", F.ROPE_SCALING,         EVER, B.REJECTED,      _cnets, ("linear", "dynamic")),
        _("*", F.HEAD_DIM,             EVER, B.ABSENT,        _cnets),
    ),
)  # fmt: skip

_slim = "Tencent/AngelSlim angelslim/compressor/speculative/inference/models/eagle3"
_ = partial(Capability, "angelslim")

ANGELSLIM = Engine(
    name="angelslim",
    title="AngelSlim",
    releases=releases(("2026.08",), "Tencent/AngelSlim 67394ce"),
    classes=(_GQA,),
    rows=(
        _("*", F.LOOKUP,               EVER, B.BY_ATTENTION,  _slim),
        _("*", F.OUTER_PREFIX,         EVER, B.DROPPED,       _slim),
        _("*", F.LAYER_NAMES,          EVER, B.DROPPED,       _slim, ("midlayer.",)),
        _("*", F.UNEXPECTED_TENSOR,    EVER, B.DROPPED,       _slim),
        _("*", F.UNEXPECTED_BIAS,      EVER, B.DROPPED,       _slim),
        _("*", F.MISSING_TENSOR,       EVER, B.UNINITIALISED, _slim),
        _("*", F.FC_NORM,              EVER, B.ABSENT,        _slim),
        _("*", F.NORM_OUTPUT,          EVER, B.ABSENT,        _slim),
        _("*", F.NORM_BEFORE_FC,       EVER, B.ABSENT,        _slim),
        _("*", F.NORM_BEFORE_RESIDUAL, EVER, B.ABSENT,        _slim),
        _("*", F.RUNNERS,              EVER, B.V1,            _slim),
        _("*", F.IDS,                  EVER, B.BOUNDARY,      _slim),
        _("*", F.DEFAULT_IDS,          EVER, B.EARLY_MIDDLE_LATE, _slim),
        _("*", F.PRUNED_HEAD,          EVER, B.HONOURED,      _slim),
        _("*", F.MAP,                  EVER, B.HONOURED,      _slim),
        _("*", F.ROPE_THETA,           EVER, B.HONOURED,      _slim, ("rope_theta",)),
    ),
)  # fmt: skip
