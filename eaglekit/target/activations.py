"""W4A4: inputs of NVFP4 linears rounded as engines round them, with one scale for all that share an input."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from eaglekit.target.experts import Rounding
from eaglekit.target.reading import Reader
from eaglekit.target.settings import Settings
from eaglekit.target.weights import ModuleWeights


@contextmanager
def rounded_inputs(block: nn.Module, weights: ModuleWeights, reader: Reader, settings: Settings) -> Iterator[None]:
    """Inside, the linears of a block round their inputs, when that is asked for."""
    yield


def expert_rounding(weights: ModuleWeights, reader: Reader, settings: Settings) -> Rounding | None:
    """The rounding of what goes into experts, or None."""
    return None
