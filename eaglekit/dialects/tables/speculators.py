"""speculators, 0.1 to 0.9: the model's config sits in `transformer_layer_config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglekit.dialects import keys as k
from eaglekit.dialects.dialect import Clue, Dialect, IdMeaning
from eaglekit.dialects.families import BOUNDARY
from eaglekit.dialects.keys import Codec, Dropped, Fixed, Key
from eaglekit.dialects.rows import DroppedTensor, table
from eaglekit.dialects.tables import groups as g
from eaglekit.drafter import Spec

_INNER = "transformer_layer_config."
# Written once at the top; the inner copies are what vLLM's reader keeps of keys it does not know.
_TOP_KEYS = {"tie_word_embeddings", "torch_dtype", "dtype", "bos_token_id", "eos_token_id", "pad_token_id"}


def _architectures(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise k.WrongValue("a list of class names")
    return {"target_architecture": value[0]} if value else {}


def _methods(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, list) or not value or not isinstance(value[0], Mapping):
        raise k.WrongValue("a list of objects")
    tokens = value[0].get("speculative_tokens")
    if tokens is None:
        return {}
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
        raise k.WrongValue("a positive speculative_tokens")
    return {"speculative_tokens": tokens}


def _written_methods(spec: Spec) -> Any:
    return [
        {
            "accept_tolerance": 0.0,
            "proposal_type": "greedy",
            "speculative_tokens": spec.speculative_tokens,
            "verifier_accept_k": 1,
        }
    ]


def _kind(value: Any) -> Mapping[str, Any]:
    return {"parallel_drafting": True} if value == "peagle" else {}


_VERIFIER = "speculators_config.verifier."

SPECULATORS = Dialect(
    name="speculators",
    title="speculators (0.1 to 0.9)",
    sources=(
        "vllm-project/speculators src/speculators/models/eagle3/config.py",
        "vllm/transformers_utils/configs/speculators/algos.py",
    ),
    needs=(Clue("value", "speculators_model_type", ("eagle3", "peagle"), weight=10),),
    supports=(g.ours("speculators"),),
    rows=(
        *table(first="layers.0.", later="layers.{n}.", qk_norms=True, latent=False),
        *(row.read_only() for row in table(first="midlayer.", later=None, latent=False)
          if row.template.startswith("midlayer.")),
    ),
    dropped_tensors=(
        *g.COMMON_TENSORS,
        # Copies of the target's own tensors that the trainer keeps in memory (models/eagle3/core.py).
        DroppedTensor("verifier_norm.*", "the target's own norm, kept by the trainer"),
        DroppedTensor("verifier_lm_head.*", "the target's own head, kept by the trainer"),
    ),
    keys=(
        *g.ARCHITECTURE,
        Key("speculators_model_type", Codec(_kind, lambda s: "peagle" if s.parallel_drafting else "eagle3")),
        Key("speculators_config.algorithm", Codec(_kind, lambda s: "peagle" if s.parallel_drafting else "eagle3")),
        Key("speculators_config.proposal_methods", Codec(_methods, _written_methods)),
        Key(_VERIFIER + "name_or_path", k.text("target_name")),
        Key(_VERIFIER + "architectures", Codec(
            _architectures, lambda s: [s.target_architecture] if s.target_architecture else []
        )),
        *(key for key in g.model_keys(_INNER, dtypes=(), ropes="object")),
        *(key for key in g.model_keys(dtypes=("dtype",)) if key.path in _TOP_KEYS),
        Key(_INNER + "model_type", Codec(lambda v: {}, lambda s: "qwen3" if s.qk_norm else "llama")),
        Key(_INNER + "num_aux_hidden_states", k.integer("num_aux_states")),
        Key("draft_vocab_size", k.integer("draft_vocab_size")),
        Key("target_hidden_size", k.integer("target_hidden_size")),
        Key("num_aux_hidden_states", k.integer("num_aux_states"), write=False),
        *g.flag_keys(),
        *(Key(key.path, k.only_if(lambda s: s.parallel_drafting, key.codec)) for key in g.flag_keys(_INNER)),
        *(key for key in g.NESTED_FLAGS_READ),
        Key("mask_token_id", k.integer("mask_token_id", minimum=0)),
        g.TOP_BOUNDARY,
        g.NESTED_READ,
        g.USE_AUX_READ,
        *g.OWN_KEYS,
    ),
    fixed=(
        Fixed("embed_requires_grad", (False, True), "whether the embedding was trained; the stored tensor says it",
              write=True),
        Fixed("speculators_version", g.ANY_TEXT, "which release wrote it"),
        Fixed("speculators_config.default_proposal_method", ("greedy", None), "how vLLM proposes", write=True),
        *g.PLAIN_FIXED,
        *(Fixed(_INNER + row.path, row.allowed, row.why) for row in g.PLAIN_FIXED),
    ),
    dropped_keys=(
        *g.COMMON_DROPPED,
        *(Dropped(_INNER + row.path, row.why) for row in g.COMMON_DROPPED),
        Dropped(_INNER + "architectures", "the class of the template config"),
        Dropped("has_no_defaults_at_init", "a marker of old speculators releases"),
        Dropped("loss_config.*", "training only"),
        Dropped("loss_config", "training only"),
    ),
    ids=(IdMeaning(BOUNDARY, "speculators models/utils.py resolve_target_layer_ids"),),
    map_order="ascending",
    classes={
        "gqa": ("Eagle3DraftModel", ""),
        "qk": ("Eagle3DraftModel", ""),
        "parallel": ("PEagleSpeculator", ""),
    },
    limits=(
        g.NO_MLA, g.NO_FINAL_STATE, g.NO_FC_BIAS, g.SAME_WIDTH,
        g.NEEDS_EMBEDDING, g.NEEDS_HEAD, g.NEEDS_VERIFIER, g.NEEDS_TOKENS,
    ),
    writes_mask=True,
    map_must_ascend=True,
    example="eaglekit convert DRAFTER OUT --to speculators --target ORG/NAME --set speculative_tokens=3",
)  # fmt: skip
