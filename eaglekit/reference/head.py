"""The two ends of a draft step that know tokens: the embedding in front, the head behind.

T slots, R rows of them, H hidden, D draft vocabulary.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding, linear

from eaglekit.drafter import Part
from eaglekit.reference.model import ReferenceDrafter

LOGIT_BYTES = 128 << 20
"""Logits held at once while the greedy token is looked for: 200 rows of a 163,840-token vocabulary in float32."""


def embed(drafter: ReferenceDrafter, tokens: Int[Tensor, " T"]) -> Float[Tensor, "T H"]:
    """The embeddings of target token ids."""
    return embedding(tokens, drafter.weight(Part.EMBEDDING))


def logits(drafter: ReferenceDrafter, normed: Float[Tensor, "R H"]) -> Float[Tensor, "R D"]:
    """The logits over the draft vocabulary, in the order of `target_ids`. `normed` is after the final norm."""
    return linear(normed, drafter.weight(Part.HEAD))


def target_ids(drafter: ReferenceDrafter) -> Int[Tensor, " D"]:
    """The target token id of each row of the head."""
    ids = drafter.spec.target_ids
    if ids is None:
        return torch.arange(drafter.spec.draft_vocab_size, device=drafter.device)
    return torch.tensor(ids, dtype=torch.int64, device=drafter.device)


def greedy(drafter: ReferenceDrafter, normed: Float[Tensor, "T H"]) -> Int[Tensor, " T"]:
    """The target token id with the largest logit at each slot."""
    rows = max(1, LOGIT_BYTES // (drafter.spec.draft_vocab_size * normed.element_size()))
    best = [logits(drafter, part).argmax(dim=-1) for part in torch.split(normed, rows)]
    return target_ids(drafter)[torch.cat(best)]
