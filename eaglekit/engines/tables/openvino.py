"""OpenVINO GenAI with drafters exported by optimum-intel: two programs, of which the first decides what is read."""

from __future__ import annotations

from functools import partial

from eaglekit.drafter import Attention
from eaglekit.engines.model import Version
from eaglekit.engines.rules import EVER, Behaviour, Capability, DrafterClass, Engine, Feature, Trials, releases

B, F = Behaviour, Feature

_main = "huggingface/optimum-intel optimum/exporters/openvino/__main__.py"
_model = "huggingface/optimum-intel optimum/exporters/openvino/model_patcher.py"
_graph = "openvinotoolkit/openvino.genai src/cpp/src/speculative_decoding/eagle3_model_transforms.cpp"
_ = partial(Capability, "openvino")

OPENVINO = Engine(
    name="openvino",
    title="OpenVINO GenAI",
    releases=releases(("2026.4.1",), "the wheels of openvino-genai 2026.4.1.0 and optimum-intel 2.2.0"),
    read_throughout=True,
    classes=(DrafterClass("llama", Attention.GQA, "its drafter"),),
    rows=(
        _("*", F.LOOKUP,               EVER, B.EXACT,         _main),
        _("*", F.ARCHITECTURES,        EVER, B.HONOURED,      _main,
          ("LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM")),
        _("*", F.OUTER_PREFIX,         EVER, B.HONOURED,      _model),
        _("*", F.LAYER_NAMES,          EVER, B.WARNED,        _model, ("midlayer.",)),
        _("*", F.UNEXPECTED_TENSOR,    EVER, B.WARNED,        _model),
        _("*", F.UNEXPECTED_BIAS,      EVER, B.WARNED,        _model),
        _("*", F.MISSING_TENSOR,       EVER, B.UNINITIALISED, _model),
        _("*", F.DEPTH,                EVER, B.ONE_ENFORCED,  _model),
        _("*", F.FC_NORM,              EVER, B.ABSENT,        _model),
        _("*", F.OLD_STATE_NORMS,      EVER, B.ABSENT,        _model),
        _("*", F.NORM_BEFORE_FC,       EVER, B.ABSENT,        _model),
        _("*", F.NORM_OUTPUT,          EVER, B.ABSENT,        _graph),
        _("*", F.NORM_BEFORE_RESIDUAL, EVER, B.ABSENT,        _model),
        _("*", F.QK_NORM,              EVER, B.ABSENT,        _model),
        _("*", F.ATTENTION_BIAS,       EVER, B.ABSENT,        _model),
        # The exporter builds them; the pipeline then does not find the state that the next draft step reads.
        _("*", F.MLP_BIAS,             EVER, B.REJECTED,      _graph, ("mlp_bias",)),
        _("*", F.FC_BIAS,              EVER, B.ABSENT,        _model),
        _("*", F.RUNNERS,              EVER, B.V1,            _graph),
        _("*", F.IDS,                  EVER, B.ARGUMENT,      _graph, ("hidden_layers_list",)),
        _("*", F.DEFAULT_IDS,          EVER, B.ONE_LATER,     _graph),
        _("*", F.LAST_BOUNDARY,        EVER, B.CAPTURED,      _graph),
        _("*", F.WIDTH,                EVER, B.HONOURED,      _model),
        _("*", F.TARGET_WIDTH,         EVER, B.REJECTED,      _model),
        _("*", F.DRAFT_VOCAB_ABSENT,   EVER, B.REJECTED,      _model),
        _("*", F.PRUNED_HEAD,          EVER, B.HONOURED,      _model),
        _("*", F.MAP,                  EVER, B.HONOURED,      _graph),
        _("*", F.MAP_ABSENT,           EVER, B.UNINITIALISED, _model),
        _("*", F.MAP_AT_FULL_VOCABULARY, EVER, B.HONOURED,    _graph),
        _("*", F.HEAD_ABSENT,          EVER, B.UNINITIALISED, _model),
        _("*", F.EMBEDDING,            EVER, B.REPLACED,      _graph),
        _("*", F.ROPE_THETA,           EVER, B.HONOURED,      _model, ("rope_parameters.rope_theta", "rope_theta")),
        _("*", F.ROPE_SCALING,         EVER, B.HONOURED,      _model),
    ),
    hint="export with optimum-cli export openvino --trust-remote-code; write the layers, as outputs of blocks with "
         'spaces between, beside eagle3_mode in the exported XML: <hidden_layers_list value="2 16 29" />; the ids of '
         "the file are not read, and the default lies one block later than everybody else's",
    trials=Trials(
        Version.parse("2026.4.1"), "make test-openvino", {F.RUNNERS: "there is one pipeline for a CPU"},
        families=frozenset(),
    ),
)  # fmt: skip
