"""Drafting from all positions of a text at once against drafting from one after the other, in one run.

The drafter is random, of moderate shape (about 20 million weights); what it drafts is compared, not what it is worth.
The other side is a served session: it keeps the keys and values of what was accepted, is given one accepted token at
a time, and drafts anew from there. Usage: python benchmarks/drafting.py [--tokens 2000] [--steps 3] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import time

import torch

from eaglekit.drafter import PARTS, Attention, Feedback, Fusion, FusionNorm, Residual, Role, Rope, Spec
from eaglekit.drafter.parts import Kind
from eaglekit.drafter.sizes import expected_shape, roles_of
from eaglekit.reference.drafting import draft_everywhere
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.session import Session

SPEC = Spec(
    attention=Attention.GQA, hidden_size=768, target_hidden_size=768, num_layers=1, num_heads=12, num_kv_heads=4,
    head_dim=64, intermediate_size=2048, vocab_size=8192, draft_vocab_size=8192, num_aux_states=3,
    aux_layers=(2, 16, 29), fusion=Fusion.AUX_STATES, fusion_norm=FusionNorm.PER_STATE, feedback=Feedback.NORMED,
    residual=Residual.RAW, qk_norm=False, attention_bias=False, mlp_bias=False, fusion_bias=False,
    rope=Rope(500000.0, "default"), rms_norm_eps=1e-5, hidden_act="silu", dtype="F32", own_embedding=True,
    own_head=True, max_position_embeddings=8192,
)  # fmt: skip


def random_drafter() -> ReferenceDrafter:
    """A drafter with weights that keep the size of what they multiply."""
    dice = torch.Generator().manual_seed(0)
    weights = {}
    for role in roles_of(SPEC):
        if PARTS[role.part].kind is Kind.FLOAT:
            shape = expected_shape(role, SPEC)
            noise = torch.randn(shape, generator=dice)
            weights[Role(role.part, role.number)] = noise * shape[-1] ** -0.5 if len(shape) == 2 else 1 + 0.1 * noise
    return ReferenceDrafter(SPEC, weights)


def at_once(drafter: ReferenceDrafter, tokens: torch.Tensor, states: torch.Tensor, steps: int) -> torch.Tensor:
    """Drafts of every slot, by all positions at once."""
    return torch.stack([step.tokens for step in draft_everywhere(drafter, tokens, states, steps=steps)], dim=1)


def one_by_one(drafter: ReferenceDrafter, tokens: torch.Tensor, states: torch.Tensor, steps: int) -> torch.Tensor:
    """Drafts of every slot, by a session that is given one accepted token at a time."""
    session = Session(drafter)
    rounds = [
        session.draft(tokens[slot + 1 : slot + 2], states[slot : slot + 1], steps=steps)
        for slot in range(len(tokens) - 1)
    ]
    return torch.stack(rounds)


def main() -> None:
    """Run both forms in turn, compare their drafts, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()

    drafter = random_drafter()
    dice = torch.Generator().manual_seed(1)
    tokens = torch.randint(SPEC.vocab_size, (given.tokens,), generator=dice)
    states = torch.randn(given.tokens, 3 * SPEC.target_hidden_size, generator=dice)
    seconds: dict[str, list[float]] = {"at once": [], "one by one": []}
    same = 1.0
    for _ in range(given.rounds):
        drafts = []
        for name, form in (("at once", at_once), ("one by one", one_by_one)):
            start = time.perf_counter()
            drafts.append(form(drafter, tokens, states, given.steps))
            seconds[name].append(time.perf_counter() - start)
        same = min(same, float((drafts[0] == drafts[1]).double().mean()))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    result = {
        "tokens": given.tokens,
        "steps": given.steps,
        "rounds": given.rounds,
        "weights": sum(weight.numel() for weight in drafter.weights.values()),
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "torch": torch.__version__,
        "at_once_s": medians["at once"],
        "one_by_one_s": medians["one by one"],
        "times_faster": statistics.median(
            slow / fast for slow, fast in zip(seconds["one by one"], seconds["at once"], strict=True)
        ),
        "same_drafts": same,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if given.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{given.steps} drafts from each of {given.tokens} tokens, {result['weights'] / 1e6:.0f} M weights, float32")
    print(f"all positions at once   {medians['at once']:8.2f} s")
    print(f"one after the other     {medians['one by one']:8.2f} s")
    print(f"{result['times_faster']:.1f} times faster; {same:.2%} of the drafts are the same (float32 ties aside)")


if __name__ == "__main__":
    main()
