"""Checks of what an engine cannot serve at all, or only when told to: targets, MLA kinds, parallel drafting."""

from __future__ import annotations

from eaglekit.dialects.families import family_of
from eaglekit.drafter import Attention, Part
from eaglekit.engines.case import Case, Found
from eaglekit.engines.model import Verdict
from eaglekit.engines.rules import Behaviour, Feature

PARALLEL = "engine-parallel-drafting"


def targets(case: Case) -> Found:
    """A target of a family that the engine does not draft for."""
    row, family = case.rule(Feature.TARGETS), family_of(case.spec.target_family or "")
    if row.behaviour is not Behaviour.REJECTED:
        return
    if family is None:
        yield case.unknown(f"would serve this: it drafts for {' and '.join(row.values)} targets only")
    elif family.name not in row.values:
        text = f"drafts for {' and '.join(row.values)} targets only; this one is {case.spec.target_family}"
        yield case.effect(Verdict.REJECTS, "engine-target-refused", text, row)


def latent_attention(case: Case) -> Found:
    """An MLA drafter of a model_type or without a rank that the engine's class needs."""
    if case.spec.attention is not Attention.MLA:
        return
    yield from _model_type(case)
    rank = case.rule(Feature.QUERY_RANK)
    if rank.behaviour is Behaviour.REJECTED and case.spec.q_lora_rank is None:
        text = "needs q_lora_rank in an MLA drafter, and this one projects its queries directly"
        yield case.effect(Verdict.REJECTS, "engine-latent-attention", text, rank)


def _model_type(case: Case) -> Found:
    read, other = case.rule(Feature.MODEL_TYPES), case.rule(Feature.OTHER_MODEL_TYPES)
    said, known = case.view.get("model_type"), ", ".join(read.values)
    if said in other.values:
        text = f"takes model_type {said!r} for a multi-token prediction block, and has no EAGLE-3 class for one"
        yield case.effect(Verdict.REJECTS, "engine-latent-attention", f"{text}; it reads {known}", other)
    elif read.values and said not in read.values:
        yield case.unknown(f"serves an MLA drafter of model_type {said!r}: {known} are known to serve")


def parallel_drafting(case: Case) -> Found:
    """A drafter that drafts in parallel where the engine cannot, or must be told to."""
    row, stored = case.rule(Feature.PARALLEL), case.stored.of((Part.MASK_STATE,))
    if not case.spec.parallel_drafting:
        yield from _mask_without_state(case)
        return
    if row.behaviour is Behaviour.HONOURED:
        yield from _served(case, bool(stored))
    elif row.behaviour is Behaviour.NOT_KNOWN:
        yield case.unknown("serves parallel drafting")
    else:
        refused = case.does(Feature.UNEXPECTED_TENSOR) is Behaviour.REJECTED and stored
        text = "knows no parallel drafting (P-EAGLE): it "
        text += "refuses mask_hidden" if refused else "ignores mask_hidden and drafts one token after another"
        yield case.effect(Verdict.REJECTS if refused else Verdict.MISREADS, PARALLEL, text, row)


def _served(case: Case, has_mask: bool) -> Found:
    row, token = case.rule(Feature.PARALLEL), case.rule(Feature.MASK_ID)
    path, _ = case.view.first(token.values)
    if not has_mask:
        yield case.effect(Verdict.REJECTS, PARALLEL, "refuses parallel drafting without the tensor mask_hidden", row)
    if not path:
        text = f"needs the mask token's id under one of {', '.join(token.values)}"
        yield case.effect(Verdict.REJECTS, PARALLEL, text, token)
    elif has_mask:
        text = 'drafts in parallel only when told: `"parallel_drafting": true` in `--speculative-config`'
        # The speculators entry point fills that in, and only it: vllm/transformers_utils/config.py.
        text += ", or a start with this folder as the model" if case.view.flattened else ""
        yield case.effect(Verdict.DEGRADED, PARALLEL, text, row)


def _mask_without_state(case: Case) -> Found:
    row, (path, _) = case.rule(Feature.PARALLEL), case.view.first(case.rule(Feature.MASK_ID).values)
    if path and row.behaviour is Behaviour.HONOURED and not case.stored.has(Part.MASK_STATE):
        text = (
            f"finds a mask token ({path}) and no mask_hidden: with parallel drafting it raises ValueError, without it "
        )
        text += "the drafter runs as an ordinary EAGLE-3 one"
        yield case.effect(Verdict.DEGRADED, PARALLEL, text, row)
