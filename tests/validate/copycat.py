"""A target and a drafter whose behaviour is known by construction, and texts for them.

No block of the target attends, so its states tell of one token alone. The drafter reads that token back out of the
states and drafts it again and again: a draft is right exactly where the text repeats itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from tests.cases.builders import IDS, Folder, Stored, f32

HIDDEN, VOCABULARY, BLOCKS, WIDE = 64, 96, 6, 128
LAYERS = (2, 3, 4)
"""The boundaries that the drafter reads."""
LOUD = (1, 4)
"""Blocks that add something: the states change from boundary 1 to 2 and from 4 to 5, and nowhere else."""


def numbers(name: str, *shape: int) -> Any:
    """Normal numbers that depend on the name only."""
    seed = int.from_bytes(name.encode(), "little") % 2**63
    return numpy.random.default_rng(seed).standard_normal(shape).astype("<f4")


EMBEDDING = numbers("embedding", VOCABULARY, HIDDEN)


def normed(states: Any) -> Any:
    """RMSNorm with weights of one."""
    return states / numpy.sqrt((states**2).mean(-1, keepdims=True) + 1e-5)


def loud(block: int) -> dict[str, Any]:
    """The MLP of a block that adds something large."""
    return {
        "gate_proj": numbers(f"gate {block}", WIDE, HIDDEN) * 0.3,
        "up_proj": numbers(f"up {block}", WIDE, HIDDEN) * 0.3,
        "down_proj": numbers(f"down {block}", HIDDEN, WIDE) * 0.5,
    }


def after(block: int, states: Any) -> Any:
    """The states behind a block."""
    if block not in LOUD:
        return states
    mlp = loud(block)
    gate, up = (normed(states) @ mlp[name].T for name in ("gate_proj", "up_proj"))
    return states + (gate / (1 + numpy.exp(-gate)) * up) @ mlp["down_proj"].T


def boundary(number: int) -> Any:
    """Every token's state at a boundary, [V, H]."""
    states = EMBEDDING.astype("<f8")
    for block in range(number):
        states = after(block, states)
    return states


def target() -> Folder:
    """The target. Its most likely next token is the one it reads: its head reads each token's last state."""
    tensors: dict[str, Any] = {"model.embed_tokens.weight": EMBEDDING, "model.norm.weight": numpy.ones(HIDDEN)}
    for block in range(BLOCKS):
        parts = {"gate_proj": numpy.zeros((WIDE, HIDDEN)), "up_proj": numpy.zeros((WIDE, HIDDEN)),
                 "down_proj": numpy.zeros((HIDDEN, WIDE))} if block not in LOUD else loud(block)  # fmt: skip
        base = f"model.layers.{block}"
        tensors |= {f"{base}.mlp.{name}.weight": weight for name, weight in parts.items()}
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            tensors[f"{base}.self_attn.{name}.weight"] = numpy.zeros((HIDDEN, HIDDEN))
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{base}.{name}.weight"] = numpy.ones(HIDDEN)
    tensors["lm_head.weight"] = normed(boundary(BLOCKS))
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": WIDE,
        "num_hidden_layers": BLOCKS, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32,
        "vocab_size": VOCABULARY, "max_position_embeddings": 512, "rope_theta": 10000.0, "rms_norm_eps": 1e-05,
        "tie_word_embeddings": False, "torch_dtype": "float32",
    }  # fmt: skip
    return Folder(config, {name: f32(weight) for name, weight in tensors.items()})


def drafter(*, ids: Sequence[int] | None = LAYERS, known: int = VOCABULARY, **config: Any) -> Folder:
    """The drafter over the first `known` tokens of the vocabulary; `ids` are what its config states.

    `fc` takes three times the first state and takes away two times the third: that is the token's state where both
    are the same, and noise where one of them is from another side of a loud block.
    """
    unit = numpy.eye(HIDDEN)
    tensors: dict[str, Any] = {
        "fc.weight": numpy.concatenate([3 * unit, 0 * unit, -2 * unit], axis=1),
        "norm.weight": numpy.ones(HIDDEN),
        "lm_head.weight": normed(boundary(LAYERS[0]))[:known],
    }
    for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm"):
        tensors[f"midlayer.{name}.weight"] = numpy.ones(HIDDEN)
    shapes = {
        "self_attn.q_proj": (HIDDEN, 2 * HIDDEN), "self_attn.k_proj": (HIDDEN, 2 * HIDDEN),
        "self_attn.v_proj": (HIDDEN, 2 * HIDDEN), "self_attn.o_proj": (HIDDEN, HIDDEN),
        "mlp.gate_proj": (WIDE, HIDDEN), "mlp.up_proj": (WIDE, HIDDEN), "mlp.down_proj": (HIDDEN, WIDE),
    }  # fmt: skip
    tensors |= {f"midlayer.{name}.weight": numpy.zeros(shape) for name, shape in shapes.items()}
    stored = {name: f32(weight) for name, weight in tensors.items()}
    if known < VOCABULARY:
        stored["d2t"] = Stored("I64", (known,), numpy.zeros(known, "<i8").tobytes())
        stored["t2d"] = Stored("BOOL", (VOCABULARY,), (numpy.arange(VOCABULARY) < known).tobytes())
    stated = {} if ids is None else {IDS: list(ids)}
    base = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": WIDE,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32,
        "vocab_size": VOCABULARY, "draft_vocab_size": known, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
        "max_position_embeddings": 512, "tie_word_embeddings": False, "torch_dtype": "float32",
    }  # fmt: skip
    return Folder({**base, **stated, **config}, stored)


def repeating(name: str, length: int, *, stay: float = 0.7) -> list[int]:
    """A text that says the same token again with probability `stay`."""
    seed = int.from_bytes(name.encode(), "little") % 2**63
    generator = numpy.random.default_rng(seed)
    tokens = [int(generator.integers(VOCABULARY))]
    while len(tokens) < length:
        tokens.append(tokens[-1] if generator.random() < stay else int(generator.integers(VOCABULARY)))
    return tokens


TEXTS: Mapping[str, tuple[str, list[int], int]] = {
    f"text-{number}": (("code", "prose")[number % 2], repeating(f"text {number}", 40 + 7 * number), 5 + number)
    for number in range(6)
}
"""Identity -> category, tokens, length of the prompt."""


def write_prompts(path: Path, texts: Mapping[str, tuple[str, list[int], int]] = TEXTS) -> Path:
    """The texts as a prompt file of token ids."""
    rows = [
        {"id": name, "category": category, "prompt_token_ids": tokens[:length], "response_token_ids": tokens[length:]}
        for name, (category, tokens, length) in texts.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def expected(steps: int, texts: Mapping[str, tuple[str, list[int], int]] = TEXTS) -> list[list[int]]:
    """Accepted drafts of each served round, text by text, when every draft is the token that was read last."""
    served = []
    for _, tokens, prompt_length in texts.values():
        rounds, known = [], prompt_length + 1
        while known + steps <= len(tokens):
            drafts = [tokens[known - 2]] * steps
            count = next((n for n in range(steps) if drafts[n] != tokens[known + n]), steps)
            rounds.append(count)
            known += count + 1
        served.append(rounds)
    return served
