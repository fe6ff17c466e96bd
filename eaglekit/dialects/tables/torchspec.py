"""TorchSpec: native (midlayer) and exported with `--vllm` (layers.0)."""

from __future__ import annotations

from eaglekit.dialects import keys as k
from eaglekit.dialects.dialect import Clue, Dialect, IdMeaning
from eaglekit.dialects.families import OUTPUT_OF
from eaglekit.dialects.keys import Codec, Dropped, Key
from eaglekit.dialects.rows import table
from eaglekit.dialects.tables import groups as g

_SOURCES = ("TorchSpec torchspec/models/draft/deepseek_eagle.py", "TorchSpec tools/convert_to_hf.py")
_DROPPED = (
    *g.COMMON_DROPPED,
    Dropped("_torchspec_version", "which release trained it; kept in the provenance"),
)
# A drafter that TorchSpec calls kimi_k2 is trained for a Kimi K2 target: configs/draft_models/kimi_k25_eagle3_mla.json.
_KIMI_TARGET = Key(
    "model_type", Codec(lambda v: {"target_family": v} if v == "kimi_k2" else {}, lambda s: k.OMIT), write=False
)
_SHARED_KEYS = (
    *g.ARCHITECTURE,
    _KIMI_TARGET,
    *g.model_keys(),
    *g.SIZE_KEYS,
    *g.flag_keys(residual=False),
    *g.NESTED_FLAGS_READ,
)
_MARKS = (
    Clue("key", "_torchspec_version", weight=10),
    Clue("metadata", "torchspec_version", weight=10),
    Clue("key", "eagle_config.use_mtp_layernorm", weight=2),
    Clue("value", "architectures", ("Eagle3DeepseekV2ForCausalLM",), weight=3),
)
_NOT_OTHERS = (Clue("no key", "speculators_model_type"), Clue("no key", "eagle_config.next_layer_regular"))

TORCHSPEC = Dialect(
    name="torchspec",
    title="TorchSpec, native",
    sources=_SOURCES,
    needs=(g.MIDLAYER, *_NOT_OTHERS),
    supports=(g.ours("torchspec"), *_MARKS),
    rows=table(first="midlayer.", later=None),
    dropped_tensors=g.COMMON_TENSORS,
    strips=("draft_model.", "module."),
    keys=(*_SHARED_KEYS, g.NESTED_OUTPUT_OF, g.TOP_READ, g.USE_AUX, *g.OWN_KEYS),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=_DROPPED,
    ids=(IdMeaning(OUTPUT_OF, "TorchSpec utils/misc.py and its HF hooks"),),
    map_order="ascending",
    classes={
        "gqa": ("LlamaForCausalLMEagle3", "llama"),
        "mla": ("Eagle3DeepseekV2ForCausalLM", "deepseek_v3"),
        "mla kimi": ("Eagle3DeepseekV2ForCausalLM", "kimi_k2"),
    },
    limits=(
        g.NO_NORMED_RESIDUAL_HERE, g.NO_QK_NORM, g.NO_BIASES, g.NO_FC_BIAS_HERE, g.NO_PARALLEL,
        g.NO_WHOLE_NORM, g.ONE_LAYER, g.NO_FINAL_STATE, g.NEEDS_EMBEDDING, g.NEEDS_HEAD,
    ),
    writes_mask=True,
    map_must_ascend=True,
    example="eaglekit convert DRAFTER OUT --to torchspec",
)  # fmt: skip

TORCHSPEC_VLLM = Dialect(
    name="torchspec-vllm",
    title="TorchSpec, exported with layers.0",
    sources=_SOURCES,
    needs=(g.LAYERS_0, *_NOT_OTHERS, Clue("no tensor", "model.*"), Clue("no tensor", "layers.1.*")),
    supports=_MARKS,
    rows=table(first="layers.0.", later=None),
    dropped_tensors=g.COMMON_TENSORS,
    strips=("draft_model.", "module."),
    keys=(*_SHARED_KEYS, g.NESTED_READ, g.TOP_READ, g.USE_AUX_READ),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=_DROPPED,
    ids=(
        # Since f1c59f1 (2026-06-30) layers.0 is written without --vllm too, and then the ids are as trained.
        IdMeaning(
            None,
            "TorchSpec tools/convert_to_hf.py adds 1 to the ids of a kimi_k2 drafter only with --vllm",
            when=Clue("value", "model_type", ("kimi_k2",)),
        ),
        IdMeaning(OUTPUT_OF, "TorchSpec tools/convert_to_hf.py leaves the ids of every other model_type as trained"),
    ),
    map_order="ascending",
)
