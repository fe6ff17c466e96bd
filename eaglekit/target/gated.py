"""The gated units of dense blocks, in less memory: of a long text, what they make is the most that a block holds.

n tokens of one text, G hidden size.
"""

import copy
import inspect

import torch
from jaxtyping import Float
from torch import Tensor, nn

from eaglekit.target.configuration import BUILDING

PARTS = ("gate_proj", "up_proj", "down_proj", "act_fn")
"""What almost every family calls the parts of a gated unit: three matrices and what lies between them."""


class GatedUnit(nn.Module):
    """down(act(gate x) * (up x)), bit for bit, with two states of the inner width at a time instead of three."""

    def __init__(self, original: nn.Module) -> None:
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj, self.act_fn = map(original.get_submodule, PARTS)
        self.train(original.training)

    def forward(self, hidden: Float[Tensor, "*batch n G"]) -> Float[Tensor, "*batch n G"]:
        """What the unit makes of the states; the product takes the place of its first factor."""
        inner = self.act_fn(self.gate_proj(hidden))
        inner *= self.up_proj(hidden)
        result: Tensor = self.down_proj(inner)
        return result


def place_gated(blocks: nn.ModuleList) -> None:
    """Put ours where gated units of transformers stand that compute the same."""
    for path, module in list(blocks.named_modules()):
        if {name for name, _ in module.named_children()} == set(PARTS) and _is_plain(module):
            owner, _, name = path.rpartition(".")
            setattr(blocks.get_submodule(owner), name, GatedUnit(module))


def _is_plain(module: nn.Module) -> bool:
    """Whether a unit computes what ours does: both are run, with small matrices in place of its own."""
    *matrices, activation = map(module.get_submodule, PARTS)
    if any(type(matrix) is not nn.Linear for matrix in matrices) or list(activation.parameters()):
        return False
    if len(inspect.signature(module.forward).parameters) != 1:
        return False
    small = copy.copy(module)
    small._modules = {**module._modules, "gate_proj": _small(3, 5), "up_proj": _small(3, 5), "down_proj": _small(5, 3)}
    states = torch.linspace(-4.0, 5.0, 33).reshape(1, 11, 3)
    try:
        with torch.no_grad():
            return torch.equal(small(states), GatedUnit(small)(states))
    except BUILDING:
        return False


def _small(columns: int, rows: int) -> nn.Linear:
    """A small matrix and its bias."""
    matrix = nn.Linear(columns, rows)
    for parameter in matrix.parameters():
        parameter.data = torch.linspace(-0.7, 1.1, parameter.numel()).reshape(parameter.shape).sin()
    return matrix
