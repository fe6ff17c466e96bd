"""Targets for the producers' drafters, and their drafters of latent attention in the sizes that the engine takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from tests.live.material import (
    FIXTURES,
    LATENT,
    Fixture,
    Grouped,
    Shapes,
    StandIn,
    around,
    chunk_norms,
    grouped_layer,
    latent_layer,
    parameters,
)

CHECKPOINTS = FIXTURES / "checkpoints"


def weights_of(name: str) -> Path:
    """The one weight file of a fixture."""
    [file] = (CHECKPOINTS / name).glob("*.safetensors")
    return file


def config_of(name: str) -> dict[str, Any]:
    """The config of a fixture."""
    config: dict[str, Any] = json.loads((CHECKPOINTS / name / "config.json").read_text(encoding="utf-8"))
    return config


def target_of(name: str, *, blocks: int = 8) -> Fixture:
    """A whole Llama or Qwen3 that has the sizes and the embedding of a drafter."""
    config = config_of(name)
    sizes = Grouped(
        hidden=config["hidden_size"], heads=config["num_attention_heads"], kv_heads=config["num_key_value_heads"],
        head_dim=config["head_dim"], intermediate=config["intermediate_size"], vocabulary=config["vocab_size"],
    )  # fmt: skip
    normed = config["model_type"] == "qwen3"
    shapes: Shapes = {"model.norm.weight": (sizes.hidden,), "lm_head.weight": (sizes.vocabulary, sizes.hidden)}
    for number in range(blocks):
        shapes |= grouped_layer(f"model.layers.{number}", sizes, first=False, query_key_norm=normed)
    embedding = {"model.embed_tokens.weight": _embedding(name)}
    keys = {
        "architectures": ["Qwen3ForCausalLM" if normed else "LlamaForCausalLM"],
        "model_type": "qwen3" if normed else "llama",
        "attention_bias": False, "hidden_act": "silu", "max_position_embeddings": 2048, "num_hidden_layers": blocks,
        "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    }  # fmt: skip
    copied = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim")
    copied += ("vocab_size", "bos_token_id", "eos_token_id")
    return Fixture(
        f"target-of-{name}", "", keys | {key: config[key] for key in copied},
        parameters(f"target-of-{name}", shapes, "BF16") | embedding,
    )  # fmt: skip


def _embedding(name: str) -> StandIn:
    with safe_open(weights_of(name), "pt") as file:
        key = next(key for key in file.keys() if key.endswith("embed_tokens.weight"))  # noqa: SIM118
        values = file.get_tensor(key)
    return StandIn("BF16", tuple(values.shape), values.view(torch.int16).numpy().tobytes())


def served_size(name: str) -> Fixture:
    """A drafter of latent attention spelled as in the fixture, in the only sizes that the engine's CPU kernel takes."""
    with safe_open(weights_of(name), "pt") as file:
        stored, metadata = set(file.keys()), file.metadata() or {"format": "pt"}
    shapes = latent_layer("layers.0", LATENT) | around(LATENT, embedding=True)
    if "fc_norm.0.weight" in {key.removeprefix("model.") for key in stored}:
        shapes |= chunk_norms(LATENT)
    # What the producer calls each: the end of the name is the same in every spelling.
    spelled = {_end(key): key for key in stored}
    assert spelled.keys() == {_end(key) for key in shapes}
    config = config_of(name) | {
        "hidden_size": LATENT.hidden, "intermediate_size": LATENT.intermediate, "vocab_size": LATENT.vocabulary,
        "draft_vocab_size": LATENT.vocabulary, "num_attention_heads": LATENT.heads,
        "num_key_value_heads": LATENT.heads, "q_lora_rank": LATENT.query_rank, "kv_lora_rank": LATENT.kv_rank,
        "qk_nope_head_dim": LATENT.nope, "qk_rope_head_dim": LATENT.rope, "v_head_dim": LATENT.value,
        "max_position_embeddings": 2048, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    repeated = {"head_dim": LATENT.rope, "qk_head_dim": LATENT.nope + LATENT.rope, "target_hidden_size": LATENT.hidden}
    config |= {key: value for key, value in repeated.items() if key in config}
    return Fixture(
        name, "", config, parameters(name, {spelled[_end(key)]: shapes[key] for key in shapes}, "F32"), metadata
    )


def _end(name: str) -> str:
    return name.removeprefix("model.").removeprefix("midlayer.").removeprefix("layers.0.")
