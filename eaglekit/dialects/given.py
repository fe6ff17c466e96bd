"""What the user says on the command line about a checkpoint: facts, conventions, permissions to drop."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from eaglekit.dialects.families import FAMILIES, family_of
from eaglekit.drafter import Feedback, Residual
from eaglekit.report import Finding, Refusal

DEFAULT_LAYERS = "default"
"""`--aux-layers default`: adopt the list every producer falls back to, knowingly."""


@dataclass(frozen=True)
class Given:
    """Everything the user states. Each overrides or completes the source, and is remembered as given."""

    aux_layers: tuple[int, ...] | str | None = None
    """Boundary indices, or `default`."""
    aux_convention: str | None = None
    """`boundary` or `output-of`: how the ids in the file are meant."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    target_family: str | None = None
    target_facts: Mapping[str, Any] = field(default_factory=dict)
    """What the target's own config states, by spec field; the user's statements outrank it."""
    target_label: str = ""
    dialect: str | None = None
    drops: tuple[str, ...] = ()
    """Config keys and tensors the user allows to be left behind."""


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(text)
    return int(text)


def _count(text: str) -> int:
    value = _whole(text)
    if value == 0:
        raise ValueError(text)
    return value


def _positive(text: str) -> float:
    if not re.fullmatch(r"[0-9.eE+-]{1,40}", text):
        raise ValueError(text)
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def _word(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text


def _choice(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return parse


@dataclass(frozen=True, slots=True)
class Setting:
    """One name that `--set` knows."""

    fact: str
    parse: Callable[[str], Any]
    expects: str
    about: str


SETTINGS: Mapping[str, Setting] = MappingProxyType({
    "norm_output": Setting("feedback", lambda t: Feedback.NORMED if _truth(t) else Feedback.RAW, "true or false",
                           "the state fed back is the one after the final norm"),
    "norm_before_residual": Setting("residual", lambda t: Residual.NORMED if _truth(t) else Residual.RAW,
                                    "true or false", "layer 0's residual starts from the normed state"),
    "tie_word_embeddings": Setting("tie_word_embeddings", _truth, "true or false", "head and embedding are one"),
    "attention_bias": Setting("attention_bias", _truth, "true or false", "only to contradict a copied flag"),
    "mlp_bias": Setting("mlp_bias", _truth, "true or false", "only to contradict a copied flag"),
    "rope_theta": Setting("rope_theta", _positive, "a positive number", "the base used in training"),
    "rms_norm_eps": Setting("rms_norm_eps", _positive, "a positive number", "epsilon of every RMSNorm"),
    "hidden_act": Setting("hidden_act", _word, "a name", "activation of the MLP"),
    "num_attention_heads": Setting("num_heads", _count, "a number from 1", "query heads"),
    "num_key_value_heads": Setting("num_kv_heads", _count, "a number from 1", "key and value heads"),
    "head_dim": Setting("head_dim", _count, "a number from 1", "width of one head"),
    "vocab_size": Setting("vocab_size", _count, "a number from 1", "the target's vocabulary"),
    "target_hidden_size": Setting("target_hidden_size", _count, "a number from 1", "the target's hidden size"),
    "max_position_embeddings": Setting("max_position_embeddings", _count, "a number from 1", "positions in the config"),
    "mask_token_id": Setting("mask_token_id", _whole, "a token id", "mask token of parallel drafting"),
    "target_layers": Setting("target_layers", _count, "a number from 1", "blocks of the target"),
    "target_name": Setting("target_name", _word, "ORG/NAME", "Hub id of the target"),
    "target_architecture": Setting("target_architecture", _word, "a class name", "architecture of the target"),
    "speculative_tokens": Setting("speculative_tokens", _count, "a number from 1", "tokens drafted per step"),
    "map": Setting("map", _choice("absolute", "offsets", "first"), "`absolute`, `offsets` or `first`",
                   "absolute: d2t holds token ids; offsets: id minus row; first: the first ids of the target"),
})  # fmt: skip
"""Name on the command line -> what it sets."""


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Facts by name from `key=value` texts. Raises `Refusal` naming every unknown key and unusable value."""
    facts: dict[str, Any] = {}
    findings = []
    for pair in pairs:
        name, separator, text = pair.partition("=")
        setting = SETTINGS.get(name)
        if not separator or setting is None:
            findings.append(
                Finding(
                    "setting-unknown",
                    f"--set {pair} names no fact" if separator else f"--set {pair} is not key=value",
                    place="--set",
                    got=name,
                    expected=", ".join(SETTINGS),
                    hint="eaglekit convert --help lists what can be set",
                )
            )
            continue
        try:
            facts[setting.fact] = setting.parse(text)
        except (ValueError, KeyError, OverflowError):
            findings.append(
                Finding(
                    "setting-value",
                    f"--set {name} cannot be {text!r}",
                    place="--set",
                    got=text,
                    expected=setting.expects,
                    hint=f"{name}: {setting.about}",
                )
            )
    if findings:
        raise Refusal(*findings)
    return facts


def parse_aux_layers(text: str) -> tuple[int, ...] | str:
    """`2,30,58` as boundary indices, or the word `default`. Raises `Refusal`."""
    if text == DEFAULT_LAYERS:
        return text
    try:
        return tuple(_whole(part.strip()) for part in text.split(","))
    except ValueError:
        raise Refusal(
            Finding(
                "setting-value",
                f"--aux-layers cannot be {text!r}",
                place="--aux-layers",
                got=text,
                expected="boundary indices such as 2,18,33, or the word `default`",
                hint="boundary k is the target's residual stream after k blocks",
            )
        ) from None


def parse_family(text: str) -> str:
    """A target family or model_type that some row covers. Raises `Refusal`."""
    if family_of(text) is None:
        raise Refusal(
            Finding(
                "target-family-unknown",
                f"--target-family {text!r} is no family eaglekit has a row for",
                place="--target-family",
                got=text,
                expected=", ".join(FAMILIES),
                hint="a transformers model_type is understood too; `other` stands for ordinary decoder blocks",
            )
        )
    return text
