"""The tiny drafters and targets of `fixtures/`, which are made by scripts that lie beside the package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
TRAINED = FIXTURES / "trained"


@contextmanager
def importable_fixtures() -> Iterator[None]:
    """Lets the scripts of `fixtures/` import each other."""
    sys.path.insert(0, str(FIXTURES))
    yield
    sys.path.remove(str(FIXTURES))


with importable_fixtures():
    from recipes.shapes import Grouped, Shapes, around, chunk_norms, grouped_layer, latent_layer
    from recipes.stand_in import Fixture, StandIn, parameters
    from recipes.write import write
    from recording.drafters import DRAFTERS, GROUPED, LATENT, Recorded, latent, plain
    from recording.targets import HIDDEN, TARGETS, VOCABULARY

KINDS = {recorded.fixture.name: recorded for recorded in DRAFTERS}
"""Name -> one drafter of every kind that a real engine was recorded with."""

__all__ = [
    "FIXTURES",
    "GROUPED",
    "HIDDEN",
    "KINDS",
    "LATENT",
    "ROOT",
    "TARGETS",
    "TRAINED",
    "VOCABULARY",
    "Fixture",
    "Grouped",
    "Recorded",
    "Shapes",
    "StandIn",
    "around",
    "chunk_norms",
    "grouped_layer",
    "latent",
    "latent_layer",
    "parameters",
    "plain",
    "write",
]
