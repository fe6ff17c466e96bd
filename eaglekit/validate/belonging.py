"""Whether a capture is of the target that is given beside it: its blocks, its files, and what its head says.

R looked-at positions, V vocabulary, G target hidden.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.checkpoint.lookup import library_identity
from eaglekit.dialects.target import Target
from eaglekit.report import Finding, Refusal
from eaglekit.target.captured import Capture, CapturedText
from eaglekit.validate.sampling import TargetLogits

POSITIONS = 16
"""Looked at in each text."""
TEXTS = 16
"""Texts looked at, spread over the capture."""
ALIKE = 0.5
"""Share of positions at which the head must say what was captured. Rounding turns a few near ties in a hundred, and a
head that was quantised some more; the head of another model agrees by chance only."""


def belonging(capture: Capture, target: Target, logits: TargetLogits) -> tuple[Finding, ...]:
    """A warning when the capture is of other files than `target`. Raises `Refusal` when it is of another model."""
    same, looked = _same(capture, logits)
    if target.num_layers not in (None, capture.num_layers):
        raise Refusal(_stranger(target, f"{capture.num_layers} blocks", f"{target.num_layers} blocks"))
    if same < ALIKE * looked:
        got = f"the same next token at {same} of {looked} positions"
        raise Refusal(_stranger(target, got, "the tokens that were captured, up to near ties"))
    bound = library_identity(target.library)
    # Not every shard may be here; then the digests are of different things.
    if bound["digest"] == capture.target.get("digest") or bound["digest_covers"] != "config, headers and sizes":
        return ()
    return (
        Finding(
            "capture-target-differs",
            f"the capture is of {capture.target.get('label', 'a target')}, whose files are not those of {target.label}",
            place="--target",
            got=str(bound["digest"]),
            expected=str(capture.target.get("digest")),
            hint="the states are those of the captured target; embedding, head and sampled figures use the given one",
        ),
    )


def _same(capture: Capture, logits: TargetLogits) -> tuple[int, int]:
    """At how many of the looked-at positions the head says what was captured, and how many these are."""
    step = max(1, len(capture.texts) // TEXTS)
    same = looked = 0
    for number in range(0, len(capture.texts), step):
        text = capture.texts[number]
        positions = list(_spread(text))
        said = logits(_rows(text.final, positions)).argmax(-1).cpu()
        same += int((said == text.argmax[positions]).sum())
        looked += len(positions)
    return same, looked


def _spread(text: CapturedText) -> Iterator[int]:
    count = len(text.text.tokens)
    yield from range(0, count, max(1, count // POSITIONS))


def _rows(states: Float[Tensor, "n G"], positions: list[int]) -> Float[Tensor, "R G"]:
    return states[torch.tensor(positions)]


def _stranger(target: Target, got: str, expected: str) -> Finding:
    return Finding(
        "capture-misfit",
        f"the capture is of another model than {target.label}",
        place="--target",
        got=got,
        expected=expected,
        hint="give the target that was captured, or capture this one",
    )
