"""A checkpoint through a dialect into a `Drafter`, with every finding on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from eaglekit.checkpoint import Checkpoint, Tensor
from eaglekit.dialects.aux_evidence import Lists, resolve
from eaglekit.dialects.binding import Bound, bind, name_of
from eaglekit.dialects.clues import ABSENT, at
from eaglekit.dialects.config_reading import ConfigFacts, Known, read_config
from eaglekit.dialects.dialect import ASK, Dialect, Means
from eaglekit.dialects.families import ARCHITECTURES
from eaglekit.dialects.faults import find_faults
from eaglekit.dialects.given import Given
from eaglekit.dialects.heads import resolve_heads
from eaglekit.dialects.keys import COPIED_DEPTH, rope_of
from eaglekit.dialects.measuring import config_name, disagreements, flags, measure
from eaglekit.dialects.recognise import Recognition, recognise
from eaglekit.dialects.shapes import check_twins, check_world
from eaglekit.dialects.vocabulary_reading import read_vocabulary
from eaglekit.drafter import (
    ROTATIONS,
    Attention,
    Drafter,
    Feedback,
    Fusion,
    FusionNorm,
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
    findings = [*bound.findings, *config.findings, *tie, *findings]
    spec, more = _spec(checkpoint, dialect, bound, facts, given)
    findings += more
    if spec is not None:
        findings += check_world(spec, bound, lambda role: name_of(role, dialect) or str(role))
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
    facts = {**config.facts, **stated, **measured}
    if COPIED_DEPTH in facts and facts[COPIED_DEPTH].value != measured["num_layers"].value:
        facts.setdefault("target_layers", facts[COPIED_DEPTH])
    architecture = _value(facts, "target_architecture")
    if "target_family" not in facts and architecture in ARCHITECTURES:
        named = facts["target_architecture"].origin.place
        facts["target_family"] = Known(ARCHITECTURES[architecture], Origin("rule", f"the class that {named} names"))
    findings += resolve_heads(facts, bound)
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
    findings += _fusion_facts(bound, facts)
    lists = Lists(*(_value(facts, name) for name in ("aux_ids.top", "aux_ids.nested", "aux_layers.declared")))
    depth = _value(facts, "target_layers")
    aux = _value(facts, "num_aux_states")
    if facts["fusion"].value is Fusion.AUX_STATES:
        layers = resolve(lists, checkpoint=checkpoint, dialect=dialect, given=given, target_layers=depth)
        findings += layers.findings
        findings += check_aux_layers(layers.boundaries, target_layers=depth, num_aux_states=aux)
        facts["aux_layers"] = Known(layers.boundaries, layers.origin)
    else:
        facts["aux_layers"] = Known((), Origin("derived", "the drafter reads the final state"))
    findings += _norm_facts(facts)
    findings += _parallel_facts(facts)
    theta, scaling = _value(facts, "rope_theta"), facts["rope_scaling"].value
    facts["rope"] = Known(
        rope_of(theta if theta is not None else 0.0, scaling),
        facts["rope_theta"].origin if theta is not None else Origin("unknown", "nothing states rope_theta"),
    )
    facts["attention"] = Known(Attention(facts["attention"].value), facts["attention"].origin)
    findings += _rotation(facts)
    facts["token_ids"] = Known(
        {name.partition(".")[2]: known.value for name, known in sorted(facts.items()) if name.startswith("token_ids.")},
        Origin("read", "config.json"),
    )
    facts.setdefault("rms_norm_eps", Known(0.0, Origin("unknown", "nothing states rms_norm_eps")))
    if "trained_context_length" not in facts and "max_position_embeddings" in facts:
        facts["trained_context_length"] = facts["max_position_embeddings"]
    names = {field.name for field in fields(Spec)}
    return Spec(**{name: known.value for name, known in facts.items() if name in names}), findings


def _value(facts: Mapping[str, Known], name: str) -> Any:
    return facts[name].value if name in facts else None


def _fusion_facts(bound: Bound, facts: dict[str, Known]) -> list[Finding]:
    """Whether there is an fc, how wide the target is, and how many states fit."""
    hidden = facts["hidden_size"].value
    facts.setdefault("target_hidden_size", Known(hidden, Origin("rule", "no key means the drafter's own width")))
    stored = facts["has_fusion"].value
    said = _value(facts, "fusion")
    facts["fusion"] = Known(
        Fusion.AUX_STATES if stored or said is not Fusion.FINAL_STATE else Fusion.FINAL_STATE,
        facts["fusion"].origin if "fusion" in facts else Origin("derived", "whether fc is stored"),
    )
    if stored and said is Fusion.FINAL_STATE:
        return [
            Finding(
                "fusion-contradiction",
                "config says use_aux_hidden_state false, but fc.weight is stored",
                place="config.json eagle_config.use_aux_hidden_state",
                got="false",
                expected="true, or no fc",
                hint="an engine would feed the final state and skip fc; correct the flag in a copy of the config",
            )
        ]
    fusion: Tensor | None = bound.tensors.get(Role(Part.FUSION))
    if fusion is None or len(fusion.shape) != 2:
        stated = _value(facts, "num_aux_states")
        facts["num_aux_states"] = Known(stated or (1 if not stored else 3), Origin("rule", "no fc to count from"))
        return []
    width, target = fusion.shape[1], facts["target_hidden_size"].value
    if width % target or width == 0:
        facts["num_aux_states"] = Known(1, Origin("unknown", "fc's width is no multiple of the target's"))
        return [
            Finding(
                "fusion-width",
                f"{fusion.name} reads {width} channels, no multiple of the target's hidden size {target}",
                place=fusion.name,
                got=str(list(fusion.shape)),
                expected=f"[{hidden}, A*{target}]",
                hint="when the target is wider or narrower than the drafter, say --set target_hidden_size=N",
            )
        ]
    counted, stated = width // target, _value(facts, "num_aux_states")
    facts["num_aux_states"] = Known(counted, Origin("derived", f"width of {fusion.name} over target_hidden_size"))
    if stated is None or stated == counted:
        return []
    return disagreements(
        {"num_aux_states": facts["num_aux_states"]}, {"num_aux_states": Known(stated, Origin("read", "config.json"))}
    )


def _norm_facts(facts: dict[str, Known]) -> list[Finding]:
    per_state, whole = facts["fc_norm"], facts["norm_before_fc"]
    if per_state.value and whole.value:
        facts["fusion_norm"] = Known(FusionNorm.PER_STATE, per_state.origin)
        return [
            Finding(
                "norms-exclusive",
                "fc_norm and norm_before_fc are both there; readers disagree on which is applied",
                place="config.json",
                got="both",
                expected="one of them",
                hint="vLLM and SGLang apply both, TensorRT-LLM one, speculators refuses: the trainer must say which",
            )
        ]
    norm = FusionNorm.PER_STATE if per_state.value else FusionNorm.WHOLE if whole.value else FusionNorm.NONE
    facts["fusion_norm"] = Known(norm, (per_state if per_state.value else whole).origin)
    return []


def _rotation(facts: Mapping[str, Known]) -> list[Finding]:
    """A stated rotary layout that no drafter with this attention is trained or served with."""
    attention, stated = facts["attention"].value, facts.get("rotation")
    if stated is None or stated.value is ROTATIONS[attention]:
        return []
    key = stated.origin.place.removeprefix("config.json ")
    return [
        Finding(
            "rotation-contradicts",
            f"config key {key} says {stated.value.value} rotation, but {attention.value.upper()} drafters are trained "
            f"and served with {ROTATIONS[attention].value} rotation",
            place=stated.origin.place,
            got=stated.value.value,
            expected=ROTATIONS[attention].value,
            hint=f"if the key was only copied from the target, say --drop {key}; a drafter that was really trained "
            "so is served rightly by no engine",
        )
    ]


def _parallel_facts(facts: dict[str, Known]) -> list[Finding]:
    stated, stored = _value(facts, "parallel_drafting"), facts["has_mask_state"].value
    facts["parallel_drafting"] = Known(stored, Origin("derived", "whether the mask state is stored"))
    mask, vocabulary = _value(facts, "mask_token_id"), facts["vocab_size"].value
    findings = []
    if stated and not stored:
        findings.append(
            Finding(
                "mask-state-missing",
                "the config says parallel drafting, but the mask state (mask_hidden) is not stored",
                place="mask_hidden",
                got="no tensor",
                expected="[A*G] values",
                hint="get the file from its trainer again; without it the drafter cannot draft in parallel",
            )
        )
    if not stored:
        facts.pop("mask_token_id", None)
        return findings
    ends = [v for name, known in facts.items() if name == "token_ids.eos" for v in _listed(known.value)]
    problems = (
        (mask is None, "the mask token id of parallel drafting is not stated", "no key"),
        (mask is not None and mask >= vocabulary, f"mask token id {mask} is outside 0..{vocabulary - 1}", str(mask)),
        (mask is not None and mask in ends, f"mask token id {mask} is the end-of-text token", str(mask)),
    )
    return findings + [
        Finding(
            "mask-token",
            message,
            place="config.json mask_token_id",
            got=got,
            expected="a token of the target that no text contains",
            hint="take it from the training run: --set mask_token_id=N",
        )
        for wrong, message, got in problems
        if wrong
    ]


def _listed(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def with_spec(read_: Read, spec: Spec) -> Read:
    """The same reading with another spec: what a target or an option added."""
    assert read_.drafter is not None  # noqa: S101 - callers hold a drafter
    return replace(read_, drafter=replace(read_.drafter, spec=spec))
