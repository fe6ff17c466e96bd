"""The trained GQA drafter under the names the exporter looks for, and others that differ from it in one thing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import deserialize
from safetensors.numpy import save_file

TRAINED = Path(__file__).resolve().parents[2] / "fixtures" / "trained"
TARGET, DRAFTER = TRAINED / "llama", TRAINED / "llama-eagle3"
OUTPUTS = [1, 3, 4]
"""The blocks whose outputs the trained drafter reads."""

Config = dict[str, Any]
Tensors = dict[str, Any]
Change = Callable[[Config, Tensors], None]
"""Changes a config and tensors in place."""


@dataclass(frozen=True)
class Variant:
    """A drafter that differs from the trained one."""

    change: Change
    layers: list[int] | None
    """What the pipeline is told; None for its default."""
    target: str = "target"


def floats(folder: Path) -> Tensors:
    """The tensors of a folder, BF16 as F32."""
    found: Tensors = {}
    for name, entry in deserialize((folder / "model.safetensors").read_bytes()):
        if entry["dtype"] == "BF16":
            array = (np.frombuffer(entry["data"], "<u2").astype("<u4") << 16).view("<f4")
        else:
            array = np.frombuffer(entry["data"], {"I64": "<i8", "BOOL": "?"}[entry["dtype"]])
        found[name] = array.reshape(entry["shape"])
    return found


def write(folder: Path, config: Config, tensors: Tensors) -> Path:
    """A checkpoint of one file."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    stored = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    save_file(stored, folder / "model.safetensors", {"format": "pt"})
    return folder


def varied(folder: Path, change: Change) -> Path:
    """A folder of the trained drafter in F32, its layer named `midlayer`, with one thing changed."""
    config, tensors = json.loads((DRAFTER / "config.json").read_text(encoding="utf-8")), floats(DRAFTER)
    config["torch_dtype"] = "float32"
    tensors = {name.replace("layers.0.", "midlayer."): array for name, array in tensors.items()}
    change(config, tensors)
    return write(folder, config, tensors)


def deeper_target(folder: Path) -> Path:
    """The trained target with blocks that do nothing between its own: 13, and the same answers.

    What the drafter was trained on is what enters blocks 2, 13 // 2 and 13 - 3 then.
    """
    kept = {0: 0, 1: 1, 2: 2, 3: 3, 6: 4, 10: 5, 11: 6, 12: 7}
    config, own = json.loads((TARGET / "config.json").read_text(encoding="utf-8")), floats(TARGET)
    tensors = {name: array for name, array in own.items() if ".layers." not in name}
    for layer in range(13):
        prefix = f"model.layers.{kept.get(layer, 0)}."
        for name in [name for name in own if name.startswith(prefix)]:
            idle = layer not in kept and name.endswith(("o_proj.weight", "down_proj.weight"))
            tensors[name.replace(prefix, f"model.layers.{layer}.")] = own[name] * 0 if idle else own[name]
    write(folder, {**config, "num_hidden_layers": 13, "dtype": "float32"}, tensors)
    for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (folder / file).write_bytes((TARGET / file).read_bytes())
    return folder


def _noise(shape: tuple[int, ...], scale: float) -> Any:
    return np.random.default_rng(7).normal(0, scale, shape).astype(np.float32)


def nothing(config: Config, tensors: Tensors) -> None:
    """The trained drafter."""


def key(**keys: Any) -> Change:
    """Keys of the config set; None leaves a key out."""

    def change(config: Config, tensors: Tensors) -> None:
        config.update(keys)
        for name, value in keys.items():
            if value is None:
                del config[name]

    return change


def renamed(old: str, new: str) -> Change:
    """Names that begin with `old` begin with `new`."""

    def change(config: Config, tensors: Tensors) -> None:
        for name in [name for name in tensors if name.startswith(old)]:
            tensors[new + name.removeprefix(old)] = tensors.pop(name)

    return change


def _prefixed(config: Config, tensors: Tensors) -> None:
    for name in [name for name in tensors if name not in {"lm_head.weight", "d2t", "t2d"}]:
        tensors[f"model.{name}"] = tensors.pop(name)


def without(*names: str) -> Change:
    """Tensors left out."""

    def change(config: Config, tensors: Tensors) -> None:
        for name in names:
            del tensors[name]

    return change


def added(name: str, *shape: int, **keys: Any) -> Change:
    """A tensor that changes whatever it is applied to, and keys of the config."""

    def change(config: Config, tensors: Tensors) -> None:
        tensors[name] = _noise(shape, 1.0)
        config.update(keys)

    return change


def _state_norms(config: Config, tensors: Tensors) -> None:
    config["fc_norm"] = True
    for state in range(3):
        tensors[f"fc_norm.{state}.weight"] = _noise((128,), 1.0)


def _old_state_norms(config: Config, tensors: Tensors) -> None:
    for state in ("low", "mid", "high"):
        tensors[f"aux_norm_{state}.weight"] = _noise((128,), 1.0)


def _both(*changes: Change) -> Change:
    def change(config: Config, tensors: Tensors) -> None:
        for one in changes:
            one(config, tensors)

    return change


def _whole_vocabulary(config: Config, tensors: Tensors) -> None:
    config["draft_vocab_size"] = 256
    head = floats(TARGET)["lm_head.weight"].copy()
    head[np.arange(len(tensors["d2t"])) + tensors["d2t"]] = tensors["lm_head.weight"]
    tensors["lm_head.weight"] = head
    del tensors["d2t"], tensors["t2d"]


def _identity_map(config: Config, tensors: Tensors) -> None:
    tensors["d2t"] = np.zeros(256, np.int64)


def _no_map(config: Config, tensors: Tensors) -> None:
    # The rows of the first 160 tokens, so that draft id i means target id i.
    tensors["lm_head.weight"] = floats(TARGET)["lm_head.weight"][:160]
    del tensors["d2t"], tensors["t2d"]


def _four_states(config: Config, tensors: Tensors) -> None:
    tensors["fc.weight"] = np.concatenate([tensors["fc.weight"], _noise((128, 128), 0.1)], 1)
    config["num_aux_hidden_states"] = 4
    config["eagle_aux_hidden_state_layer_ids"] = [2, 4, 5, 6]
    config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [1, 3, 4, 5], "use_aux_hidden_state": True}


def _null(config: Config, tensors: Tensors) -> None:
    config["draft_vocab_size"] = None


def _two_layers(config: Config, tensors: Tensors) -> None:
    config["num_hidden_layers"] = 2
    for name in [name for name in tensors if name.startswith("midlayer.")]:
        array = tensors[name.replace("midlayer.", "layers.0.")] = tensors.pop(name)
        wide = array.ndim == 2 and array.shape[1] == 256 and "self_attn" in name
        if not name.endswith("input_layernorm.weight"):
            tensors[name.replace("midlayer.", "layers.1.")] = array[:, :128] if wide else array


def _wide_target(config: Config, tensors: Tensors) -> None:
    config["target_hidden_size"] = 256
    tensors["fc.weight"] = _noise((128, 768), 0.1)
    tensors["embed_tokens.weight"] = _noise((256, 128), 0.1)  # its own: the target's is too wide


VARIANTS: Mapping[str, Variant] = {
    "trained": Variant(nothing, OUTPUTS),
    "the other class name": Variant(key(architectures=["Eagle3LlamaForCausalLM"]), OUTPUTS),
    "an unknown class name": Variant(key(architectures=["Eagle3Speculator"]), OUTPUTS),
    "names of later trainers": Variant(renamed("midlayer.", "layers.0."), OUTPUTS),
    "an outer prefix": Variant(renamed("", "model."), OUTPUTS),
    "an outer prefix but for the head": Variant(_prefixed, OUTPUTS),
    "an embedding of its own": Variant(added("embed_tokens.weight", 256, 128), OUTPUTS),
    "an unknown tensor": Variant(added("stranger.weight", 8), OUTPUTS),
    "state norms": Variant(_state_norms, OUTPUTS),
    "old state norms": Variant(_old_state_norms, OUTPUTS),
    "whole norm": Variant(added("input_norm.weight", 384, norm_before_fc=True), OUTPUTS),
    "norm_output": Variant(key(norm_output=True), OUTPUTS),
    "norm_before_residual": Variant(key(norm_before_residual=True), OUTPUTS),
    "query norms": Variant(added("midlayer.self_attn.q_norm.weight", 64), OUTPUTS),
    "query biases": Variant(added("midlayer.self_attn.q_proj.bias", 128), OUTPUTS),
    "attention biases": Variant(added("midlayer.self_attn.q_proj.bias", 128, attention_bias=True), OUTPUTS),
    "MLP biases": Variant(added("midlayer.mlp.down_proj.bias", 128, mlp_bias=True), OUTPUTS),
    "a bias of fc": Variant(added("fc.bias", 128, bias=True), OUTPUTS),
    "a missing tensor": Variant(without("norm.weight"), OUTPUTS),
    "no head": Variant(without("lm_head.weight"), OUTPUTS),
    "no head, and null": Variant(_both(without("lm_head.weight", "d2t", "t2d"), _null), OUTPUTS),
    "a tied head": Variant(key(tie_word_embeddings=True), OUTPUTS),
    "no draft_vocab_size": Variant(key(draft_vocab_size=None), OUTPUTS),
    "no map": Variant(_no_map, OUTPUTS),
    "whole vocabulary": Variant(_whole_vocabulary, OUTPUTS),
    "whole vocabulary, and a map": Variant(_both(_whole_vocabulary, _identity_map), OUTPUTS),
    "four states": Variant(_four_states, OUTPUTS),
    "two layers": Variant(_two_layers, OUTPUTS),
    "a wider target": Variant(_wide_target, OUTPUTS),
    "another theta": Variant(key(rope_theta=500.0), OUTPUTS),
    "linear rope": Variant(key(rope_scaling={"rope_type": "linear", "factor": 2.0}), OUTPUTS),
    "gelu": Variant(key(hidden_act="gelu"), OUTPUTS),
    "the last block": Variant(key(eagle_config=None, eagle_aux_hidden_state_layer_ids=[2, 4, 8],
                                  eaglekit={"aux_layers": [2, 4, 8]}), [1, 3, 7]),
    "ids alone": Variant(nothing, None),
    "what it was trained on": Variant(nothing, [1, 5, 9], "deeper"),
    "the default": Variant(nothing, None, "deeper"),
    "the default's layers": Variant(nothing, [2, 6, 10], "deeper"),
}  # fmt: skip
"""Name -> variant."""
