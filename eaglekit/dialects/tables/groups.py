"""Groups of rows that several dialects share: config keys, dropped keys, limits."""

from __future__ import annotations

from eaglekit.dialects import keys as k
from eaglekit.dialects import rope_keys
from eaglekit.dialects.dialect import Clue, Limit
from eaglekit.dialects.families import BOUNDARY, OUTPUT_OF, IdRule, sglang_rule, tokenspeed_rule
from eaglekit.dialects.keys import Codec, Dropped, Fixed, Key
from eaglekit.dialects.rows import DroppedTensor
from eaglekit.drafter import Attention, Feedback, Fusion, FusionNorm, Residual, Spec


def is_gqa(spec: Spec) -> bool:
    """Whether a key that only GQA drafters have is written."""
    return spec.attention is Attention.GQA


def is_mla(spec: Spec) -> bool:
    """Whether a key that only MLA drafters have is written."""
    return spec.attention is Attention.MLA


def _is_parallel(spec: Spec) -> bool:
    return spec.parallel_drafting


def model_keys(prefix: str = "", *, dtypes: tuple[str, ...] = ("torch_dtype",), ropes: str = "flat") -> tuple[Key, ...]:
    """The keys of an ordinary Llama-like config under `prefix`; all are read, the named spellings are written.

    `ropes` is `flat` (rope_theta + rope_scaling), `object` (rope_parameters) or `both`.
    """
    flat, nested = ropes in ("flat", "both"), ropes in ("object", "both")
    rows = (
        Key("hidden_size", k.integer("hidden_size")),
        Key("intermediate_size", k.integer("intermediate_size")),
        Key("num_hidden_layers", k.integer("num_layers")),
        Key("num_attention_heads", k.integer("num_heads")),
        Key("num_key_value_heads", k.integer("num_kv_heads")),
        Key("head_dim", k.only_if(is_gqa, k.integer("head_dim"))),
        Key("q_lora_rank", k.only_if(is_mla, k.nullable(k.integer("q_lora_rank"), "q_lora_rank"))),
        Key("kv_lora_rank", k.integer("kv_lora_rank")),
        Key("qk_nope_head_dim", k.integer("qk_nope_head_dim")),
        Key("qk_rope_head_dim", k.integer("qk_rope_head_dim")),
        Key("v_head_dim", k.integer("v_head_dim")),
        Key("vocab_size", k.integer("vocab_size")),
        Key("hidden_act", k.text("hidden_act")),
        Key("rms_norm_eps", k.number("rms_norm_eps")),
        Key("max_position_embeddings", k.integer("max_position_embeddings")),
        Key("initializer_range", k.number("initializer_range")),
        Key("attention_bias", k.only_if(is_gqa, k.boolean("attention_bias"))),
        Key("mlp_bias", k.only_if(is_gqa, k.boolean("mlp_bias"))),
        Key("rope_theta", rope_keys.ROPE_THETA, write=flat),
        Key("rope_scaling", rope_keys.ROPE_SCALING, write=flat),
        Key("rope_parameters", rope_keys.ROPE_PARAMETERS_OBJECT, write=nested),
        Key("rope_interleave", k.INTERLEAVED, write=False),
        Key("rope_interleaved", k.INTERLEAVED, write=False),
        Key("is_neox_style", k.NEOX, write=False),
        Key("torch_dtype", k.DTYPE, write="torch_dtype" in dtypes),
        Key("dtype", k.DTYPE, write="dtype" in dtypes),
        Key("tie_word_embeddings", k.TIE),
        Key("layer_types", k.LAYER_TYPES, write=False),
        Key("bos_token_id", k.token_id("bos")),
        Key("eos_token_id", k.token_id("eos")),
        Key("pad_token_id", k.token_id("pad")),
    )
    return tuple(Key(prefix + row.path, row.codec, row.write) for row in rows)


def flag_keys(prefix: str = "", *, write: bool = True, residual: bool = True) -> tuple[Key, ...]:
    """The switches of EAGLE 3.1 and its forerunners under `prefix`."""
    return (
        Key(prefix + "fc_norm", k.FC_NORM, write),
        Key(prefix + "norm_output", k.NORM_OUTPUT, write),
        Key(prefix + "norm_before_fc", k.NORM_BEFORE_FC, write),
        Key(prefix + "norm_before_residual", k.NORM_BEFORE_RESIDUAL, write and residual),
    )


# null means "the target's head": a size without a head would make SGLang build one (llama_eagle3.py).
DRAFT_VOCABULARY = Key(
    "draft_vocab_size",
    Codec(k.integer("draft_vocab_size").reads, lambda spec: spec.draft_vocab_size if spec.own_head else None),
)

SIZE_KEYS: tuple[Key, ...] = (
    DRAFT_VOCABULARY,
    Key("target_hidden_size", k.integer("target_hidden_size")),
    Key("num_aux_hidden_states", k.only_if(lambda spec: spec.fusion is Fusion.AUX_STATES, k.integer("num_aux_states"))),
)
"""Sizes an EAGLE-3 config adds to a Llama one."""

MASK_KEYS: tuple[Key, ...] = (
    Key("parallel_drafting", k.only_if(_is_parallel, k.boolean("parallel_drafting"))),
    Key("mask_token_id", k.integer("mask_token_id", minimum=0)),
    Key("pard_token", k.integer("mask_token_id", minimum=0)),
    Key("ptd_token_id", k.integer("mask_token_id", minimum=0)),
)
"""Parallel drafting: the mask token under every name vLLM looks for (llm_base_proposer.py)."""


def ids_key(path: str, rule: IdRule, *, write: bool = True) -> Key:
    """A list of captured layers at `path`, written under `rule`."""
    level = "nested" if path.startswith("eagle_config.") else "top"
    encode = k.id_list(f"aux_ids.{level}", lambda spec: rule.encode(spec.aux_layers, spec.target_layers))
    return Key(path, encode, write)


_NESTED = "eagle_config.eagle_aux_hidden_state_layer_ids"
_TOP = "eagle_aux_hidden_state_layer_ids"

TOP_BOUNDARY = ids_key(_TOP, BOUNDARY)
TOP_READ = ids_key(_TOP, BOUNDARY, write=False)
NESTED_OUTPUT_OF = ids_key(_NESTED, OUTPUT_OF)
NESTED_READ = ids_key(_NESTED, OUTPUT_OF, write=False)
NESTED_SGLANG = Key(
    _NESTED,
    k.id_list("aux_ids.nested", lambda s: sglang_rule(s.target_family).encode(s.aux_layers, s.target_layers)),
)
NESTED_TOKENSPEED = Key(
    _NESTED,
    k.id_list("aux_ids.nested", lambda s: tokenspeed_rule(s.target_family).encode(s.aux_layers, s.target_layers)),
)
TOP_TOKENSPEED = Key(
    _TOP,
    k.id_list("aux_ids.top", lambda s: tokenspeed_rule(s.target_family).encode(s.aux_layers, s.target_layers)),
)
USE_AUX = Key("eagle_config.use_aux_hidden_state", k.USE_AUX)
USE_AUX_READ = Key("eagle_config.use_aux_hidden_state", k.USE_AUX, write=False)
NESTED_FLAGS = (
    Key("eagle_config.fc_norm", k.FC_NORM),
    Key("eagle_config.norm_output", k.NORM_OUTPUT),
    Key("eagle_config.norm_before_fc", k.NORM_BEFORE_FC),
)
NESTED_FLAGS_READ = (
    *(Key(key.path, key.codec, write=False) for key in NESTED_FLAGS),
    Key("eagle_config.return_hidden_post_norm", k.NORM_OUTPUT, write=False),
)


def _map_of_firsts(value: object) -> dict[str, str]:
    if value != "first":
        raise k.WrongValue("`first`")
    return {"map": "first"}


def _first_ids(spec: Spec) -> bool:
    return spec.target_ids is not None and spec.target_ids == tuple(range(spec.draft_vocab_size))


OWN_KEYS: tuple[Key, ...] = (
    Key("eaglekit.aux_layers", k.id_list("aux_layers.declared", lambda spec: spec.aux_layers)),
    Key("eaglekit.target.model_type", k.text("target_family")),
    Key("eaglekit.target.num_hidden_layers", k.integer("target_layers")),
    Key("eaglekit.target.name", k.text("target_name")),
    Key("eaglekit.trained_context_length", k.integer("trained_context_length")),
    Key("eaglekit.rotation", k.ROTATION),
    # Offsets of zero look like a map that was never filled: here they were meant.
    Key("eaglekit.map", Codec(_map_of_firsts, lambda s: "first" if _first_ids(s) else k.OMIT, {"const": "first"})),
    Key("eaglekit.embedding", Codec(lambda v: {}, lambda s: "own" if s.own_embedding else "shared with the target")),
    Key("eaglekit.head", Codec(lambda v: {}, lambda s: "own" if s.own_head else "shared with the target")),
)
"""The block that our own files carry: what was meant, in boundary indices, for the next reader."""

ARCHITECTURE = (
    Key("architectures", Codec(lambda v: {}, lambda s: k.OMIT), write=False),
    Key("model_type", Codec(lambda v: {}, lambda s: k.OMIT), write=False),
    Key("eaglekit.dialect", Codec(lambda v: {}, lambda s: k.OMIT), write=False),
)
"""Read by recognition; written by the writer from `Dialect.classes`."""

NVIDIA_FIXED: tuple[Fixed, ...] = (
    Fixed("eagle_config.use_input_layernorm_in_first_layer", (True,), "the embedding is normed before layer 0"),
    Fixed("eagle_config.use_last_layernorm", (True,), "the final norm exists"),
    Fixed("eagle_config.use_mtp_layernorm", (False,), "no MTP norms"),
    Fixed("eagle_config.next_layer_regular", (True,), "later layers read H, not 2H"),
    Fixed("eagle_config.parallel_draft_step", (1,), "one token a step"),
    Fixed("eagle_config.parallel_draft_heads_num_layers", (1, 0), "no extra heads"),
    Fixed("eagle_config.eh_proj_before_attn", (False,), "embedding and state meet in layer 0's attention"),
    Fixed("eagle_config.eh_proj_bias", (False,), "no such projection"),
    Fixed("eagle_config.has_lm_head", (True, False), "the stored tensors say it"),
    Fixed("eagle_config.num_hidden_layers", (1, 2, 3, 4), "the stored layers say it"),
)
"""Switches of NVIDIA's EAGLE config whose other values mean another network (Model-Optimizer hf_spec_configs.py)."""

PLAIN_FIXED: tuple[Fixed, ...] = (
    Fixed("use_sliding_window", (False, None), "a drafter attends to its whole context"),
    Fixed("pretraining_tp", (1, None), "weights are not sliced"),
    Fixed("partial_rotary_factor", (1, 1.0, None), "the whole head is rotated"),
    Fixed("logit_scale", (1, 1.0, None), "logits are not scaled"),
    Fixed("mla_use_nope", (False, None), "positions are rotated"),
    Fixed("is_decoder", (True, False, None), "says nothing about a drafter"),
    Fixed("use_moe", (False, None), "the drafter's MLP is dense"),
    Fixed("qk_layernorm", (False, None), "q and k are not normed"),
)

_GENERATION = (
    "add_cross_attention", "bad_words_ids", "begin_suppress_tokens", "chunk_size_feed_forward",
    "cross_attention_hidden_size", "decoder_start_token_id", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "finetuning_task", "forced_bos_token_id",
    "forced_eos_token_id", "id2label", "is_encoder_decoder", "label2id", "length_penalty", "max_length",
    "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences",
    "output_attentions", "output_hidden_states", "output_scores", "prefix", "problem_type", "pruned_heads",
    "remove_invalid_values", "repetition_penalty", "return_dict", "return_dict_in_generate", "sep_token_id",
    "suppress_tokens", "task_specific_params", "temperature", "tf_legacy_loss", "tie_encoder_decoder",
    "tokenizer_class", "top_k", "top_p", "torchscript", "typical_p", "use_bfloat16", "use_cache",
)  # fmt: skip

_TARGETS_OWN = (
    "aux_loss_alpha", "ep_size", "first_k_dense_replace", "moe_intermediate_size", "moe_layer_freq", "n_group",
    "n_routed_experts", "n_shared_experts", "norm_topk_prob", "num_experts", "num_experts_per_tok",
    "num_local_experts", "num_nextn_predict_layers", "output_router_logits", "experts_per_token",
    "routed_scaling_factor", "router_aux_loss_coef", "router_jitter_noise", "scoring_func", "seq_aux",
    "swiglu_limit", "topk_group", "topk_method", "decoder_sparse_step", "mlp_only_layers",
    "shared_expert_intermediate_size", "index_head_dim", "index_n_heads", "index_topk",
)  # fmt: skip

COMMON_DROPPED: tuple[Dropped, ...] = (
    *(
        Dropped(name, "a generation or training default of transformers; no part of the network")
        for name in _GENERATION
    ),
    *(Dropped(name, "belongs to the target's MoE blocks; the drafter is dense") for name in _TARGETS_OWN),
    *(
        Dropped(f"{name}_token_id", "a token of the vision target; the drafter sees ids like any other")
        for name in ("image", "video", "vision_start", "vision_end", "audio", "boi", "eoi")
    ),
    Dropped("image_token_index", "a token of the vision target; the drafter sees ids like any other"),
    Dropped("video_token_index", "a token of the vision target; the drafter sees ids like any other"),
    Dropped("attention_dropout", "drop-out is off when serving"),
    Dropped("hidden_dropout", "drop-out is off when serving"),
    Dropped("initial_context_length", "repeats the rope scaling's original length"),
    Dropped("qk_head_dim", "repeats qk_nope_head_dim plus qk_rope_head_dim; transformers 5 writes it"),
    Dropped("attn_implementation", "chooses a kernel, not a function"),
    Dropped("_attn_implementation", "chooses a kernel, not a function"),
    Dropped("attn_implementation_internal", "chooses a kernel, not a function"),
    Dropped("_name_or_path", "where the trainer kept it; often a local path"),
    Dropped("transformers_version", "which release wrote the source; ours is in the provenance"),
    Dropped("sliding_window", "unused while use_sliding_window is false"),
    Dropped("max_window_layers", "unused while use_sliding_window is false"),
    Dropped("auto_map", "names Python code; nothing of a checkpoint is executed and no engine needs it"),
    Dropped("eaglekit.source.*", "provenance of the earlier conversion"),
)
"""Keys that any producer may carry along and that say nothing about the function."""

COMMON_TENSORS: tuple[DroppedTensor, ...] = (
    DroppedTensor("*rotary_emb.inv_freq", "recomputed from the rope settings; stored by old trainers"),
)

MIDLAYER = Clue("tensor", "midlayer.*", weight=2)
LAYERS_0 = Clue("tensor", "layers.0.*", weight=2)
HIDDEN_NORM = Clue("tensor", "*hidden_norm.weight")


def ours(name: str) -> Clue:
    """The mark that a file written by us as dialect `name` carries."""
    return Clue("value", "eaglekit.dialect", (name,), weight=100)


NO_NORMED_RESIDUAL = Limit(
    lambda spec: spec.residual is Residual.NORMED,
    "SGLang has no norm_before_residual: it would start layer 0 from the un-normed state, another function",
    "--to vllm or --to speculators, which both honour it",
)
NO_QK_NORM_SGLANG = Limit(
    lambda spec: spec.qk_norm,
    "SGLang's drafter class has no q/k norms and would drop them silently",
    "--to vllm (0.24 and later)",
)
NO_QK_NORM = Limit(lambda spec: spec.qk_norm, "this layout has no q/k norms", "--to vllm or --to speculators")
NO_BIAS_SGLANG = Limit(
    lambda spec: spec.attention_bias or spec.mlp_bias,
    "SGLang's drafter class has no attention or MLP biases and would drop them silently",
    "--to vllm",
)
NO_FC_BIAS = Limit(lambda spec: spec.fusion_bias, "vLLM's fc has no bias and would drop it silently", "--to sglang")
NO_PARALLEL_SGLANG = Limit(
    lambda spec: spec.parallel_drafting,
    "SGLang cannot serve parallel drafting (P-EAGLE): it would ignore the mask state",
    "--to vllm",
)
NO_PARALLEL = Limit(
    lambda spec: spec.parallel_drafting, "this layout has no place for parallel drafting (P-EAGLE)", "--to vllm"
)
NO_MLA_WHOLE_NORM = Limit(
    lambda spec: is_mla(spec) and spec.fusion_norm is FusionNorm.WHOLE,
    "no engine's MLA drafter knows norm_before_fc",
    "a GQA drafter, or training with fc_norm",
)
NO_MLA_DEEP = Limit(
    lambda spec: is_mla(spec) and spec.num_layers > 1,
    "SGLang's MLA drafter has exactly one layer",
    "--to vllm",
)
NO_MLA_RANKLESS = Limit(
    lambda spec: is_mla(spec) and spec.q_lora_rank is None,
    "the MLA drafters of vLLM and SGLang fuse the query's down projection and need q_lora_rank",
    "--to torchspec, to train on",
)
NO_MLA = Limit(is_mla, "this layout has no MLA drafters", "--to vllm, --to sglang or --to torchspec")
NO_FINAL_STATE = Limit(
    lambda spec: spec.fusion is Fusion.FINAL_STATE,
    "this layout always reads captured states through fc",
    "--to vllm, --to sglang or --to modelopt",
)
NO_STATE_NORM = Limit(
    lambda spec: spec.fusion_norm is FusionNorm.PER_STATE,
    "this layout knows no fc_norm, and its norms cannot be folded into fc: the scale depends on the data",
    "--to portable",
)
NO_WHOLE_NORM = Limit(
    lambda spec: spec.fusion_norm is FusionNorm.WHOLE,
    "this layout knows no norm_before_fc, and one norm over all states is not fc_norm",
    "--to portable, --to vllm or --to speculators",
)
NO_NORMED_FEEDBACK = Limit(
    lambda spec: spec.feedback is Feedback.NORMED,
    "this layout knows no norm_output: step 1 would be right, every later step another function",
    "--to portable",
)
ONE_LAYER = Limit(lambda spec: spec.num_layers > 1, "this layout has one layer", "--to vllm or --to sglang")
THREE_STATES = Limit(
    lambda spec: spec.fusion is Fusion.AUX_STATES and spec.num_aux_states != 3,
    "this layout has exactly three captured states",
    "--to portable",
)

NO_NORMED_RESIDUAL_HERE = Limit(
    lambda spec: spec.residual is Residual.NORMED,
    "this layout has no norm_before_residual: layer 0 would start from the un-normed state, another function",
    "--to vllm or --to speculators, which both honour it",
)
NO_OTHER_ROPE = Limit(
    lambda spec: (
        spec.rope.kind in ("dynamic", "longrope")
        or (spec.rope.kind == "yarn" and not spec.rope.parameters.get("truncate", True))
        or "attention_factor" in spec.rope.parameters
    ),
    "SpecForge has no longrope, stretches dynamic rope as no engine does, and leaves out yarn's truncate false and "
    "attention_factor",
    "--to portable",
)
NO_BIASES = Limit(
    lambda spec: spec.attention_bias or spec.mlp_bias, "this layout has no attention or MLP biases", "--to vllm"
)
NO_FC_BIAS_HERE = Limit(lambda spec: spec.fusion_bias, "this layout's fc has no bias", "--to sglang")
SAME_WIDTH = Limit(
    lambda spec: spec.hidden_size != spec.target_hidden_size,
    "this reader builds fc from the drafter's own width, which is not the target's here",
    "--to portable",
)
NEEDS_EMBEDDING = Limit(
    lambda spec: not spec.own_embedding,
    "files of this layout always hold the embedding, and the source has none",
    "--target PATH_OR_ID: the target's embedding is copied in",
)
NEEDS_HEAD = Limit(
    lambda spec: not spec.own_head,
    "this layout always holds the head, and the source has none",
    "--target PATH_OR_ID: the target's head is copied in",
)
NEEDS_VERIFIER = Limit(
    lambda spec: spec.target_name is None,
    "speculators files name their target, and the source does not say it",
    "--target ORG/NAME, or --set target_name=ORG/NAME",
)
NEEDS_TOKENS = Limit(
    lambda spec: spec.speculative_tokens is None,
    "speculators files say how many tokens are drafted a step, and the source does not",
    "--set speculative_tokens=3 (or what you serve with)",
)


def written(row: Fixed) -> Fixed:
    """The row, as one that is also written."""
    return Fixed(row.path, row.allowed, row.why, write=True)


ANY_TEXT: tuple[str, ...] = ("*",)
"""Stands in `Fixed.allowed` for any string."""
