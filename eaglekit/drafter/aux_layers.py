"""Captured target states as boundary indices, and what makes a list of them possible.

Boundary k is the residual stream after k target blocks: 0 the embeddings, N the output of the last block before the
final norm. It equals `hidden_states[k]` of transformers, except N, which transformers norms.
"""

from __future__ import annotations

from collections.abc import Sequence

from eaglekit.report import Finding


def default_boundaries(target_layers: int) -> tuple[int, int, int]:
    """The states every producer captures when nobody says which: early, middle, late.

    SafeAILab/EAGLE modeling_llama_kv.py captures before blocks 2, L//2 and L-3.
    """
    return (2, target_layers // 2, target_layers - 3)


def default_is_usable(target_layers: int) -> bool:
    """Whether the default gives three different states of a target this deep."""
    first, middle, last = default_boundaries(target_layers)
    return 0 < first < middle < last


def check(boundaries: Sequence[int], *, target_layers: int | None, num_aux_states: int | None) -> list[Finding]:
    """What is wrong with a list of boundary indices: repeats, order, range, count against the width of `fc`."""
    findings = []
    shown = ", ".join(map(str, boundaries))
    repeated = sorted({k for k in boundaries if list(boundaries).count(k) > 1})
    if repeated:
        findings.append(
            Finding(
                "aux-layers-repeat",
                f"aux layer {', '.join(map(str, repeated))} is listed more than once in [{shown}]",
                place="aux_layers",
                got=shown,
                expected="distinct boundary indices",
                hint="give the layers the drafter was trained on: --aux-layers K1,K2,K3 (boundary indices)",
            )
        )
    elif list(boundaries) != sorted(boundaries):
        findings.append(
            Finding(
                "aux-layers-order",
                f"aux layers [{shown}] are not ascending; engines sort them, and fc gets its states in another order",
                place="aux_layers",
                got=shown,
                expected=", ".join(map(str, sorted(boundaries))),
                hint="check the order the drafter was trained with; ascending lists are the only ones engines serve",
            )
        )
    top = target_layers if target_layers is not None else None
    outside = [k for k in boundaries if k < 0 or (top is not None and k > top)]
    if outside:
        legal = f"0..{top}" if top is not None else "0 or more"
        findings.append(
            Finding(
                "aux-layers-range",
                f"aux layer {', '.join(map(str, outside))} does not exist in the target, legal {legal}",
                place="aux_layers",
                got=shown,
                expected=f"boundary indices {legal}",
                hint="a target with N blocks has boundaries 0 (embeddings) to N (before the final norm)",
            )
        )
    if num_aux_states is not None and boundaries and len(boundaries) != num_aux_states:
        findings.append(
            Finding(
                "aux-layers-count",
                f"{len(boundaries)} aux layers [{shown}] do not fit fc, which reads {num_aux_states} states",
                place="aux_layers",
                got=str(len(boundaries)),
                expected=str(num_aux_states),
                hint="fc is [H, A*G]: give exactly A layers with --aux-layers",
            )
        )
    return findings
