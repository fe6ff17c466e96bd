"""What follows the last block of a target: the final norm, and what the head says of it.

n tokens of one text, G hidden size of the target.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import linear

from eaglekit.target.loading import filled, load_rows, prove
from eaglekit.target.model import TargetModel
from eaglekit.target.reading import Reader

HEAD_BYTES = 32 << 20
"""Rows of the head that are held at once, in bytes."""
TOKENS_AT_ONCE = 1024
"""Tokens whose logits over those rows are held at once."""


@contextmanager
def final_norm(model: TargetModel) -> Iterator[Callable[[Float[Tensor, "n G"]], Float[Tensor, "n G"]]]:
    """Inside, what makes final states of states behind the last block, on the CPU.

    It is computed in float32 and rounded once, to the dtype that comes in. Raises `Refusal` for a norm that is broken.
    """
    norm, device = model.skeleton.norm, torch.device("cpu")
    with Reader(model.source) as reader, filled(norm, model.norm, reader, torch.float32, device):
        prove(reader)

        def normed(states: Float[Tensor, "n G"]) -> Float[Tensor, "n G"]:
            with torch.no_grad():
                made: Tensor = norm(states.float()).to(states.dtype)
            return made

        yield normed


def most_likely(
    model: TargetModel, reader: Reader, finals: Sequence[Float[Tensor, "_ G"]], dtype: torch.dtype, device: torch.device
) -> list[Int[Tensor, " _"]]:
    """The most likely next token after every position; of equal ones the lowest id. The head is read once, in rows."""
    best = [torch.full((len(final),), -torch.inf, dtype=dtype, device=device) for final in finals]
    ids = [torch.zeros(len(final), dtype=torch.int64, device=device) for final in finals]
    height = max(1, HEAD_BYTES // (model.hidden_size * dtype.itemsize))
    for first in range(0, model.vocab_size, height):
        rows = range(first, min(first + height, model.vocab_size))
        head = load_rows(model.head_source, rows, reader, dtype, device)
        for number, final in enumerate(finals):
            for start in range(0, len(final), TOKENS_AT_ONCE):
                part = slice(start, start + TOKENS_AT_ONCE)
                highest, found = linear(final[part], head).max(dim=-1)
                better = highest > best[number][part]
                best[number][part] = torch.where(better, highest, best[number][part])
                ids[number][part] = torch.where(better, found + first, ids[number][part])
    return [found.cpu() for found in ids]


def head_says(model: TargetModel, finals: Float[Tensor, "n G"]) -> Int[Tensor, " n"]:
    """The token that the target's head finds most likely after each final state, in float32 on the CPU."""
    with torch.no_grad(), Reader(model.source) as reader:
        [said] = most_likely(model, reader, [finals.float()], torch.float32, torch.device("cpu"))
        prove(reader)
    return said
