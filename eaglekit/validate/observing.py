"""One drafter over one captured text: its drafts, its states and its attention, counted.

n tokens of a text, T = n - 1 slots, H hidden, AG the drafter's captured states side by side.
"""

from dataclasses import dataclass
from math import isfinite

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.drafter import Feedback, Fusion
from eaglekit.reference.drafting import DraftStep, draft_everywhere
from eaglekit.reference.fusing import fuse
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.parallel import masked_slots
from eaglekit.report import Finding
from eaglekit.target.captured import Capture, CapturedText
from eaglekit.validate.acceptance import TextCount
from eaglekit.validate.drift import DepthSums
from eaglekit.validate.rounds import accepted_lengths, agreement, complete_slots, tally
from eaglekit.validate.sampling import Overlap, TargetLogits, overlap


@dataclass(frozen=True)
class Wanted:
    """What is measured over a text."""

    draft_tokens: int
    """S, drafted tokens per round."""
    depth: int = 0
    """How many drafts deep state and attention are watched; 0 watches neither."""
    temperature: float = 1.0
    target_logits: TargetLogits | None = None
    """None leaves the sampled figures out."""


@dataclass(frozen=True)
class Observed:
    """What one drafter did over one text."""

    count: TextCount
    drift: tuple[DepthSums, ...]
    broken: Finding | None
    """The first state that was not finite; then the figures mean nothing."""


def states_of(drafter: ReferenceDrafter, capture: Capture, text: CapturedText) -> Float[Tensor, "n AG"]:
    """The captured states that this drafter reads, as it reads them."""
    if drafter.spec.fusion is Fusion.FINAL_STATE:
        return text.final
    return capture.states_for(text, drafter.spec.aux_layers)


def observe(drafter: ReferenceDrafter, text: CapturedText, states: Float[Tensor, "n AG"], wanted: Wanted) -> Observed:
    """Drafts from every slot of a text, counted against it, with drift sums over the slots of its response."""
    tokens = torch.tensor(text.text.tokens)
    prompt_length, steps = text.text.prompt_length, wanted.draft_tokens
    drafted, normed, drift = [], [], []
    broken: Finding | None = None
    with torch.inference_mode():
        fed = fuse(drafter, states[: len(tokens) - 1])
        watching = wanted.depth > 0
        for step in draft_everywhere(drafter, tokens, states, steps=max(steps, wanted.depth), attention=watching):
            broken = broken or not_finite(step, text.text.identity)
            if step.depth <= steps:
                drafted.append(step.tokens.cpu())
                normed.append(step.normed)
            if step.depth <= wanted.depth:
                drift.append(_sums(step, fed, prompt_length - 1))
            fed = _next_state(drafter, step)
        drafts = torch.stack(drafted).numpy()
        known = tokens.numpy()
        shared = _overlap(drafter, text, wanted, normed, torch.from_numpy(accepted_lengths(drafts, known)))
    broken = broken or _logits_not_finite(shared, text.text.identity)
    agreeing, response = agreement(text.argmax.cpu().numpy(), known, prompt_length)
    counted = tally(drafts, known, prompt_length)
    count = TextCount(
        text.text.identity, text.text.category, counted, agreeing, response,
        shared.shared if shared is not None else (), shared.taken if shared is not None else (),
    )  # fmt: skip
    return Observed(count, tuple(drift), broken)


def not_finite(step: DraftStep, identity: str) -> Finding | None:
    """The finding for a step that gave NaN or infinity, naming the first slot where it did."""
    bad = ~(step.raw.isfinite().all(-1) & step.normed.isfinite().all(-1))
    if not bool(bad.any()):
        return None
    slot = int(bad.nonzero()[0])
    return Finding(
        "output-not-finite",
        f"draft step {step.depth} gives NaN or infinity at {int(bad.sum())} of {len(bad)} slots of text {identity}",
        place=f"text {identity}, slot {slot}, draft step {step.depth}",
        got=f"first at slot {slot}",
        expected="finite states",
        hint="--dtype float32 tells whether it is the range of the arithmetic or the weights",
    )


def _logits_not_finite(shared: Overlap | None, identity: str) -> Finding | None:
    """The finding for a text over which probabilities are NaN: some logits of target or drafter were not finite."""
    if shared is None or all(map(isfinite, (*shared.shared, *shared.taken))):
        return None
    return Finding(
        "states-not-finite",
        f"the target's logits, or the drafter's, are NaN or infinite on text {identity}",
        place=f"text {identity}",
        got="probabilities that are NaN",
        expected="finite logits",
        hint="the target's head, or its final states, overflow: capture it again with --dtype float32",
    )


def _next_state(drafter: ReferenceDrafter, step: DraftStep) -> Float[Tensor, "T H"]:
    """The state that goes into the step behind this one."""
    if drafter.spec.parallel_drafting:
        return masked_slots(drafter, len(step.raw))[1]
    return step.normed if drafter.spec.feedback is Feedback.NORMED else step.raw


def _sums(step: DraftStep, fed: Float[Tensor, "T H"], first: int) -> DepthSums:
    """Sums over the slots of the response, from slot `first` on."""
    slots = len(step.raw) - first
    mass = step.attention
    if mass is None:
        raise AssertionError("drift is summed only where attention is watched")
    shares = [float(part[first:].double().sum()) for part in (mass.sink, mass.prompt, mass.drafts)]
    return DepthSums(slots, _size(fed[first:]), _size(step.raw[first:]), *shares)


def _size(states: Float[Tensor, "T H"]) -> float:
    """The root mean square over the channels of each state, summed over slots."""
    return float(states.double().square().mean(-1).sqrt().sum())


def _overlap(
    drafter: ReferenceDrafter, text: CapturedText, wanted: Wanted, normed: list[Tensor], accepted: Tensor
) -> Overlap | None:
    if wanted.target_logits is None:
        return None
    complete = torch.zeros(len(accepted), dtype=torch.bool)
    slots = complete_slots(len(text.text.tokens), text.text.prompt_length, wanted.draft_tokens)
    complete[slots.start : slots.stop] = True
    # Draft d counts where all drafts before it equal the text: only there would an engine get to it.
    reached = [(complete & (accepted >= step)).to(drafter.device) for step in range(wanted.draft_tokens)]
    return overlap(drafter, normed, reached, text.final, wanted.target_logits, temperature=wanted.temperature)
