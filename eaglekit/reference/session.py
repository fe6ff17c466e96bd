"""Drafting as an engine does it: a cache of keys and values, fed with what was accepted, one round after the other.

m accepted tokens of a round, T slots in one pass, S slots in the cache, heads and kv query and key-value heads, K and
U channels of a key and a value; AG = A * G, the A captured states of one position side by side.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from eaglekit.reference.attention import Heads, softmax_scale
from eaglekit.reference.drafting import DraftStep
from eaglekit.reference.fusing import fuse
from eaglekit.reference.head import embed, greedy
from eaglekit.reference.layer import fed_back, final_norm, run
from eaglekit.reference.model import ReferenceDrafter
from eaglekit.reference.parallel import masked_slots
from eaglekit.reference.rope import rope_of

FIRST_CAPACITY = 256
"""Slots a cache has room for at first; it doubles when it is full."""


class Session:
    """One text being served: give it what the target accepted, get the next drafts."""

    def __init__(self, drafter: ReferenceDrafter, *, context_length: int | None = None) -> None:
        """`context_length` is what an engine is started with; None is the drafter's position table."""
        spec = drafter.spec
        length = context_length or spec.max_position_embeddings or 0
        self.drafter = drafter
        self.rope = rope_of(spec, context_length=length, device=drafter.device)
        self.cache = Cache(softmax_scale(spec))

    def draft(self, tokens: Int[Tensor, " m"], states: Float[Tensor, "m AG"], *, steps: int) -> Int[Tensor, " steps"]:
        """The next `steps` drafts after `tokens`, as target token ids.

        `tokens` are those accepted since the last call (at first: of the whole prompt but its first token, and the
        one sampled after it); row i of `states` is the target's at the position before token i.
        """
        return torch.cat([step.tokens for step in self.round(tokens, states, steps=steps)])

    def round(self, tokens: Int[Tensor, " m"], states: Float[Tensor, "m AG"], *, steps: int) -> Iterator[DraftStep]:
        """The same, step by step, with what each step computed at its slot.

        What the drafts left in the cache is dropped at the end: accepted tokens come back with the target's states.
        """
        drafter, start = self.drafter, self.cache.length
        accepted = start + len(tokens)
        embedded, hidden = embed(drafter, tokens.to(drafter.device)), fuse(drafter, states)
        if drafter.spec.parallel_drafting:
            masked = masked_slots(drafter, steps - 1)
            raw, normed = self._run(torch.cat([embedded, masked[0]]), torch.cat([hidden, masked[1]]))
            self.cache.length = accepted
            for depth, row in enumerate(range(len(tokens) - 1, len(tokens) + steps - 1), start=1):
                yield self._step(depth, raw[row : row + 1], normed[row : row + 1])
            return
        for depth in range(1, steps + 1):
            raw, normed = (rows[-1:] for rows in self._run(embedded, hidden))
            step = self._step(depth, raw, normed)
            yield step
            embedded, hidden = embed(drafter, step.tokens), fed_back(drafter, raw, normed)
        self.cache.length = accepted

    def _run(
        self, embedded: Float[Tensor, "T H"], hidden: Float[Tensor, "T H"]
    ) -> tuple[Float[Tensor, "T H"], Float[Tensor, "T H"]]:
        """One pass over new slots behind those in the cache: before and after the final norm."""
        start, count = self.cache.length, len(embedded)
        positions = torch.arange(start, start + count, device=embedded.device)
        raw = run(self.drafter, embedded, hidden, self.rope.at(positions), self.cache)
        self.cache.length = start + count
        return raw, final_norm(self.drafter, raw)

    def _step(self, depth: int, raw: Float[Tensor, "1 H"], normed: Float[Tensor, "1 H"]) -> DraftStep:
        return DraftStep(depth, greedy(self.drafter, normed), raw, normed, None)


class Cache:
    """Keys and values of every layer, slot by slot; a `Mix` in which new slots see the cache and each other."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.length = 0
        """Slots that count; what lies behind is written over. Raised by the session when all layers have run."""
        self.layers: dict[int, Rows] = {}

    def __call__(self, layer: int, heads: Heads) -> Float[Tensor, "T heads U"]:
        """The mixed values of the new slots, which are added behind those that count."""
        rows = self.layers[layer] = put(self.layers.get(layer), heads, self.length)
        new, seen = len(heads.queries), self.length + len(heads.queries)
        mixed = scaled_dot_product_attention(
            heads.queries.transpose(0, 1).unsqueeze(0),
            rows.keys[:, :seen].unsqueeze(0),
            rows.values[:, :seen].unsqueeze(0),
            attn_mask=None if new == 1 else visible(new, seen, heads.queries.device),
            scale=self.scale,
            enable_gqa=True,
        )
        return mixed.squeeze(0).transpose(0, 1)


@dataclass(frozen=True)
class Rows:
    """Room for the keys and values of one layer."""

    keys: Float[Tensor, "kv room K"]
    values: Float[Tensor, "kv room U"]


def put(rows: Rows | None, heads: Heads, start: int) -> Rows:
    """`rows`, grown where needed, with new keys and values from slot `start` on."""
    keys, values = heads.keys.transpose(0, 1), heads.values.transpose(0, 1)
    end = start + keys.shape[1]
    if rows is None or rows.keys.shape[1] < end:
        room = max(FIRST_CAPACITY, 2 * end)
        grown = Rows(*(part.new_empty(part.shape[0], room, part.shape[2]) for part in (keys, values)))
        if rows is not None:
            grown.keys[:, :start], grown.values[:, :start] = rows.keys[:, :start], rows.values[:, :start]
        rows = grown
    rows.keys[:, start:end], rows.values[:, start:end] = keys, values
    return rows


def visible(new: int, seen: int, device: torch.device) -> Bool[Tensor, "T S"]:
    """Which of `seen` slots each of the last `new` ones sees: all up to itself."""
    return torch.ones(new, seen, dtype=torch.bool, device=device).tril(seen - new)
