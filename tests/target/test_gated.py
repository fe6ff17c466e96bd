"""Gated units are put in place of those of transformers where they compute the same, and only there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from eaglekit.target.gated import GatedUnit, place_gated
from tests.target.models import FAMILIES, make, opened


class Unit(nn.Module):
    """A gated unit as transformers writes it."""

    def __init__(self, width: int = 12, inner: int = 20, *, bias: bool = False) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(width, inner, bias=bias) for _ in range(2))
        self.down_proj = nn.Linear(inner, width, bias=bias)
        self.act_fn = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        """The product of the two, and back."""
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Scaled(Unit):
    """One whose gate is scaled."""

    def forward(self, x: Tensor) -> Tensor:
        """The same but for the factor."""
        return self.down_proj(self.act_fn(self.gate_proj(x) * 0.5) * self.up_proj(x))


class Residual(Unit):
    """One that adds its input, which has another width than the small matrices that try it."""

    def forward(self, x: Tensor) -> Tensor:
        """The same and a table of fixed width."""
        return super().forward(x) + torch.ones(12)


class Steered(Unit):
    """One that is told more than the states."""

    def forward(self, x: Tensor, factor: float = 1.0) -> Tensor:
        """The same, scaled from outside."""
        return super().forward(x) * factor


def placed(unit: nn.Module) -> nn.Module:
    """What stands at the place of `unit` afterwards."""
    block = nn.ModuleDict({"mlp": unit})
    place_gated(nn.ModuleList([block]))
    return block["mlp"]


@pytest.mark.parametrize("activation", [nn.SiLU(), nn.GELU(approximate="tanh"), nn.Identity()], ids=repr)
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
def test_ours_computes_the_same_bits(activation: nn.Module, bias: bool) -> None:
    unit = Unit(bias=bias)
    unit.act_fn = activation
    ours = placed(unit)
    assert isinstance(ours, GatedUnit)
    states = torch.randn(1, 9, 12, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(ours(states), unit(states))


def test_the_product_takes_the_place_of_its_first_factor() -> None:
    ours = placed(Unit())
    seen: dict[str, int] = {}
    ours.get_submodule("act_fn").register_forward_hook(lambda _, __, out: seen.update(made=out.data_ptr()))
    ours.get_submodule("down_proj").register_forward_pre_hook(lambda _, args: seen.update(used=args[0].data_ptr()))
    with torch.no_grad():
        ours(torch.ones(1, 4, 12))
    assert seen["made"] == seen["used"]


@pytest.mark.parametrize("kind", [Scaled, Residual, Steered])
def test_a_unit_that_computes_something_else_is_left_alone(kind: Callable[[], Unit]) -> None:
    unit = kind()
    assert placed(unit) is unit


def test_a_unit_whose_activation_has_weights_is_left_alone() -> None:
    unit = Unit()
    unit.act_fn = nn.PReLU()
    assert placed(unit) is unit


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in ("qwen3-moe", "mixtral")])
def test_dense_units_and_shared_experts_are_ours(family: str, tmp_path: Path) -> None:
    make(tmp_path, family)
    blocks = opened(tmp_path).skeleton.blocks
    assert all(any(isinstance(module, GatedUnit) for module in block.modules()) for block in blocks)
