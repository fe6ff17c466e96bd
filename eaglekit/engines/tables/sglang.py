"""SGLang, 0.4.6 to 0.5.23: read from its wheels."""

from __future__ import annotations

from functools import partial

from eaglekit.dialects.families import FAMILIES, SGLANG_DEEPSEEK, SGLANG_GPT_OSS
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

_llama = "sglang/srt/models/llama_eagle3.py"
_kimi = "sglang/srt/models/kimi_k25_eagle3.py"
_worker = "sglang/srt/speculative/eagle_worker_v2.py"
_capture = "sglang/srt/models/llama.py set_eagle3_layers_to_capture"
_roped = ("rope_parameters.rope_theta", "rope_theta")
_newer = "sgl-project/sglang#24620"

_ = partial(Capability, "sglang")

_CLASSES = (
    _("*",   F.SPECULATORS_FORMAT, EVER,            B.ABSENT,   "no speculators config anywhere below sglang/srt"),
    _("*",   F.LOOKUP,             EVER,            B.EXACT,    "sglang/srt/models/registry.py"),
    _(LLAMA, F.ARCHITECTURES,      EVER,            B.HONOURED, _llama, ("LlamaForCausalLMEagle3",)),
    _(MLA,   F.ARCHITECTURES,      since("0.5.12"), B.HONOURED, _kimi, ("Eagle3DeepseekV2ForCausalLM",)),
    _(MLA,   F.QUERY_RANK,         EVER,            B.REJECTED, _kimi),
)  # fmt: skip

_TENSORS = (
    _(LLAMA, F.OUTER_PREFIX,      EVER,             B.HONOURED,      _llama),
    _(MLA,   F.OUTER_PREFIX,      EVER,             B.WARNED,        _kimi),
    _(LLAMA, F.LAYER_NAMES,       before("0.5.12"), B.DROPPED,       _llama, ("midlayer.",)),
    _(LLAMA, F.LAYER_NAMES,       since("0.5.12"),  B.DROPPED,       _newer, ("midlayer.", "layers.{n}.")),
    _(MLA,   F.LAYER_NAMES,       EVER,             B.WARNED,        _kimi, ("midlayer.", "layers.{n}.")),
    _(LLAMA, F.UNEXPECTED_TENSOR, EVER,             B.DROPPED,       _llama),
    _(MLA,   F.UNEXPECTED_TENSOR, EVER,             B.WARNED,        _kimi),
    _("*",   F.UNEXPECTED_BIAS,   EVER,             B.DROPPED,       _llama),
    _("*",   F.MISSING_TENSOR,    EVER,             B.UNINITIALISED, _llama),
    _(LLAMA, F.DEPTH,             before("0.5.12"), B.ONE,           _llama),
    _(LLAMA, F.DEPTH,             since("0.5.12"),  B.FROM_CONFIG,   _newer),
    _(MLA,   F.DEPTH,             EVER,             B.ONE,           _kimi),
    _("*",   F.LATER_NORM,        EVER,             B.HONOURED,      _llama, ("hidden_norm.weight",)),
)  # fmt: skip

_SWITCHES = (
    _(LLAMA, F.FC_NORM,              before("0.5.12"), B.ABSENT,   _newer),
    _(LLAMA, F.FC_NORM,              since("0.5.12"),  B.HONOURED, _newer, ("fc_norm", "use_aux_norm")),
    _(MLA,   F.FC_NORM,              before("0.5.13"), B.ABSENT,   _kimi),
    _(MLA,   F.FC_NORM,              since("0.5.13"),  B.HONOURED, _kimi, ("fc_norm",)),
    _(LLAMA, F.OLD_STATE_NORMS,      before("0.5.12"), B.ABSENT,   _newer),
    _(LLAMA, F.OLD_STATE_NORMS,      since("0.5.12"),  B.HONOURED, _newer),
    _(MLA,   F.OLD_STATE_NORMS,      EVER,             B.ABSENT,   _kimi),
    _(LLAMA, F.NORM_BEFORE_FC,       before("0.5.17"), B.ABSENT,   "sgl-project/sglang#32334"),
    _(LLAMA, F.NORM_BEFORE_FC,       since("0.5.17"),  B.HONOURED, "sgl-project/sglang#32334",
      ("eagle_config.norm_before_fc", "norm_before_fc")),
    _(MLA,   F.NORM_BEFORE_FC,       EVER,             B.ABSENT,   _kimi),
    _(LLAMA, F.NORM_OUTPUT,          before("0.5.12"), B.ABSENT,   _newer),
    _(LLAMA, F.NORM_OUTPUT,          since("0.5.12"),  B.HONOURED, _newer, ("norm_output",)),
    _(MLA,   F.NORM_OUTPUT,          before("0.5.13"), B.ABSENT,   _kimi),
    _(MLA,   F.NORM_OUTPUT,          since("0.5.13"),  B.HONOURED, _kimi, ("norm_output",)),
    _("*",   F.NORM_BEFORE_RESIDUAL, EVER,             B.ABSENT,   _llama),
    _("*",   F.QK_NORM,              EVER,             B.ABSENT,   _llama),
    _("*",   F.ATTENTION_BIAS,       EVER,             B.ABSENT,   _llama),
    # The key that gives fc a bias gives the attention's output one too, of whatever lies in memory.
    _(LLAMA, F.OUTPUT_BIAS,          EVER,             B.HONOURED, "sglang/srt/models/llama.py",
      ("attention_bias", "bias")),
    _("*",   F.MLP_BIAS,             EVER,             B.ABSENT,   _llama),
    _(LLAMA, F.FC_BIAS,              EVER,             B.HONOURED, _llama, ("bias",)),
    _("*",   F.USE_AUX,              since("0.5.12"),  B.HONOURED, "sgl-project/sglang#14920",
      ("eagle_config.use_aux_hidden_state",)),
    _("*",   F.PARALLEL,             EVER,             B.ABSENT,   "sgl-project/sglang#23171"),
)  # fmt: skip

# Which families have a rule of their own is said in eaglekit.dialects.families; since when is said here.
_LAYERS = (
    _("*",   F.RUNNERS,       EVER,             B.V1,       _worker),
    _("*",   F.IDS,           EVER,             B.SGLANG,   _capture, (_NESTED,)),
    *(_("*", F.IDS,           since("0.5.13"),  B.SGLANG_DEEPSEEK, "sgl-project/sglang#25454", (_NESTED,), family.name)
      for family in FAMILIES.values() if family.sglang is SGLANG_DEEPSEEK),
    *(_("*", F.IDS,           since("0.5.17"),  B.SGLANG_GPT_OSS, "sgl-project/sglang#32334", (_NESTED,), family.name)
      for family in FAMILIES.values() if family.sglang is SGLANG_GPT_OSS),
    _("*",   F.DEFAULT_IDS,   EVER,             B.EARLY_MIDDLE_LATE, _capture),
    # The text-only class does not add 1, the VL class does; a text config does not say which of them serves it.
    _("*",   F.DEFAULT_IDS,   since("0.5.16"),  B.NOT_KNOWN, "sglang/srt/models/minimax_m3_vl.py", (), "minimax_m3"),
    _("*",   F.DEFAULT_IDS,   since("0.5.16"),  B.ONE_LATER, "sglang/srt/models/minimax_m3_vl.py", (), "minimax_m3_vl"),
    _("*",   F.LAST_BOUNDARY, EVER,             B.NEVER,    _capture),
    *(_("*", F.LAST_BOUNDARY, since("0.5.17"),  B.CAPTURED, "sgl-project/sglang#32334", (), family.name)
      for family in FAMILIES.values() if family.sglang is SGLANG_GPT_OSS),
    _(LLAMA, F.WIDTH,         before("0.5.12"), B.HONOURED, _llama),
    _(LLAMA, F.WIDTH,         since("0.5.12"),  B.HONOURED, _newer, ("num_aux_hidden_states", _NESTED)),
    _(MLA,   F.WIDTH,         EVER,             B.HONOURED, _kimi, (_NESTED, _IDS)),
    _("*",   F.TARGET_WIDTH,  EVER,             B.HONOURED, _llama, ("target_hidden_size",)),
    _("*",   F.FC_BY_WIDTH,   EVER,             B.HONOURED, _llama),
)  # fmt: skip

_SIZES = (
    _("*",   F.DRAFT_VOCAB_ABSENT, EVER,            B.REJECTED,       _llama),
    _("*",   F.PRUNED_HEAD,        EVER,            B.HONOURED,       _llama),
    _("*",   F.MAP,                EVER,            B.HONOURED,       _worker),
    _("*",   F.TIED_HEAD,          EVER,            B.DROPPED,        _llama),
    _("*",   F.HEAD_ABSENT,        before("0.5.4"), B.UNINITIALISED,  _llama),
    _("*",   F.HEAD_ABSENT,        since("0.5.4"),  B.FILLED_IF_NULL, _llama),
    _("*",   F.EMBEDDING,          EVER,            B.REPLACED_AT_SAME_WIDTH, _worker),
    _(LLAMA, F.ACTIVATION,         EVER,            B.REJECTED,       "sglang/srt/models/llama.py", ("silu",)),
    _("*",   F.ROPE_THETA,         EVER,            B.HONOURED,       _llama, _roped),
    _("*",   F.ROPE_SCALING,       EVER,            B.HONOURED,       _llama),
)  # fmt: skip

_WHOLE = "the class alone does not show it"

TRIALS = Trials(
    Version.parse("0.5.23"),
    "make test-sglang",
    {
        F.SPECULATORS_FORMAT: "nothing of it reads one",
        F.LOOKUP: _WHOLE,
        F.FC_BY_WIDTH: "a drafter of one captured state is nobody's",
        F.USE_AUX: _WHOLE,
        F.PARALLEL: _WHOLE,
        F.RUNNERS: _WHOLE,
        F.IDS: _WHOLE,
        F.DEFAULT_IDS: _WHOLE,
        F.LAST_BOUNDARY: _WHOLE,
        F.EMBEDDING: _WHOLE,
    },
    families=frozenset(),
    drafters=("llama",),
    on="SGLang's own drafter class and weight loader, on a CPU and without its attention kernels,",
)

SGLANG = Engine(
    name="sglang",
    title="SGLang",
    read_throughout=True,
    releases=releases(
        ("0.4.6", "0.4.7", "0.4.8", "0.4.9", "0.4.10", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.5.5", "0.5.6", "0.5.7",
         "0.5.8", "0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.13", "0.5.14", "0.5.15", "0.5.16", "0.5.17", "0.5.18",
         "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23"),
        "the wheel",
    ),
    classes=(
        DrafterClass(LLAMA, Attention.GQA, "its Llama drafter"),
        DrafterClass(MLA, Attention.MLA, "its Kimi MLA drafter"),
    ),
    rows=(*_CLASSES, *_TENSORS, *_SWITCHES, *_LAYERS, *_SIZES),
    trials=TRIALS,
    hint="--speculative-algorithm EAGLE3; --speculative-token-map is ignored for EAGLE-3, d2t is what counts",
)  # fmt: skip
