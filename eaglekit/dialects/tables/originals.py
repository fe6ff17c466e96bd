"""The `midlayer` family: SafeAILab's reference, SpecForge, and SpecForge's P-EAGLE."""

from __future__ import annotations

from eaglekit.dialects import keys as k
from eaglekit.dialects.dialect import Clue, Dialect, IdMeaning, Means
from eaglekit.dialects.families import OUTPUT_OF
from eaglekit.dialects.keys import Dropped, Key
from eaglekit.dialects.rows import OLD_STATE_NORMS, Row, table
from eaglekit.dialects.tables import groups as g
from eaglekit.drafter import Feedback, Part

_EAGLE3 = ("LlamaForCausalLMEagle3", "llama")

SAFEAILAB = Dialect(
    name="safeailab",
    title="SafeAILab's original EAGLE-3",
    sources=("SafeAILab/EAGLE eagle/model/cnets.py", "SafeAILab/EAGLE eagle/traineagle3/cnets.py"),
    needs=(g.MIDLAYER, Clue("no key", "speculators_model_type"), Clue("no key", "_torchspec_version")),
    supports=(
        g.HIDDEN_NORM,
        Clue("value", "architectures", ("LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"), weight=5),
        Clue("file", "pytorch_model.bin"),
        Clue("no key", "eagle_config"),
    ),
    rows=table(first="midlayer.", later=None, latent=False),
    dropped_tensors=g.COMMON_TENSORS,
    keys=(
        *g.ARCHITECTURE,
        *g.model_keys(),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        *g.NESTED_FLAGS_READ,
        *g.MASK_KEYS,
        g.TOP_READ,
        g.NESTED_READ,
        g.USE_AUX_READ,
    ),
    fixed=g.PLAIN_FIXED,
    dropped_keys=(*g.COMMON_DROPPED, Dropped("bias", "looked up by EConfig, yet fc is built without a bias")),
    absent={"rope_theta": Means(10000.0, "SafeAILab/EAGLE configs.py has no rope_theta, so its base is 10000")},
    map_order="ascending",
    writes_mask=True,
)

SPECFORGE = Dialect(
    name="specforge",
    title="SpecForge (and SGLang's first layout)",
    sources=(
        "sgl-project/SpecForge specforge/modeling/draft/llama3_eagle.py",
        "sgl-project/SpecForge specforge/export/to_sglang.py",
    ),
    needs=(g.MIDLAYER, Clue("no key", "speculators_model_type"), Clue("no key", "_torchspec_version")),
    supports=(
        g.ours("specforge"),
        g.HIDDEN_NORM,
        Clue("value", "architectures", ("LlamaForCausalLMEagle3",), weight=5),
        Clue("key", "eagle_config.eagle_aux_hidden_state_layer_ids"),
        Clue("key", "use_aux_norm", weight=2),
    ),
    rows=(
        *table(first="midlayer.", later=None, latent=False),
        Row(Part.STATE_NORM, OLD_STATE_NORMS[0], write=False, number=0),
        Row(Part.STATE_NORM, OLD_STATE_NORMS[1], write=False, number=1),
        Row(Part.STATE_NORM, OLD_STATE_NORMS[2], write=False, number=2),
    ),
    dropped_tensors=g.COMMON_TENSORS,
    strips=("draft_model.", "module."),
    keys=(
        *g.ARCHITECTURE,
        *g.model_keys(),
        *g.SIZE_KEYS,
        *(key for key in g.flag_keys(residual=False) if key.path != "norm_output"),
        # SpecForge 0.2.0 takes a stated false for a head without the final norm; no release does so where it is absent.
        Key("norm_output", k.only_if(lambda spec: spec.feedback is Feedback.NORMED, k.NORM_OUTPUT)),
        Key("use_aux_norm", k.FC_NORM, write=False),
        *g.NESTED_FLAGS_READ,
        g.NESTED_OUTPUT_OF,
        g.TOP_READ,
        g.USE_AUX,
        *g.OWN_KEYS,
    ),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=g.COMMON_DROPPED,
    ids=(IdMeaning(OUTPUT_OF, "SpecForge model_providers.py resolve_eagle_capture_layers"),),
    map_order="ascending",
    classes={"gqa": _EAGLE3},
    limits=(
        g.NO_MLA, g.NO_NORMED_RESIDUAL_HERE, g.NO_QK_NORM, g.NO_BIASES, g.NO_FC_BIAS_HERE, g.NO_PARALLEL,
        g.NO_WHOLE_NORM, g.ONE_LAYER, g.THREE_STATES, g.NO_FINAL_STATE, g.NEEDS_HEAD,
        g.NO_OTHER_ROPE,
    ),
    states_yarn=True,
    writes_identity_map=True,
    writes_mask=True,
    map_must_ascend=True,
    example="eaglekit convert DRAFTER OUT --to specforge",
)  # fmt: skip

SPECFORGE_PEAGLE = Dialect(
    name="specforge-peagle",
    title="SpecForge's P-EAGLE (parallel drafting)",
    sources=("sgl-project/SpecForge configs/qwen3-8b-peagle.json", "sgl-project/SpecForge#575"),
    needs=(
        Clue("value", "architectures", ("PEagleDraftModel",), weight=10),
        g.LAYERS_0,
        Clue("no key", "speculators_model_type"),
    ),
    rows=table(first="layers.0.", later="layers.{n}.", latent=False),
    dropped_tensors=g.COMMON_TENSORS,
    strips=("draft_model.", "module."),
    keys=(
        *g.ARCHITECTURE,
        *g.model_keys(),
        *g.SIZE_KEYS,
        *g.flag_keys(),
        *g.NESTED_FLAGS_READ,
        *g.MASK_KEYS,
        g.NESTED_READ,
        g.TOP_READ,
        g.USE_AUX_READ,
    ),
    fixed=(*g.NVIDIA_FIXED, *g.PLAIN_FIXED),
    dropped_keys=(
        *g.COMMON_DROPPED,
        Dropped("num_depths", "how many depths were trained; the engine chooses the draft length"),
        Dropped("down_sample_ratio", "thins training positions"),
        Dropped("down_sample_ratio_min", "thins training positions"),
    ),
    ids=(IdMeaning(OUTPUT_OF, "SpecForge model_providers.py resolve_eagle_capture_layers"),),
    absent={"parallel_drafting": Means(True, "the class PEagleDraftModel drafts in parallel")},
    map_order="ascending",
)
