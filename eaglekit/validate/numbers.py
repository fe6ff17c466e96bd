"""The second stage: are weights and outputs finite, and does a converted file compute what its source computes.

n tokens, T = n - 1 slots, AG captured states side by side, D draft vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import linear

from eaglekit.drafter import Drafter, Fusion, Part, Spec
from eaglekit.reference.drafting import DraftStep, draft_everywhere, logits, target_ids
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.report import Finding
from eaglekit.target.captured import Capture
from eaglekit.validate.observing import not_finite, states_of
from eaglekit.validate.task import PROBE_SEED

PROBE_TOKENS = 48
CAPTURED_TOKENS = 256
"""Of each captured text, what the second stage looks at; the third sees all of it."""
CAPTURED_TEXTS = 4
COMPARED_ROWS = 64
"""Rows of logits compared at once: 80 MB in float64 for a vocabulary of 163,840."""


@dataclass(frozen=True)
class Input:
    """One thing to compute on: a captured text, or made-up states."""

    identity: str
    tokens: Int[Tensor, " n"]
    states: Mapping[tuple[int, ...], Float[Tensor, "n AG"]]
    """What a drafter reads (`reads`) -> its states."""


def stand_in_parts(spec: Spec) -> dict[Part, Tensor]:
    """Embedding and head for a drafter that shares them, when there is no target: one row for all tokens.

    Enough to see whether its own weights compute something finite. Takes no memory: the row is not repeated.
    """
    row = torch.randn(1, spec.hidden_size, generator=torch.Generator().manual_seed(PROBE_SEED)) * 0.02
    rows = {Part.EMBEDDING: spec.vocab_size, Part.HEAD: spec.draft_vocab_size}
    return {part: row.expand(count, spec.hidden_size) for part, count in rows.items()}


def probe_inputs(drafters: Sequence[ReferenceDrafter]) -> list[Input]:
    """Made-up inputs, the same every time: tokens spread over the vocabulary and normal states of size one."""
    generator = torch.Generator().manual_seed(PROBE_SEED)
    vocab_size = min(drafter.spec.vocab_size for drafter in drafters)
    tokens = torch.randint(0, vocab_size, (PROBE_TOKENS,), generator=generator)
    states = torch.randn(PROBE_TOKENS, max(map(width, drafters)), generator=generator)
    return [Input("probe", tokens, {reads(d): states[:, : width(d)] for d in drafters})]


def captured_inputs(capture: Capture, drafters: Sequence[ReferenceDrafter]) -> list[Input]:
    """The beginnings of a few captured texts."""
    return [
        Input(
            text.text.identity,
            torch.tensor(text.text.tokens[:CAPTURED_TOKENS]),
            {reads(d): states_of(d, capture, text)[:CAPTURED_TOKENS] for d in drafters},
        )
        for text in capture.texts[:CAPTURED_TEXTS]
    ]


def width(drafter: ReferenceDrafter) -> int:
    """How many numbers of the target a drafter reads per position."""
    spec = drafter.spec
    if spec.fusion is Fusion.FINAL_STATE:
        return spec.target_hidden_size
    return spec.num_aux_states * spec.target_hidden_size


def broken_weights(drafter: ReferenceDrafter, read: Drafter) -> list[Finding]:
    """A finding for every role whose weight is not finite, naming tensor, count and the first place."""
    findings = []
    for role, weight in drafter.weights.items():
        bad = ~weight.isfinite()
        if not bool(bad.any()):
            continue
        stored = read.tensors.get(role)
        name = stored.name if stored is not None else f"the target's {role}"
        first = [int(axis[0]) for axis in bad.nonzero(as_tuple=True)]
        findings.append(
            Finding(
                "weights-not-finite",
                f"{role} ({name}) has {int(bad.sum())} values that are NaN or infinite, the first at {first}",
                place=name,
                got=f"{float(weight[tuple(first)])} at {first}, {int(bad.sum())} of {bad.numel()}",
                expected="finite weights",
                hint="take the last good checkpoint of the training run"
                if drafter.dtype is not torch.float16
                else "F16 ends at 65504: try --dtype float32",
            )
        )
    return findings


def broken_states(capture: Capture) -> list[Finding]:
    """A finding for the first captured text whose states are not finite."""
    for text in capture.texts:
        flat = torch.cat([text.states.flatten(1), text.final], dim=-1)
        bad = ~flat.isfinite().all(-1)
        if bool(bad.any()):
            position = int(bad.nonzero()[0])
            return [
                Finding(
                    "states-not-finite",
                    f"the target's states of text {text.text.identity} are NaN or infinite at {int(bad.sum())} "
                    f"of {len(bad)} positions, first at {position}",
                    place=f"text {text.text.identity}",
                    got=f"position {position}",
                    expected="finite states",
                    hint="the target itself is broken, or its arithmetic overflows: capture it with --dtype float32",
                )
            ]
    return []


def broken_outputs(drafter: ReferenceDrafter, inputs: Sequence[Input], steps: int) -> list[Finding]:
    """A finding for every input on which the drafter computes NaN or infinity; logits included."""
    findings = []
    with torch.inference_mode():
        for given in inputs:
            for step in draft_everywhere(drafter, given.tokens, given.states[reads(drafter)], steps=steps):
                found = not_finite(step, given.identity)
                if found is None and not bool(logits(drafter, step.normed[-1:]).isfinite().all()):
                    found = _logits_not_finite(step.depth, given.identity)
                if found is not None:
                    findings.append(found)
                    break
    return findings


def _logits_not_finite(depth: int, identity: str) -> Finding:
    return Finding(
        "output-not-finite",
        f"draft step {depth} gives logits that are NaN or infinite on text {identity}",
        place=f"text {identity}, draft step {depth}",
        got="NaN or infinite logits from finite states",
        expected="finite logits",
        hint="the head's products overflow: try --dtype float32",
    )


@dataclass(frozen=True)
class Parity:
    """How two drafters' logits compare over the same inputs, each step fed with the first one's drafts."""

    rows: int
    """Compared rows of logits."""
    equal_rows: int
    """Those that are equal bit for bit."""
    same_drafts: int
    """Those whose best token is the same."""
    largest: float
    """The largest absolute difference of a logit, over the tokens that both draft."""
    place: str
    """Where it is."""

    @property
    def exact(self) -> bool:
        """Whether every logit is equal bit for bit."""
        return self.equal_rows == self.rows


def parity(first: ReferenceDrafter, second: ReferenceDrafter, inputs: Sequence[Input], steps: int) -> Parity | None:
    """The logits of two drafters side by side, token by token of the target's vocabulary.

    None when they draft no token in common.
    """
    heads = _common_rows(first, second)
    if heads is None:
        return None
    total = Parity(0, 0, 0, 0.0, "")
    with torch.inference_mode():
        for given in inputs:
            states = given.states
            mine = list(draft_everywhere(first, given.tokens, states[reads(first)], steps=steps))
            fed = [step.tokens for step in mine]
            theirs = draft_everywhere(second, given.tokens, states[reads(second)], steps=steps, forced=fed)
            for a, b in zip(mine, theirs, strict=True):
                total = _compared(total, a, b, heads, given.identity)
    return total


def _compared(total: Parity, a: DraftStep, b: DraftStep, heads: tuple[Tensor, Tensor], identity: str) -> Parity:
    """`total` with one step of both drafters added; a few rows of logits at a time."""
    for start in range(0, len(a.normed), COMPARED_ROWS):
        rows = slice(start, start + COMPARED_ROWS)
        x, y = linear(a.normed[rows], heads[0]), linear(b.normed[rows], heads[1])
        gaps = (x.double() - y.double()).abs().nan_to_num(nan=float("inf")).amax(-1)
        largest = float(gaps.max())
        further = largest > total.largest
        total = Parity(
            rows=total.rows + len(gaps),
            equal_rows=total.equal_rows + int((x == y).all(-1).sum()),
            same_drafts=total.same_drafts + int((a.tokens[rows] == b.tokens[rows]).sum()),
            largest=largest if further else total.largest,
            place=f"text {identity}, slot {start + int(gaps.argmax())}, draft step {a.depth}"
            if further
            else total.place,
        )
    return total


def _common_rows(first: ReferenceDrafter, second: ReferenceDrafter) -> tuple[Tensor, Tensor] | None:
    """The rows of both heads for the tokens that both draft, in one order, so that equal heads multiply alike."""
    place = {int(token): row for row, token in enumerate(target_ids(second).tolist())}
    pairs = [(row, place[token]) for row, token in enumerate(target_ids(first).tolist()) if token in place]
    if not pairs:
        return None
    mine, theirs = torch.tensor(pairs, device=first.device).unbind(-1)
    return first.weight(Part.HEAD)[mine], second.weight(Part.HEAD)[theirs.to(second.device)]


def reads(drafter: ReferenceDrafter) -> tuple[int, ...]:
    """How many numbers per position a drafter reads, and at which boundaries; none of these for the final state."""
    return (width(drafter), *(() if drafter.spec.fusion is Fusion.FINAL_STATE else drafter.spec.aux_layers))
