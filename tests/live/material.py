"""The tiny drafters and targets of `fixtures/`, which are made by scripts that lie beside the package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
CHECKPOINTS = FIXTURES / "checkpoints"
TRAINED = FIXTURES / "trained"


@contextmanager
def importable_fixtures() -> Iterator[None]:
    """Lets the scripts of `fixtures/` import each other."""
    sys.path.insert(0, str(FIXTURES))
    yield
    sys.path.remove(str(FIXTURES))


with importable_fixtures():
    from recipes import targets as bare_targets
    from recipes.shapes import Grouped, Shapes, around, chunk_norms, grouped_layer, latent_layer
    from recipes.stand_in import Fixture, StandIn, parameters
    from recipes.write import write
    from recording.drafters import DRAFTERS, GROUPED, LATENT, Recorded, latent, plain
    from recording.targets import HIDDEN, TARGETS, VOCABULARY

KINDS = {recorded.fixture.name: recorded for recorded in DRAFTERS}
"""Name -> one drafter of every kind that a real engine was recorded with."""


def whole_target() -> Fixture:
    """`checkpoints/target-llama` with blocks, so that it can be served. Four heads: its six do not divide its width."""
    [bare] = [fixture for fixture in bare_targets.FIXTURES if fixture.name == "target-llama"]
    sizes = bare.config | {"num_attention_heads": 4}
    hidden, inside = sizes["hidden_size"], sizes["intermediate_size"]
    queries, keys = (sizes[f"num_{kind}_heads"] * sizes["head_dim"] for kind in ("attention", "key_value"))
    shapes = {
        "self_attn.q_proj": (queries, hidden),
        "self_attn.k_proj": (keys, hidden),
        "self_attn.v_proj": (keys, hidden),
        "self_attn.o_proj": (hidden, queries),
        "mlp.gate_proj": (inside, hidden),
        "mlp.up_proj": (inside, hidden),
        "mlp.down_proj": (hidden, inside),
    }
    blocks = {
        f"model.layers.{block}.{name}.weight": shape
        for block in range(sizes["num_hidden_layers"])
        for name, shape in shapes.items()
    }
    return replace(bare, config=sizes, tensors={**bare.tensors, **parameters(bare.name, blocks, "BF16")}, shards=())


__all__ = [
    "CHECKPOINTS",
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
    "whole_target",
    "write",
]
