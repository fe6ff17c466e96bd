"""Attention when every slot drafts at once: a draft slot sees the real slots up to its own, and its own earlier drafts.

T slots, heads and kv query and key-value heads, K and U channels of a key and a value, C queries of one chunk,
S real slots that a chunk can see, J draft slots behind every slot.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.reference.attention import Heads
from eaglekit.reference.norm import widened

SCORE_BYTES = 64 << 20
"""Attention scores held at once: 32 heads over 2,000 keys are 256 kB a query, so 262 queries share a product. That
is enough to keep a matrix unit busy, and the copies which softmax makes of them stay far below the weights."""


@dataclass(frozen=True)
class Offered:
    """Keys and values of every slot, real ones or those of one draft step."""

    keys: Float[Tensor, "T kv K"]
    values: Float[Tensor, "T kv U"]


@dataclass(frozen=True)
class Own:
    """The same of all draft steps so far, one behind the other."""

    keys: Float[Tensor, "J T kv K"]
    values: Float[Tensor, "J T kv U"]

    @classmethod
    def of(cls, steps: Sequence[Offered]) -> "Own":
        """What the draft slots of several steps offer."""
        return cls(torch.stack([step.keys for step in steps]), torch.stack([step.values for step in steps]))


@dataclass(frozen=True)
class AttentionMass:
    """Where attention goes at each slot, averaged over heads and layers; the three add up to one."""

    sink: Float[Tensor, " T"]
    """To slot 0."""
    prompt: Float[Tensor, " T"]
    """To the other real slots, up to the slot itself."""
    drafts: Float[Tensor, " T"]
    """To the draft slots of its own round, itself included; zero in the first step."""


@dataclass
class EverySlot:
    """A `Mix` over the steps of a round, for all slots at once. The first step's slots are real, later ones drafts."""

    scale: float
    """Factor on the products of query and key."""
    watched: bool
    """Whether attention masses are kept."""
    offered: dict[int, list[Offered]] = field(default_factory=dict)
    """Layer -> what its slots offered, step by step."""
    masses: list[AttentionMass] = field(default_factory=list)
    """One per layer of the running step."""

    def __call__(self, layer: int, heads: Heads) -> Float[Tensor, "T heads U"]:
        """The mixed values of one layer in the running step; its keys and values are kept for the steps behind it."""
        steps = self.offered.setdefault(layer, [])
        steps.append(Offered(heads.keys, heads.values))
        mixed, mass = mix_everywhere(heads.queries, steps[0], steps[1:], scale=self.scale, watched=self.watched)
        self.masses += [mass] if mass is not None else []
        return mixed

    def take_mass(self) -> AttentionMass | None:
        """The masses of the step that just ended, averaged over layers; None when they are not watched."""
        masses, self.masses = self.masses, []
        return _average(masses) if masses else None


def mix_everywhere(
    queries: Float[Tensor, "T heads K"],
    real: Offered,
    drafts: Sequence[Offered],
    *,
    scale: float,
    watched: bool,
) -> tuple[Float[Tensor, "T heads U"], AttentionMass | None]:
    """Each query's mean of the values of real slots up to its own and of its own drafts, weighted by softmax.

    Exact. Done in chunks of queries: never more than `SCORE_BYTES` of scores exist, whatever the text's length.
    Scores and their sums are made in float32 at least.
    """
    slots, heads, channels = queries.shape
    own = Own.of(drafts) if drafts else None
    real_keys, real_values = widened(real.keys).permute(1, 2, 0), widened(real.values).transpose(0, 1)
    mixed = torch.empty(slots, heads, real.values.shape[-1], dtype=queries.dtype, device=queries.device)
    rows = max(1, SCORE_BYTES // (heads * (slots + len(drafts)) * real_keys.element_size()))
    masses = []
    for start in range(0, slots, rows):
        stop = min(start + rows, slots)
        # One matrix product per key-value head: its query heads lie one under the other.
        asked = (widened(queries[start:stop]) * scale).view(stop - start, real.keys.shape[1], -1, channels)
        asked = asked.permute(1, 2, 0, 3)
        scores = _products(asked, real_keys[..., :stop])
        later = torch.ones(stop - start, stop - start, dtype=torch.bool, device=queries.device).triu(1)
        scores[..., start:].masked_fill_(later, float("-inf"))
        if own is not None:
            products = torch.einsum("hgck,jchk->hgcj", asked, widened(own.keys[:, start:stop]))
            scores = torch.cat([scores, products], dim=-1)
        weights = scores.softmax(dim=-1)
        chunk = _products(weights[..., :stop], real_values[:, :stop])
        if own is not None:
            chunk += torch.einsum("hgcj,jchu->hgcu", weights[..., stop:], widened(own.values[:, start:stop]))
        mixed[start:stop] = chunk.permute(2, 0, 1, 3).flatten(1, 2)
        if watched:
            masses.append(_mass(weights, stop))
    return mixed, _joined(masses) if watched else None


def _products(left: Float[Tensor, "kv group C K"], right: Float[Tensor, "kv K S"]) -> Float[Tensor, "kv group C S"]:
    """Every query head times the matrix of its key-value head."""
    kv, group, rows, _ = left.shape
    return torch.bmm(left.flatten(1, 2), right).view(kv, group, rows, -1)


def _mass(weights: Float[Tensor, "kv group C S_J"], real: int) -> AttentionMass:
    """The masses of one chunk; the first `real` weights of a query are those of real slots."""
    shares = weights.mean(dim=(0, 1))
    return AttentionMass(shares[:, 0], shares[:, 1:real].sum(-1), shares[:, real:].sum(-1))


def _joined(chunks: Sequence[AttentionMass]) -> AttentionMass:
    """The masses of all slots from those of their chunks."""
    return AttentionMass(
        torch.cat([chunk.sink for chunk in chunks]),
        torch.cat([chunk.prompt for chunk in chunks]),
        torch.cat([chunk.drafts for chunk in chunks]),
    )


def _average(layers: Sequence[AttentionMass]) -> AttentionMass:
    """The mean of the masses of several layers."""
    return AttentionMass(
        torch.stack([layer.sink for layer in layers]).mean(0),
        torch.stack([layer.prompt for layer in layers]).mean(0),
        torch.stack([layer.drafts for layer in layers]).mean(0),
    )
