"""llama.cpp's GGUF: one file with metadata for a config, maps of token ids, and q and k rows in pairs."""

from __future__ import annotations

from eaglekit.dialects import keys as k
from eaglekit.dialects.dialect import Clue, Dialect, IdMeaning, Limit, Means
from eaglekit.dialects.families import BOUNDARY
from eaglekit.dialects.gguf_keys import FILE_TYPE, FILE_TYPES, ROPE, TOKENIZER, TOKENS
from eaglekit.dialects.keys import Dropped, Fixed, Key
from eaglekit.dialects.rope_keys import ROPE_THETA
from eaglekit.dialects.rows import Row
from eaglekit.dialects.tables import groups as g
from eaglekit.drafter import Part, Residual

_HEADS = "eagle3.attention.head_count"
_KV_HEADS = "eagle3.attention.head_count_kv"

ROWS = (
    Row(Part.EMBEDDING,      "token_embd.weight"),
    Row(Part.FUSION,         "fc.weight"),
    Row(Part.FUSION_NORM,    "enc.output_norm.weight"),
    Row(Part.FINAL_NORM,     "output_norm.weight"),
    Row(Part.HEAD,           "output.weight"),
    Row(Part.DRAFT_TO_TARGET, "d2t"),
    Row(Part.EMBEDDING_NORM, "blk.{n}.attn_norm.weight", "first"),
    Row(Part.HIDDEN_NORM,    "blk.{n}.attn_norm_2.weight", "first"),
    # conversion/llama.py permutes q and k for ggml's rope, which rotates neighbouring channels.
    Row(Part.QUERY,          "blk.{n}.attn_q.weight", "first", heads=(_HEADS,)),
    Row(Part.KEY,            "blk.{n}.attn_k.weight", "first", heads=(_KV_HEADS, _HEADS)),
    Row(Part.VALUE,          "blk.{n}.attn_v.weight", "first"),
    Row(Part.OUTPUT,         "blk.{n}.attn_output.weight", "first"),
    Row(Part.MLP_NORM,       "blk.{n}.ffn_norm.weight", "first"),
    Row(Part.GATE,           "blk.{n}.ffn_gate.weight", "first"),
    Row(Part.UP,             "blk.{n}.ffn_up.weight", "first"),
    Row(Part.DOWN,           "blk.{n}.ffn_down.weight", "first"),
)  # fmt: skip
"""Names of src/llama-arch.cpp, for the parts that src/models/eagle3.cpp loads."""

PLAIN_ROPE = Limit(
    lambda spec: spec.rope.kind not in ("default", "linear"),
    "eaglekit writes no other rope scaling than linear into GGUF",
    "llama.cpp's own convert_hf_to_gguf.py --target-model-dir TARGET, from what --to portable wrote",
)
ONLY_SILU = Limit(
    lambda spec: spec.hidden_act != "silu",
    "llama.cpp's drafter always applies SiLU in its MLP",
    "--to vllm",
)
NEEDS_CONTEXT = Limit(
    lambda spec: spec.max_position_embeddings is None,
    "a GGUF file must say how many positions the drafter has, and the source does not",
    "--target PATH_OR_ID, or --set max_position_embeddings=N",
)
NO_F64 = Limit(lambda spec: spec.dtype not in FILE_TYPES, "llama.cpp computes nothing in F64", "--dtype float32")
EVEN_HEADS = Limit(
    lambda spec: g.is_gqa(spec) and spec.head_dim % 2 == 1,
    "a head of odd width cannot be rotated in pairs",
    "--to vllm",
)

GGUF = Dialect(
    name="gguf",
    title="llama.cpp's GGUF file",
    sources=("ggml-org/llama.cpp src/models/eagle3.cpp", "ggml-org/llama.cpp conversion/llama.py"),
    needs=(Clue("value", "general.architecture", ("eagle3",), weight=10),),
    supports=(g.ours("gguf"),),
    rows=ROWS,
    keys=(
        Key("eagle3.embedding_length", k.integer("hidden_size")),
        Key("eagle3.feed_forward_length", k.integer("intermediate_size")),
        Key("eagle3.block_count", k.integer("num_layers")),
        Key(_HEADS, k.integer("num_heads")),
        Key(_KV_HEADS, k.integer("num_kv_heads")),
        Key("eagle3.attention.key_length", k.integer("head_dim")),
        Key("eagle3.attention.value_length", k.integer("head_dim")),
        Key("eagle3.rope.dimension_count", k.integer("head_dim")),
        Key("eagle3.attention.layer_norm_rms_epsilon", k.number("rms_norm_eps")),
        Key("eagle3.context_length", k.integer("max_position_embeddings")),
        Key("eagle3.vocab_size", k.integer("vocab_size")),
        Key("eagle3.target_hidden_size", k.integer("target_hidden_size")),
        Key("eagle3.rope.freq_base", ROPE_THETA),
        Key("eagle3.rope.scaling", ROPE),
        Key("eagle3.norm_before_fc", k.NORM_BEFORE_FC),
        Key("eagle3.norm_before_residual", k.NORM_BEFORE_RESIDUAL),
        g.ids_key("eagle3.target_layers", BOUNDARY),
        Key("general.file_type", FILE_TYPE),
        Key("tokenizer.ggml.model", TOKENIZER),
        Key("tokenizer.ggml.tokens", TOKENS, write=False),
        *(key for key in g.OWN_KEYS if key.path != "eaglekit.map"),
        g.ARCHITECTURE[-1],
        Key("eaglekit.initializer_range", k.number("initializer_range")),
        *(Key(f"eaglekit.{name}_token_id", k.token_id(name)) for name in ("bos", "eos", "pad")),
    ),
    fixed=(Fixed("general.architecture", ("eagle3",), "which of llama.cpp's models it is", write=True),),
    dropped_keys=(
        Dropped("general.*", "says who made the file and how it is called"),
        Dropped("tokenizer.*", "the target's tokenizer; a drafter only needs to know how many tokens there are"),
        Dropped("quantize.*", "how an importance matrix was used"),
    ),
    ids=(IdMeaning(BOUNDARY, "common/speculative.cpp: the input of target layer i, and the depth for its last state"),),
    absent={
        "rope_theta": Means(10000.0, "llama-model.cpp load_hparams: 10000 where nothing is said"),
        "residual": Means(Residual.RAW, "src/models/eagle3.cpp: norm_before_residual is optional, false"),
    },
    map_order="any",
    map_holds="ids",
    container="gguf",
    norm_dtype="F32",
    classes={"gqa": ("", "")},
    limits=(
        g.NO_MLA, g.ONE_LAYER, g.THREE_STATES, g.NO_FINAL_STATE, g.NO_STATE_NORM, g.NO_NORMED_FEEDBACK, g.NO_QK_NORM,
        g.NO_BIASES, g.NO_FC_BIAS_HERE, g.NO_PARALLEL, PLAIN_ROPE, ONLY_SILU, NEEDS_CONTEXT, NO_F64, EVEN_HEADS,
    ),
    example="eaglekit convert DRAFTER OUT --to gguf",
)  # fmt: skip
