"""How states enter and leave a drafter: fusion, the norms before it, and parallel drafting, settled among the facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglekit.checkpoint import Tensor
from eaglekit.dialects.binding import Bound
from eaglekit.dialects.config_reading import Known
from eaglekit.dialects.measuring import disagreements
from eaglekit.drafter import Fusion, FusionNorm, Origin
from eaglekit.drafter.parts import Part, Role
from eaglekit.report import Finding


def _value(facts: Mapping[str, Known], name: str) -> Any:
    return facts[name].value if name in facts else None


def fusion_facts(bound: Bound, facts: dict[str, Known]) -> list[Finding]:
    """Whether there is an fc, how wide the target is, and how many states fit."""
    hidden = facts["hidden_size"].value
    facts.setdefault("target_hidden_size", Known(hidden, Origin("rule", "no key means the drafter's own width")))
    stored = facts["has_fusion"].value
    said = _value(facts, "fusion")
    facts["fusion"] = Known(
        Fusion.AUX_STATES if stored or said is not Fusion.FINAL_STATE else Fusion.FINAL_STATE,
        facts["fusion"].origin if "fusion" in facts else Origin("derived", "whether fc is stored"),
    )
    findings = [_contradiction()] if stored and said is Fusion.FINAL_STATE else []
    fusion: Tensor | None = bound.tensors.get(Role(Part.FUSION))
    if fusion is None or len(fusion.shape) != 2:
        stated = _value(facts, "num_aux_states")
        usual = 1 if facts["fusion"].value is Fusion.FINAL_STATE else 3
        facts["num_aux_states"] = Known(stated or usual, Origin("rule", "no fc to count from"))
        return findings
    width, target = fusion.shape[1], facts["target_hidden_size"].value
    if width % target or width == 0:
        facts["num_aux_states"] = Known(1, Origin("unknown", "fc's width is no multiple of the target's"))
        return [
            *findings,
            Finding(
                "fusion-width",
                f"{fusion.name} reads {width} channels, no multiple of the target's hidden size {target}",
                place=fusion.name,
                got=str(list(fusion.shape)),
                expected=f"[{hidden}, A*{target}]",
                hint="when the target is wider or narrower than the drafter, say --set target_hidden_size=N",
            ),
        ]
    counted, stated = width // target, _value(facts, "num_aux_states")
    facts["num_aux_states"] = Known(counted, Origin("derived", f"width of {fusion.name} over target_hidden_size"))
    if stated is None or stated == counted:
        return findings
    return findings + disagreements(
        {"num_aux_states": facts["num_aux_states"]}, {"num_aux_states": Known(stated, Origin("read", "config.json"))}
    )


def _contradiction() -> Finding:
    return Finding(
        "fusion-contradiction",
        "config says use_aux_hidden_state false, but fc.weight is stored",
        place="config.json eagle_config.use_aux_hidden_state",
        got="false",
        expected="true, or no fc",
        hint="an engine would feed the final state and skip fc; correct the flag in a copy of the config",
    )


def norm_facts(facts: dict[str, Known]) -> list[Finding]:
    """What is normed before fc; two norms at once are a finding."""
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


def parallel_facts(facts: dict[str, Known]) -> list[Finding]:
    """Whether it drafts in parallel, by its mask state, and whether its mask token can be."""
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
        if facts.pop("mask_token_id", None) is not None and not stated:
            findings.append(_mask_token_alone(mask))
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


def _mask_token_alone(mask: Any) -> Finding:
    return Finding(
        "mask-token-alone",
        f"the config states mask token id {mask}, but the mask state (mask_hidden) is not stored",
        place="config.json mask_token_id",
        got=str(mask),
        expected="both, or neither",
        hint="left out: without the mask state it is an ordinary drafter, and vLLM refuses to draft in parallel",
    )
