"""AngelSlim and NeMo Automodel."""

from __future__ import annotations

from eaglekit.dialects import keys as k
from eaglekit.dialects.dialect import Clue, Dialect, IdMeaning, Means
from eaglekit.dialects.families import OUTPUT_OF
from eaglekit.dialects.keys import COPIED_DEPTH, Codec, Dropped, Key
from eaglekit.dialects.rows import table
from eaglekit.dialects.tables import groups as g

ANGELSLIM = Dialect(
    name="angelslim",
    title="Tencent AngelSlim",
    sources=("Tencent/AngelSlim angelslim/compressor/speculative/train/models/draft/llama_eagle3.py",),
    needs=(g.MIDLAYER, Clue("no key", "speculators_model_type"), Clue("no key", "_torchspec_version")),
    supports=(
        Clue("key", "target_model_type", weight=10),
        Clue("value", "architectures", ("Eagle3LlamaForCausalLM",), weight=5),
        g.HIDDEN_NORM,
    ),
    rows=table(first="midlayer.", later=None, latent=False),
    dropped_tensors=g.COMMON_TENSORS,
    keys=(
        *g.ARCHITECTURE,
        Key("target_model_type", k.text("target_family"), write=False),
        *g.model_keys(),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        *g.NESTED_FLAGS_READ,
        g.ids_key("aux_hidden_states_layer_ids", OUTPUT_OF, write=False),
        g.TOP_READ,
        g.NESTED_READ,
        g.USE_AUX_READ,
    ),
    fixed=g.PLAIN_FIXED,
    dropped_keys=(*g.COMMON_DROPPED, Dropped("modal_type", "tells the trainer which target loader to use")),
    ids=(IdMeaning(OUTPUT_OF, "AngelSlim target_model_wrapper.py captures hidden_states[id+1]"),),
    map_order="ascending",
)


def _copied_depth(value: object) -> dict[str, int]:
    """The config is the target's, so its layer count is the target's depth (unless it is what is stored)."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise k.WrongValue("int")
    return {"num_layers": value, COPIED_DEPTH: value}


_OURS_TO_REPLACE = {"num_hidden_layers"}

NEMO = Dialect(
    name="nemo",
    title="NVIDIA NeMo Automodel",
    sources=(
        "NVIDIA-NeMo/Automodel nemo_automodel/components/speculative/eagle/draft_llama.py",
        "NVIDIA-NeMo/Automodel nemo_automodel/components/speculative/serve_sglang.py",
    ),
    needs=(Clue("tensor", "model.fc.weight", weight=5), Clue("tensor", "model.layers.0.*")),
    supports=(
        Clue("value", "architectures", ("LlamaEagle3DraftModel", "DeepseekV3Eagle3DraftModel"), weight=10),
        Clue("tensor", "model.layers.0.hidden_norm.weight"),
    ),
    rows=table(first="layers.0.", later="layers.{n}.", outer="model."),
    dropped_tensors=g.COMMON_TENSORS,
    keys=(
        *g.ARCHITECTURE,
        # The config is the target's own, so its type and depth are the target's.
        Key("model_type", k.text("target_family"), write=False),
        Key("num_hidden_layers", Codec(_copied_depth, lambda spec: k.OMIT), write=False),
        *(key for key in g.model_keys() if key.path not in _OURS_TO_REPLACE),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        *g.MASK_KEYS,
        g.TOP_READ,
        g.NESTED_READ,
        g.USE_AUX_READ,
    ),
    fixed=g.PLAIN_FIXED,
    dropped_keys=(
        *g.COMMON_DROPPED,
        Dropped("num_depths", "how many depths were trained; the engine chooses the draft length"),
        Dropped("down_sample_ratio", "thins training positions"),
        Dropped("down_sample_ratio_min", "thins training positions"),
        Dropped("text_config.*", "the target's own config, copied along"),
        Dropped("vision_config.*", "the target's vision tower"),
        Dropped("hidden_activation", "Gemma's name of the same activation"),
    ),
    ids=(IdMeaning(OUTPUT_OF, "Automodel vllm_runner.py documents output-of ids and shifts them for vLLM"),),
    absent={"feedback": Means("raw", "draft_llama.py: norm_output defaults to false")},
    map_order="any",
)
