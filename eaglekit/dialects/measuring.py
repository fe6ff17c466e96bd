"""Sizes and switches from the tensors, with the config as the second witness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eaglekit.checkpoint import Tensor
from eaglekit.dialects.binding import Bound, name_of
from eaglekit.dialects.config_reading import Known
from eaglekit.dialects.dialect import Dialect
from eaglekit.drafter import Origin
from eaglekit.drafter.parts import PARTS, Index, Part, Role
from eaglekit.report import Finding, Severity


@dataclass(frozen=True, slots=True)
class Measured:
    """A size that is an axis of a tensor."""

    fact: str
    part: Part
    axis: int


MEASURED: tuple[Measured, ...] = (
    Measured("hidden_size",        Part.FINAL_NORM,      0),
    Measured("hidden_size",        Part.MLP_NORM,        0),
    Measured("intermediate_size",  Part.GATE,            0),
    Measured("draft_vocab_size",   Part.HEAD,            0),
    Measured("draft_vocab_size",   Part.DRAFT_TO_TARGET, 0),
    Measured("vocab_size",         Part.TARGET_MASK,     0),
    Measured("vocab_size",         Part.EMBEDDING,       0),
    Measured("head_dim",           Part.QUERY_NORM,      0),
    Measured("q_lora_rank",        Part.QUERY_DOWN,      0),
    Measured("kv_lora_rank",       Part.LATENT_NORM,     0),
    Measured("target_hidden_size", Part.STATE_NORM,      0),
)  # fmt: skip
"""Fact -> the axes it is read from; the first tensor that exists decides, the shape check compares the others."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What it means when the config says another size than the tensors."""

    severity: Severity
    hint: str


_E, _W = Severity.ERROR, Severity.WARNING

DISAGREEMENTS: Mapping[str, Disagreement] = {
    "hidden_size": Disagreement(_E, "config and weights are from two different runs, or the config is the target's"),
    "target_hidden_size": Disagreement(_E, "config and weights are from two different runs"),
    "intermediate_size": Disagreement(
        _E, "config and weights are from two different runs, or the config is the target's"
    ),
    "draft_vocab_size": Disagreement(_E, "it must equal the rows of the head; correct it in a copy of the config"),
    "vocab_size": Disagreement(_E, "vocab_size must be the target's; draft_vocab_size is the drafter's own"),
    "head_dim": Disagreement(_E, "config and weights are from two different runs"),
    "q_lora_rank": Disagreement(_E, "config and weights are from two different runs"),
    "kv_lora_rank": Disagreement(_E, "config and weights are from two different runs"),
    "num_layers": Disagreement(_W, "the count was copied from the target; the stored layers are what counts"),
    "num_aux_states": Disagreement(_E, "fc reads A states of G channels; the count must fit its width"),
    "parallel_drafting": Disagreement(_W, "without a mask state the drafter cannot draft in parallel"),
}

CONFIG_NAMES: Mapping[str, str] = {
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "num_kv_heads": "num_key_value_heads",
    "num_aux_states": "num_aux_hidden_states",
    "residual": "norm_before_residual",
    "feedback": "norm_output",
}
"""Facts whose config key has another name."""


def config_name(fact: str) -> str:
    """What a fact is called in most configs."""
    return CONFIG_NAMES.get(fact, fact)


def measure(bound: Bound) -> dict[str, Known]:
    """Every size that a tensor's shape states, and every switch that a tensor's presence states."""
    facts: dict[str, Known] = {}
    for row in MEASURED:
        tensor = _first(bound, row.part)
        if row.fact not in facts and tensor is not None and len(tensor.shape) > row.axis:
            facts[row.fact] = Known(tensor.shape[row.axis], Origin("derived", f"axis {row.axis} of {tensor.name}"))
    facts["num_layers"] = Known(_layers(bound), Origin("derived", "the stored layers"))
    facts["attention"] = Known(
        "mla" if bound.has(Part.LATENT_DOWN) else "gqa", Origin("derived", "the projections that are stored")
    )
    for fact, parts in PRESENCE.items():
        facts[fact] = Known(any(bound.has(part) for part in parts), Origin("derived", "the tensors that are stored"))
    kept = _first(bound, Part.QUERY) or _first(bound, Part.LATENT_DOWN) or _first(bound, Part.FUSION)
    if kept is not None:
        facts["dtype"] = Known(kept.dtype, Origin("derived", f"dtype of {kept.name}"))
    return facts


PRESENCE: Mapping[str, tuple[Part, ...]] = {
    "fc_norm": (Part.STATE_NORM,),
    "norm_before_fc": (Part.FUSION_NORM,),
    "qk_norm": (Part.QUERY_NORM, Part.KEY_NORM),
    "attention_bias": (Part.QUERY_BIAS, Part.KEY_BIAS, Part.VALUE_BIAS, Part.OUTPUT_BIAS),
    "mlp_bias": (Part.GATE_BIAS, Part.UP_BIAS, Part.DOWN_BIAS),
    "fusion_bias": (Part.FUSION_BIAS,),
    "own_embedding": (Part.EMBEDDING,),
    "own_head": (Part.HEAD,),
    "has_fusion": (Part.FUSION,),
    "has_mask_state": (Part.MASK_STATE,),
}
"""Switch -> the parts whose presence turns it on."""


def _first(bound: Bound, part: Part) -> Tensor | None:
    return bound.tensors.get(Role(part)) or bound.tensors.get(Role(part, 0))


def _layers(bound: Bound) -> int:
    """Layers from the highest layer number of any per-layer part."""
    per_layer = (Part.MLP_NORM, Part.GATE, Part.UP, Part.DOWN, Part.QUERY, Part.LATENT_DOWN, Part.OUTPUT)
    found = [role.number for role in bound.tensors if role.part in per_layer and role.number is not None]
    return max(found, default=0) + 1


def disagreements(measured: Mapping[str, Known], stated: Mapping[str, Known]) -> list[Finding]:
    """A finding for every size that the config states otherwise than the tensors."""
    findings = []
    for fact, rule in DISAGREEMENTS.items():
        if fact not in measured or fact not in stated or measured[fact].value == stated[fact].value:
            continue
        found, said = measured[fact], stated[fact]
        findings.append(
            Finding(
                "size-disagrees" if rule.severity is Severity.ERROR else "size-corrected",
                f"config says {config_name(fact)} {said.value}, the tensors say {found.value} "
                f"({said.value} against {found.value})",
                place=f"{said.origin.place}; {found.origin.place}",
                got=str(said.value),
                expected=str(found.value),
                hint=rule.hint,
                severity=rule.severity,
            )
        )
    return findings


def flags(measured: Mapping[str, Known], stated: Mapping[str, Known], dialect: Dialect) -> list[Finding]:
    """A finding for every switch with tensors that the config states otherwise."""
    findings = []
    for fact in ("fc_norm", "norm_before_fc", "attention_bias", "mlp_bias"):
        stored, said = measured[fact].value, stated.get(fact)
        if stored and said is None:
            findings.append(
                Finding(
                    "flag-from-tensors",
                    f"config does not say {fact}, but {', '.join(_names(fact, dialect))} is stored: taken as true",
                    place="config.json",
                    got="no key",
                    expected="true",
                    hint="the converted config states it",
                )
            )
        elif said is not None and bool(said.value) != stored:
            findings.append(_contradiction(fact, stored, ", ".join(_names(fact, dialect))))
    return findings


def _names(fact: str, dialect: Dialect) -> Iterator[str]:
    """What the tensors of a switch are called, in the first layer or state."""
    for part in PRESENCE[fact]:
        name = name_of(Role(part, None if PARTS[part].index is Index.ONCE else 0), dialect)
        if name is not None:
            yield name


def _contradiction(fact: str, stored: bool, names: str) -> Finding:
    got, expected = (f"false, but {names} is stored", "true") if stored else (f"true, without {names}", "false")
    return Finding(
        "flag-against-tensors",
        f"config says {fact} is {got}",
        place=f"config.json {fact}",
        got=got,
        expected=expected,
        hint="the weights were lost, or the flag was copied from the target; get the file from its trainer again"
        + (f", or say --set {fact}=false when it was copied" if fact.endswith("_bias") and not stored else ""),
    )
