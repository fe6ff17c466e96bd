"""The trained GQA drafter, and others made of it by what llama.cpp's drafter can vary in; none of those is trained."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

TRAINED = Path(__file__).resolve().parents[2] / "fixtures" / "trained"
TARGET, DRAFTER = TRAINED / "llama", TRAINED / "llama-eagle3"
LAYERS = "eagle_aux_hidden_state_layer_ids"

Change = Callable[[dict[str, Any], dict[str, Any]], None]
"""Changes a config and tensors in place."""


def floats(folder: Path) -> dict[str, Any]:
    """The tensors of a folder, BF16 as F32."""
    from safetensors import deserialize

    found: dict[str, Any] = {}
    for name, entry in deserialize((folder / "model.safetensors").read_bytes()):
        if entry["dtype"] == "BF16":
            array = (np.frombuffer(entry["data"], "<u2").astype("<u4") << 16).view("<f4")
        else:
            array = np.frombuffer(entry["data"], {"I64": "<i8", "BOOL": "?"}[entry["dtype"]])
        found[name] = array.reshape(entry["shape"])
    return found


def varied(folder: Path, change: Change) -> Path:
    """A folder of the trained drafter in F32 with one thing changed."""
    config, tensors = json.loads((DRAFTER / "config.json").read_text()), floats(DRAFTER)
    config["torch_dtype"] = "float32"
    change(config, tensors)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, folder / "model.safetensors",
              {"format": "pt"})  # fmt: skip
    return folder


def _noise(seed: str, shape: tuple[int, ...], scale: float) -> Any:
    return np.random.default_rng(sum(seed.encode())).normal(0, scale, shape).astype(np.float32)


def _whole_norm(config: dict[str, Any], tensors: dict[str, Any]) -> None:
    config["norm_before_fc"] = True
    tensors["input_norm.weight"] = 1 + _noise("norm", (384,), 0.2)


def _residual(config: dict[str, Any], tensors: dict[str, Any]) -> None:
    config["norm_before_residual"] = True


def _embedding(config: dict[str, Any], tensors: dict[str, Any]) -> None:
    own = floats(TARGET)["model.embed_tokens.weight"]
    tensors["embed_tokens.weight"] = own + _noise("embedding", own.shape, float(own.std()) / 2)


def _shared_head(config: dict[str, Any], tensors: dict[str, Any]) -> None:
    config["draft_vocab_size"] = None
    for name in ("lm_head.weight", "d2t", "t2d"):
        del tensors[name]


def _whole_vocabulary(config: dict[str, Any], tensors: dict[str, Any]) -> None:
    config["draft_vocab_size"] = 256
    ids = np.arange(len(tensors["d2t"])) + tensors["d2t"]
    head = floats(TARGET)["lm_head.weight"].copy()
    head[ids] = tensors["lm_head.weight"]
    tensors["lm_head.weight"] = head
    for name in ("d2t", "t2d"):
        del tensors[name]


def _reading(*layers: int) -> Change:
    def change(config: dict[str, Any], tensors: dict[str, Any]) -> None:
        # The list alone would not say which convention it follows.
        config[LAYERS], config["eaglekit"] = list(layers), {"aux_layers": list(layers)}
        del config["eagle_config"]

    return change


def _linear_rope(config: dict[str, Any], tensors: dict[str, Any]) -> None:
    config["rope_scaling"] = {"rope_type": "linear", "factor": 2.0}


def _theta(config: dict[str, Any], tensors: dict[str, Any]) -> None:
    config["rope_theta"] = 500000.0


def _nothing(config: dict[str, Any], tensors: dict[str, Any]) -> None:
    """The trained drafter, in F32."""


VARIANTS: Mapping[str, Change] = {
    "trained": _nothing,
    "norm_before_fc": _whole_norm,
    "norm_before_residual": _residual,
    "embedding of its own": _embedding,
    "head of the target": _shared_head,
    "whole vocabulary": _whole_vocabulary,
    "linear rope": _linear_rope,
    "another theta": _theta,
    "embeddings and early blocks": _reading(0, 1, 7),
}

LAST = _reading(2, 4, 8)
"""Reads the output of the target's last block, which llama.cpp's Llama does not hand out."""
