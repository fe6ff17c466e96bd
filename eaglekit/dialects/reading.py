"""A checkpoint through a dialect into a `Drafter`, with every finding on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.aux_evidence import Lists, resolve
from eaglekit.dialects.binding import Bound, bind, name_of
from eaglekit.dialects.clues import ABSENT, at
from eaglekit.dialects.config_reading import ConfigFacts, Known, read_config
from eaglekit.dialects.dialect import ASK, Dialect, Means
from eaglekit.dialects.families import ARCHITECTURES, Inexpressible
from eaglekit.dialects.faults import find_faults
from eaglekit.dialects.given import Given
from eaglekit.dialects.heads import resolve_heads
from eaglekit.dialects.keys import COPIED_DEPTH
from eaglekit.dialects.measuring import config_name, disagreements, flags, measure
from eaglekit.dialects.recognise import Recognition, recognise
from eaglekit.dialects.rope_keys import rope_of
from eaglekit.dialects.rope_reading import check_rotation, state_original_length
from eaglekit.dialects.shapes import check_twins, check_world
from eaglekit.dialects.state_reading import fusion_facts, norm_facts, parallel_facts
from eaglekit.dialects.user_word import layers_overruled, overruled, unknown_drops
from eaglekit.dialects.vocabulary_reading import read_vocabulary
from eaglekit.drafter import (
    Attention,
    Drafter,
    Feedback,
    Fusion,
    Origin,
    Residual,
    Spec,
)
from eaglekit.drafter.aux_layers import check as check_aux_layers
from eaglekit.drafter.parts import Part, Role
from eaglekit.report import Finding, Refusal, Severity

ABSENT_FACTS: Mapping[str, Means | str] = {
    "hidden_act": Means("silu", "transformers LlamaConfig; every trainer here"),
    "feedback": Means(Feedback.RAW, "EAGLE-3 feeds back the un-normed state; every engine defaults to it"),
    "residual": Means(Residual.RAW, "original EAGLE-3 and every trainer default to the un-normed residual"),
    "rope_scaling": Means(("default", ()), "no scaling is written as no key"),
    "rope_theta": ASK,
    "rms_norm_eps": ASK,
    "num_heads": ASK,
}
"""Fact -> what it means that nobody states it, unless a dialect says otherwise."""


@dataclass(frozen=True)
class Read:
    """The outcome of reading: a drafter as far as it is understood, and what was found."""

    checkpoint: Checkpoint
    recognition: Recognition
    drafter: Drafter | None
    """None when too little is known to size it; then the findings say what is missing."""
    findings: tuple[Finding, ...]
    dropped_tensors: tuple[tuple[str, str], ...] = ()
    dropped_keys: tuple[tuple[str, str], ...] = ()

    @property
    def dialect(self) -> Dialect:
        """The dialect that was read."""
        return self.recognition.dialect

    def drafter_or_refuse(self) -> Drafter:
        """The drafter. Raises `Refusal` with every finding when any is an error."""
        if self.drafter is None or any(finding.severity is Severity.ERROR for finding in self.findings):
            raise Refusal(*self.findings)
        return self.drafter


def read(checkpoint: Checkpoint, given: Given | None = None) -> Read:
    """The drafter a checkpoint holds. Raises `Refusal` only when it is none, or its dialect is not clear."""
    given = given or Given()
    recognition = recognise(checkpoint, dialect=given.dialect)
    dialect = recognition.dialect
    bound = bind(checkpoint, dialect, given.drops)
    config = read_config(checkpoint.config, dialect, given.drops)
    tie = _tie(bound, config, given)
    facts, findings = _settle(checkpoint, dialect, bound, config, given)
    findings = [*unknown_drops(checkpoint, given), *bound.findings, *config.findings, *tie, *findings]
    spec, more = _spec(checkpoint, dialect, bound, facts, given)
    findings += more
    if spec is not None:
        findings += check_world(spec, bound, lambda role: name_of(role, dialect) or str(role), dialect.norm_dtype)
        findings += check_twins(checkpoint, bound)
    drafter = None
    if spec is not None:
        origins = {name: known.origin for name, known in facts.items()}
        drafter = Drafter(spec, dict(sorted(bound.tensors.items())), origins)
    return Read(checkpoint, recognition, drafter, tuple(findings), tuple(bound.dropped), tuple(config.dropped))


def _tie(bound: Bound, config: ConfigFacts, given: Given) -> list[Finding]:
    """Settles the head of a file whose config ties it to the drafter's own embedding; asks when nobody says so."""
    embedding = bound.tensors.get(Role(Part.EMBEDDING))
    if embedding is None or bound.has(Part.HEAD) or not _value(config.facts, "tie_word_embeddings"):
        return []
    if given.facts.get("tie_word_embeddings"):
        bound.tensors[Role(Part.HEAD)] = embedding
    if "tie_word_embeddings" in given.facts:
        return []
    return [
        Finding(
            "tie-question",
            f"the config ties the head to {embedding.name}, and no head is stored",
            place=config.facts["tie_word_embeddings"].origin.place,
            got="true",
            expected="a head, or a word on whose it is",
            hint="trained with its embedding as the head: --set tie_word_embeddings=true; with the target's head, and "
            "the flag only copied from the target: --set tie_word_embeddings=false",
        )
    ]


def _settle(
    checkpoint: Checkpoint, dialect: Dialect, bound: Bound, config: ConfigFacts, given: Given
) -> tuple[dict[str, Known], list[Finding]]:
    """Facts from the user, the tensors, the config and the dialect's rules, in that order of trust."""
    measured = measure(bound)
    stated = {name: Known(value, Origin("given", f"--set {config_name(name)}")) for name, value in given.facts.items()}
    of_target = Origin("read", f"target {given.target_label} config.json")
    stated = {name: Known(value, of_target) for name, value in given.target_facts.items()} | stated
    if given.target_family is not None:
        stated["target_family"] = Known(given.target_family, Origin("given", "--target-family"))
    said = config.facts | stated
    findings = [*disagreements(measured, said), *flags(measured, said, dialect)]
    findings += _corrections(bound, measured, config.facts)
    findings += _other_target(config.facts, given)
    findings += overruled(checkpoint, dialect, given, {**config.facts, **measured})
    facts = {**config.facts, **stated, **measured}
    if COPIED_DEPTH in facts and facts[COPIED_DEPTH].value != measured["num_layers"].value:
        facts.setdefault("target_layers", facts[COPIED_DEPTH])
    architecture = _value(facts, "target_architecture")
    if "target_family" not in facts and architecture in ARCHITECTURES:
        named = facts["target_architecture"].origin.place
        facts["target_family"] = Known(ARCHITECTURES[architecture], Origin("rule", f"the class that {named} names"))
    findings += resolve_heads(facts, bound)
    findings += _foreign_keys(facts)
    for name, absence in {**ABSENT_FACTS, **dialect.absent}.items():
        if name in facts:
            continue
        if isinstance(absence, Means):
            facts[name] = Known(absence.value, Origin("rule", absence.source))
        else:
            findings.append(_ask(name))
    vocabulary, more = read_vocabulary(checkpoint, dialect, bound, facts)
    findings += more
    if vocabulary is not None:
        facts["target_ids"] = vocabulary
    if at(checkpoint.config, "eaglekit.dialect") is ABSENT:
        findings += find_faults(checkpoint, dialect.name, facts, frozenset(given.facts))
    return facts, findings


def _corrections(bound: Bound, measured: Mapping[str, Known], stated: Mapping[str, Known]) -> list[Finding]:
    """Config statements that the tensors correct: dtype, the copied tie flag, rotary axes of vision."""
    findings = []
    if "dtype" in stated and "dtype" in measured and stated["dtype"].value != measured["dtype"].value:
        findings.append(
            Finding(
                "dtype-corrected",
                f"config says {stated['dtype'].value}, the tensors are {measured['dtype'].value}",
                place=stated["dtype"].origin.place,
                got=stated["dtype"].value,
                expected=measured["dtype"].value,
                hint="the written config follows the tensors; --dtype casts them",
            )
        )
    head, tied = bound.tensors.get(Role(Part.HEAD)), _value(stated, "tie_word_embeddings")
    if tied and head is not None and head is not bound.tensors.get(Role(Part.EMBEDDING)):
        rows, vocabulary = measured["draft_vocab_size"].value, _value(stated, "vocab_size")
        findings.append(
            Finding(
                "tie-corrected",
                "config ties head and embedding, but the drafter has a head of its own"
                + (f" ({rows} rows against {vocabulary})" if vocabulary not in (None, rows) else ""),
                place="config.json tie_word_embeddings",
                got="true",
                expected="false",
                hint="written as false: an engine that believed it would drop the trained head",
            )
        )
    if "mrope" in stated:
        findings.append(
            Finding(
                "mrope-dropped",
                "the rope settings carry the three-axis sections of a vision target; text positions use one axis",
                place=stated["mrope"].origin.place,
                got="mrope_section",
                expected="plain rope",
                hint="left out of the written config; the drafter runs on text positions",
            )
        )
    return findings


LATENT_KEYS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def _foreign_keys(facts: dict[str, Known]) -> list[Finding]:
    """Keys of another kind of attention than the tensors show: copied from the target, left out aloud or refused."""
    findings = []
    copied = [name for name in LATENT_KEYS if facts["attention"].value == "gqa" and facts.pop(name, None) is not None]
    if copied:
        findings.append(
            Finding(
                "copied-keys",
                f"config states {', '.join(copied)}, but the drafter has no latent attention",
                place="config.json",
                got=", ".join(copied),
                expected="keys of grouped-query attention",
                hint="copied from the target; left out",
            )
        )
    kinds = facts.pop("layer_types", None)
    if kinds is not None and len(kinds.value) == facts["num_layers"].value and set(kinds.value) != {"full_attention"}:
        findings.append(
            Finding(
                "config-unsupported",
                f"layer_types {list(kinds.value)} gives the drafter's own layers a window",
                place=kinds.origin.place,
                got=", ".join(kinds.value),
                expected="full_attention",
                hint=f"if the key was only copied along, say --drop {kinds.origin.place.removeprefix('config.json ')}",
            )
        )
    return findings


def _other_target(said: Mapping[str, Known], given: Given) -> list[Finding]:
    """A file that states its target's depth is not converted for a target of another depth."""
    mine, theirs = _value(said, "target_layers"), given.target_facts.get("target_layers")
    if mine is None or theirs is None or mine == theirs:
        return []
    return [
        Finding(
            "target-size",
            f"the drafter is made for a target of {mine} blocks, this target has {theirs}",
            place=said["target_layers"].origin.place,
            got=str(mine),
            expected=str(theirs),
            hint="give the target this drafter was trained for",
        )
    ]


def _ask(name: str) -> Finding:
    return Finding(
        "fact-unknown",
        f"nothing in the checkpoint says {config_name(name)}",
        place=f"config.json {config_name(name)}",
        got="no key",
        expected="the value used in training",
        hint=f"take it from the training run and say --set {config_name(name)}=VALUE",
    )


_NEEDED = ("hidden_size", "num_layers", "num_heads", "num_kv_heads", "head_dim", "intermediate_size", "vocab_size")


def _spec(
    checkpoint: Checkpoint, dialect: Dialect, bound: Bound, facts: dict[str, Known], given: Given
) -> tuple[Spec | None, list[Finding]]:
    """The spec that the facts make, or None with what is missing."""
    findings: list[Finding] = []
    missing = [name for name in _NEEDED if name not in facts]
    if missing:
        return None, [_ask(name) for name in missing if name != "num_heads"]
    findings += fusion_facts(bound, facts)
    lists = Lists(*(_value(facts, name) for name in ("aux_ids.top", "aux_ids.nested", "aux_layers.declared")))
    depth = _value(facts, "target_layers")
    aux = _value(facts, "num_aux_states")
    if facts["fusion"].value is Fusion.AUX_STATES:
        layers = resolve(lists, checkpoint=checkpoint, dialect=dialect, given=given, target_layers=depth)
        findings += layers.findings
        findings += check_aux_layers(layers.boundaries, target_layers=depth, num_aux_states=aux)
        facts["aux_layers"] = Known(layers.boundaries, layers.origin)
        findings += layers_overruled(given, lists.declared or lists.top or lists.nested, layers.boundaries)
    else:
        facts["aux_layers"] = Known((), Origin("derived", "the drafter reads the final state"))
    findings += norm_facts(facts)
    findings += parallel_facts(facts)
    findings += state_original_length(facts)
    theta, scaling = _value(facts, "rope_theta"), facts["rope_scaling"].value
    facts["rope"] = Known(
        rope_of(theta if theta is not None else 0.0, scaling),
        facts["rope_theta"].origin if theta is not None else Origin("unknown", "nothing states rope_theta"),
    )
    facts["attention"] = Known(Attention(facts["attention"].value), facts["attention"].origin)
    findings += check_rotation(facts)
    facts["token_ids"] = Known(
        {name.partition(".")[2]: known.value for name, known in sorted(facts.items()) if name.startswith("token_ids.")},
        Origin("read", "config.json"),
    )
    facts.setdefault("rms_norm_eps", Known(0.0, Origin("unknown", "nothing states rms_norm_eps")))
    if "max_position_embeddings" not in facts and not given.target_facts:
        findings.append(_context_unstated())
    if "trained_context_length" not in facts and "max_position_embeddings" in facts:
        facts["trained_context_length"] = facts["max_position_embeddings"]
    names = {field.name for field in fields(Spec)}
    spec = Spec(**{name: known.value for name, known in facts.items() if name in names})
    if lists.declared is not None and given.aux_layers is None:
        findings += _altered_lists(checkpoint, dialect, spec)
    return spec, findings


def _altered_lists(checkpoint: Checkpoint, dialect: Dialect, spec: Spec) -> list[Finding]:
    """Our own files state the layers in boundary indices beside each reader's list; an edited list contradicts them."""
    findings = []
    for key in dialect.keys:
        stored = at(checkpoint.config, key.path)
        if not key.path.endswith("eagle_aux_hidden_state_layer_ids") or not key.write or stored in (ABSENT, None):
            continue
        try:
            expected = key.codec.writes(spec)
        except (Inexpressible, Refusal):
            continue
        if stored != expected:
            findings.append(
                Finding(
                    "aux-layers-conflict",
                    f"{key.path} is {stored}, but eaglekit.aux_layers {list(spec.aux_layers)} is written as {expected}",
                    place=f"config.json {key.path}",
                    got=str(stored),
                    expected=str(expected),
                    hint="one of them was edited: find out which layers were trained, and say --aux-layers K1,K2,K3",
                )
            )
    return findings


def _context_unstated() -> Finding:
    return Finding(
        "context-unstated",
        "the drafter does not say how many positions it has",
        place="config.json max_position_embeddings",
        got="no key",
        expected="the target's",
        hint="vLLM then drafts only up to 2048: add --target PATH_OR_ID, or --set max_position_embeddings=N",
        severity=Severity.WARNING,
    )


def _value(facts: Mapping[str, Known], name: str) -> Any:
    return facts[name].value if name in facts else None
