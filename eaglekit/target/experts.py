"""Experts of a block, read and dequantised in groups, and only those that tokens were sent to.

A block is run twice over a text: until its router has chosen, for every text; then, when the experts were computed for
all texts together, to its end. What is costly before the experts is remembered, not computed again.

T tokens of all texts, K experts per token, H hidden, I inner width of an expert; gate and up have 2 I rows.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from eaglekit.target.weights import Expert

TOKENS_AT_ONCE = 4096
"""Tokens that one expert computes in one go: bounds its activations."""

Loaded = tuple[tuple[Tensor, ...], Tensor]
"""The matrices of one expert: gate and up (one or two), and down."""
Rounding = Callable[[Tensor, str, int], Tensor]
"""What is done to the input of `gate_up` or `down` of an expert before the product."""


class Chosen(Exception):  # noqa: N818 - no error: the router has chosen, and the text waits for the others
    """Leaves a block at the call of its experts."""


class Experts(nn.Module):
    """Stands where the fused experts of transformers stood; has no parameters of its own."""

    def __init__(self, original: nn.Module) -> None:
        super().__init__()
        # The module knows its activation; in a list, so that its parameters are not ours.
        self._original: list[Any] = [original]
        self.asked: list[tuple[Tensor, Tensor, Tensor]] = []
        self.answers: list[Tensor] = []
        self.resident: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None
        """Computes at once, where all experts are in memory."""

    @property
    def count(self) -> int:
        """How many experts there are."""
        return int(self._original[0].gate_up_proj.shape[0])

    def gate(self, gate_up: Float[Tensor, "T rows"]) -> Float[Tensor, "T I"]:
        """act(gate) * up, as the family defines it."""
        result: Tensor = self._original[0]._apply_gate(gate_up)
        return result

    def forward(
        self, hidden: Float[Tensor, "T H"], index: Int[Tensor, "T K"], weights: Float[Tensor, "T K"]
    ) -> Float[Tensor, "T H"]:
        """What the experts make of the tokens: the answer, or `Chosen` when there is none yet."""
        if self.resident is not None:
            return self.resident(hidden, index, weights)
        if self.answers:
            return self.answers.pop(0)
        self.asked.append((hidden, index, weights))
        raise Chosen


def compute(
    module: Experts,
    hidden: Float[Tensor, "T H"],
    index: Int[Tensor, "T K"],
    weights: Float[Tensor, "T K"],
    load: Callable[[int], Loaded],
    *,
    done: Callable[[Loaded], None] = lambda matrices: None,
    group: int = 1,
    rounding: Rounding | None = None,
) -> Float[Tensor, "T H"]:
    """The weighted sum over each token's experts; at most `group` experts are in memory at a time.

    `done` is told of the matrices of an expert that will not be used again.
    """
    out = torch.zeros_like(hidden)
    ways = index.shape[1]
    order = torch.argsort(index.reshape(-1), stable=True)
    shares = weights.reshape(-1)[order]
    tokens = order // ways
    counts = torch.bincount(index.reshape(-1), minlength=module.count)[: module.count].tolist()
    hit = [number for number, count in enumerate(counts) if count]
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    for first in range(0, len(hit), group):
        # A group is loaded before it is computed: on a GPU copies and kernels then queue up behind each other.
        loaded = [(number, load(number)) for number in hit[first : first + group]]
        while loaded:
            number, matrices = loaded.pop(0)
            for start in range(starts[number], starts[number + 1], TOKENS_AT_ONCE):
                part = slice(start, min(start + TOKENS_AT_ONCE, starts[number + 1]))
                answer = _one(module, number, hidden[tokens[part]], matrices, rounding) * shares[part, None]
                out.index_add_(0, tokens[part], answer.to(out.dtype))
            done(matrices)
            del matrices
    return out


def _one(
    module: Experts, number: int, hidden: Float[Tensor, "t H"], matrices: Loaded, rounding: Rounding | None
) -> Float[Tensor, "t H"]:
    gate_up, down = matrices
    if rounding is not None:
        hidden = rounding(hidden, "gate_up", number)
    products = [linear(hidden, matrix) for matrix in gate_up]
    inner = module.gate(products[0] if len(products) == 1 else torch.cat(products, dim=-1))
    if rounding is not None:
        inner = rounding(inner, "down", number)
    return linear(inner, down)


def hit_experts(experts: Sequence[Expert], asked: Sequence[tuple[Tensor, Tensor, Tensor]]) -> list[Expert]:
    """The experts that any text was sent to, in the order they are read."""
    chosen = torch.unique(torch.cat([index.reshape(-1) for _, index, _ in asked])).tolist()
    return [experts[number] for number in chosen if number < len(experts)]


class Memory:
    """Remembers what the costly modules before the experts gave, text by text, to give it again."""

    def __init__(self, block: nn.Module, experts_path: str) -> None:
        self._modules = list(_beside(block, experts_path))
        self._texts: list[dict[int, list[Any]]] = []

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Inside, one text is run and every result is noted."""
        noted: dict[int, list[Any]] = {}
        self._texts.append(noted)

        def wrap(number: int, forward: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **named: Any) -> Any:
                result = forward(*args, **named)
                noted.setdefault(number, []).append(_copied(result))
                return result

            return call

        with self._wrapped(wrap):
            yield

    @contextmanager
    def repeating(self) -> Iterator[None]:
        """Inside, the text that was noted first of those left is run to its end."""
        noted = self._texts.pop(0)

        def wrap(number: int, forward: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **named: Any) -> Any:
                return noted[number].pop(0) if noted.get(number) else forward(*args, **named)

            return call

        with self._wrapped(wrap):
            yield

    @contextmanager
    def _wrapped(self, wrap: Callable[[int, Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
        for number, module in enumerate(self._modules):
            module.forward = wrap(number, module.forward)
        try:
            yield
        finally:
            for module in self._modules:
                del module.forward


def _beside(block: nn.Module, experts_path: str) -> Iterator[nn.Module]:
    """Modules with matrices on the way to the experts, not those that lead there."""
    owner = block
    for step in experts_path.split("."):
        for name, child in owner.named_children():
            if name != step and any(parameter.ndim > 1 for parameter in child.parameters()):
                yield child
        owner = owner.get_submodule(step)


def _copied(result: Any) -> Any:
    """The result in memory of its own: what follows it may change it in place."""
    if isinstance(result, Tensor):
        return result.clone()
    if type(result) is tuple:
        return tuple(_copied(part) for part in result)
    return result
