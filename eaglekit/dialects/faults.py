"""Known faults of producers, as rows: when a file shows the signs, what is done about it, and the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.clues import holds
from eaglekit.dialects.config_reading import Known
from eaglekit.dialects.dialect import Clue
from eaglekit.drafter import Origin, Residual
from eaglekit.report import Finding


@dataclass(frozen=True, slots=True)
class Fault:
    """A producer's mistake that some of its files carry."""

    code: str
    dialects: tuple[str, ...]
    signs: tuple[Clue, ...]
    message: str
    hint: str
    source: str
    settles: str = ""
    """The fact that `--set` states to answer the question; a stated fact silences the fault."""
    corrects: Callable[[Mapping[str, Known]], Mapping[str, Any]] = lambda facts: {}
    """Facts that are put right; none when the fault can only be told."""
    shows: Callable[[Mapping[str, Known]], bool] = lambda facts: True
    """A condition on what was read, beside the signs."""


def _theta_matters(facts: Mapping[str, Known], kinds: tuple[str, ...] = ("default",)) -> bool:
    scaling = facts["rope_scaling"].value if "rope_scaling" in facts else ("default", ())
    return "rope_theta" in facts and facts["rope_theta"].value != 10000.0 and scaling[0] in kinds


def _theta_unread_by_angelslim(facts: Mapping[str, Known]) -> bool:
    return "mrope" not in facts and _theta_matters(facts, ("default", "linear", "dynamic"))


def _scaled_theta_matters(facts: Mapping[str, Known]) -> bool:
    scaling = facts["rope_scaling"].value[0] if "rope_scaling" in facts else "default"
    return "rope_theta" in facts and facts["rope_theta"].value != 10000.0 and scaling in ("yarn", "linear", "dynamic")


def _yarn_amplifies(facts: Mapping[str, Known]) -> bool:
    kind, numbers = facts["rope_scaling"].value if "rope_scaling" in facts else ("default", ())
    return kind == "yarn" and any(dict(numbers).get(name, 1.0) != 0.0 for name in ("mscale", "mscale_all_dim"))


def _yarn_without_mscale(facts: Mapping[str, Known]) -> dict[str, Any]:
    kind, numbers = facts["rope_scaling"].value
    return {"rope_scaling": (kind, tuple(sorted((dict(numbers) | {"mscale": 0.0, "mscale_all_dim": 0.0}).items())))}


def _unsorted(facts: Mapping[str, Known]) -> bool:
    ids = facts["target_ids"].value if "target_ids" in facts else None
    return ids is not None and list(ids) != sorted(ids)


def _pruned(facts: Mapping[str, Known]) -> bool:
    return "target_ids" in facts and facts["target_ids"].value is not None


FAULTS: tuple[Fault, ...] = (
    Fault(
        "fault-specforge-norm-output",
        ("specforge",),
        # SpecDrift's fork writes use_aux_norm and is older than the window; its norm_output is EAGLE 3.1's.
        (Clue("value", "norm_output", (True,)), Clue("no key", "use_aux_norm")),
        "SpecForge between commit b7ce50cd (2026-07-19) and #879 wrote norm_output true for drafters that feed back "
        "the un-normed state; the file does not say which release trained it",
        "trained before #879: --set norm_output=false; trained after it: --set norm_output=true",
        "sgl-project/SpecForge#568, sgl-project/SpecForge#879",
        settles="feedback",
    ),
    Fault(
        "fault-specforge-unnormed-head",
        ("specforge",),
        (Clue("value", "norm_output", (False,)),),
        "SpecForge between commit b7ce50cd (2026-07-19) and #879 wrote norm_output false for drafters whose head reads "
        "the un-normed state, which no engine serves; the file does not say which release trained it",
        "if it was trained outside that window it is an ordinary drafter: --set norm_output=false",
        "sgl-project/SpecForge#568, sgl-project/SpecForge#879",
        settles="feedback",
    ),
    Fault(
        "fault-modelopt-script-residual",
        ("speculators",),
        (
            Clue("value", "speculators_version", ("0.1.0.dev14",)),
            Clue("value", "norm_before_residual", (True,)),
            Clue("no key", "eagle_aux_hidden_state_layer_ids"),
        ),
        "Model-Optimizer's convert_to_vllm_ckpt.py writes norm_before_residual true for every drafter, though its "
        "drafters start layer 0 from the un-normed state: corrected to false",
        "if this file was not made by that script, say --set norm_before_residual=true",
        "NVIDIA/Model-Optimizer examples/speculative_decoding/scripts/convert_to_vllm_ckpt.py",
        settles="residual",
        corrects=lambda facts: {"residual": Residual.RAW},
    ),
    Fault(
        "fault-modelopt-norms-twice",
        ("modelopt",),
        (Clue("tensor", "layers.0.hidden_norm.weight"), Clue("no key", "eaglekit")),
        "Model-Optimizer's Hugging Face trainer norms the hidden state by input_layernorm and then by hidden_norm, and "
        "every engine by hidden_norm alone; the more uneven input_layernorm is, the more that matters",
        "no file can say it: measure with eaglekit validate, and expect no more than it says",
        "Model-Optimizer 0.47 modeling_eagle.py _eagle3_attention_forward_pre_hook, run",
    ),
    Fault(
        "fault-rope-theta-ignored",
        ("safeailab",),
        (),
        "this trainer has built its rotary embedding with base 10000 whatever rope_theta said, when rope_scaling was "
        "null; the file says another base, which is kept",
        "if acceptance is poor at long context, validate with --set rope_theta=10000",
        "SafeAILab/EAGLE traineagle3/cnets.py _init_rope",
        settles="rope_theta",
        shows=_theta_matters,
    ),
    Fault(
        "fault-rope-theta-ignored",
        ("angelslim",),
        (),
        "AngelSlim's trainer (0.5.0 too) builds every rotary embedding but mrope's with base 10000 whatever "
        "rope_theta says; the file says another base, which is kept",
        "if AngelSlim trained it: --set rope_theta=10000; validate tells which base it is",
        "Tencent/AngelSlim angelslim/compressor/speculative/train/models/draft/llama_eagle3.py _init_rope",
        settles="rope_theta",
        shows=_theta_unread_by_angelslim,
    ),
    Fault(
        "fault-old-specforge-rope-theta",
        ("specforge",),
        # transformers 5 writes this key, and is younger than the mended release.
        (Clue("no key", "rope_parameters"),),
        "SpecForge before #270 (2025-10-30) built its rotary embedding with base 10000 whatever rope_theta said; the "
        "file does not say which release trained it, and its base is kept",
        "only for drafters trained before that day: validate with --set rope_theta=10000",
        "sgl-project/SpecForge#270",
        settles="rope_theta",
        shows=_theta_matters,
    ),
    Fault(
        "fault-unsorted-map",
        ("modelopt", "modelopt-megatron", "nemo", "vllm", "sglang", "specforge", "safeailab", "speculators"),
        (),
        "the draft vocabulary is in frequency order: d2t cannot be rebuilt from a mask",
        "kept as it is; --sort-vocabulary sorts the map together with the head's rows, which is exact",
        "Model-Optimizer calibrates the vocabulary by frequency; Automodel datasets/llm/eagle3.py",
        shows=_unsorted,
    ),
    Fault(
        "fault-torchspec-pruned-head",
        ("torchspec", "torchspec-vllm"),
        (),
        "TorchSpec's convert_to_hf.py takes the rows of a pruned head by offset instead of by token id, so every row "
        "after the first gap belongs to another token; the file cannot show whether it was pruned by that tool",
        "compare with the unpruned head, or export again without --prune-vocab",
        "TorchSpec tools/convert_to_hf.py, lm_head[d2t]",
        shows=_pruned,
    ),
    Fault(
        "fault-torchspec-rope-theta",
        ("torchspec", "torchspec-vllm"),
        (Clue("tensor", "*.kv_a_proj_with_mqa.weight"), Clue("no key", "eaglekit")),
        "TorchSpec before 3097987 (2026-08-09) built the scaled rotary embedding of its MLA drafters with base 10000 "
        "whatever rope_theta said; the file does not say which commit trained it, and its base is kept",
        "validate it as it is and with --set rope_theta=10000: the one that accepts more is how it was trained",
        "TorchSpec torchspec/models/draft/deepseek_eagle.py _init_rope",
        settles="rope_theta",
        shows=_scaled_theta_matters,
    ),
    Fault(
        "fault-nemo-mla-scale",
        ("nemo",),
        (Clue("tensor", "*.kv_a_proj_with_mqa.weight"),),
        "Automodel trains MLA drafters without yarn's mscale, which every engine applies: corrected by stating mscale "
        "and mscale_all_dim as 0, so that engines compute what was trained",
        "nothing to do; served without the correction, fewer drafts would be accepted",
        "NVIDIA-NeMo/Automodel draft_deepseek.py",
        shows=_yarn_amplifies,
        corrects=_yarn_without_mscale,
    ),
    Fault(
        "fault-modelopt-script-ids",
        ("speculators",),
        (
            Clue("value", "speculators_version", ("0.1.0.dev14",)),
            Clue("no key", "eagle_aux_hidden_state_layer_ids"),
        ),
        "Model-Optimizer's convert_to_vllm_ckpt.py drops the layer ids of its source",
        "take them from the Model-Optimizer export this file was made from",
        "NVIDIA/Model-Optimizer examples/speculative_decoding/scripts/convert_to_vllm_ckpt.py",
    ),
)  # fmt: skip


def find_faults(checkpoint: Checkpoint, dialect: str, facts: dict[str, Known], given: frozenset[str]) -> list[Finding]:
    """A finding for every fault the file shows; facts that can be put right are, in place.

    `given` names the facts the user stated: a question that is answered is not asked again.
    """
    findings = []
    for fault in FAULTS:
        if dialect not in fault.dialects or fault.settles in given:
            continue
        if not all(holds(sign, checkpoint) for sign in fault.signs) or not fault.shows(facts):
            continue
        for fact, value in fault.corrects(facts).items():
            facts[fact] = Known(value, Origin("rule", fault.source))
        findings.append(
            Finding(fault.code, fault.message, place=dialect, got="; ".join(map(str, fault.signs)), hint=fault.hint)
        )
    return findings
