"""`Case`, and the ways to spoil a drafter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eaglekit.engines import Feature, Verdict
from tests.live.material import KINDS, Recorded, StandIn, latent, parameters, plain

LAYERS = (2, 4, 5)
"""The boundaries that nearly all of these drafters read; vLLM's own choice for a target of eight blocks."""
TOP = "eagle_aux_hidden_state_layer_ids"


@dataclass(frozen=True, slots=True)
class Case:
    """One file, what it stands for, and what vLLM must make of it for the table to be right."""

    name: str
    rows: tuple[tuple[Feature, str], ...]
    """The rows it tries: a feature and the class of the drafter."""
    stored: Recorded
    truth: Recorded | None = None
    """The drafter that the file stands for, in a spelling that vLLM reads; None: the file itself."""
    layers: tuple[int, ...] = LAYERS
    """The boundaries it was trained on."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a reader must be told besides."""
    error: str = ""
    """Words of vLLM's last error, where it refuses."""
    taken_for: Recorded | None = None
    """The other drafter as which it is served, where it is misread."""
    captured: tuple[int, ...] | None = None
    """What is captured, where that is something else than `layers`."""
    untouched: tuple[str, ...] = ()
    """Parameters that nothing is read into."""
    ones: tuple[str, ...] = ()
    """Those of them that hold ones."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """What `speculative_config` says besides."""
    on_v1: Verdict | None = None
    """What the V1 runner makes of it, where the table's verdict is about V2, which a CPU does not have."""


def rows(*features: Feature, to: str) -> tuple[tuple[Feature, str], ...]:
    """The rows of some features for one class."""
    return tuple((feature, to) for feature in features)


LLAMA, QWEN3, MLA = "llama", "qwen3", "mla"
BASES: Mapping[str, Recorded] = {
    LLAMA: KINDS["llama-eagle3"],
    QWEN3: KINDS["qwen3-normed-queries"],
    MLA: KINDS["latent-eagle3"],
}
"""Class of vLLM -> an ordinary EAGLE-3 drafter for it."""
EAGLE31: Mapping[str, Recorded] = {
    LLAMA: KINDS["llama-eagle3.1"],
    QWEN3: KINDS["qwen3-normed-queries-eagle3.1"],
    MLA: KINDS["latent-eagle3.1"],
}


def drafter(to: str, name: str, **wishes: Any) -> Recorded:
    """A drafter for one class of vLLM with more wishes than the base has."""
    if to == MLA:
        return latent(name, **wishes)
    if to == QWEN3:
        keys = {"architectures": ["Eagle3Qwen3ForCausalLM"], "model_type": "qwen3", "query_key_norm": True}
        wishes = keys | {"target": "qwen3"} | wishes
    return plain(name, **wishes)


def changed(
    recorded: Recorded, *, keys: Mapping[str, Any] | None = None, inner: Mapping[str, Any] | None = None,
    without: Iterable[str] = (), add: Mapping[str, StandIn] | None = None,
    rename: Callable[[str], str] = lambda name: name,
) -> Recorded:  # fmt: skip
    """A drafter with other config keys (None takes one away), fewer, more or renamed tensors."""
    config = _with(recorded.fixture.config, keys or {})
    if inner:
        config["transformer_layer_config"] = _with(config["transformer_layer_config"], inner)
    gone = tuple(without)
    kept = {name: tensor for name, tensor in recorded.fixture.tensors.items() if not name.startswith(gone or ("\0",))}
    assert not gone or len(kept) < len(recorded.fixture.tensors), f"nothing is called {gone}"
    tensors = {rename(name): tensor for name, tensor in kept.items()} | dict(add or {})
    return replace(recorded, fixture=replace(recorded.fixture, config=config, tensors=tensors))


def _with(config: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**config, **keys}.items() if value is not None or name not in keys}


def weights(name: str, *shape: int) -> dict[str, StandIn]:
    """One more tensor; a vector is a norm or a bias."""
    return parameters("spoilt", {name: shape}, "BF16")
