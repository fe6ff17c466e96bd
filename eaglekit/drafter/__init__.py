"""Knows what an EAGLE-3 drafter is: its parts, sizes, switches, captured states and vocabulary map.

Must never know how anybody spells one: no config key, no tensor name, no engine.
"""

from eaglekit.drafter.parts import PARTS, Part, Role
from eaglekit.drafter.spec import (
    ROTATIONS,
    Attention,
    Drafter,
    Feedback,
    Fusion,
    FusionNorm,
    Origin,
    Residual,
    Rope,
    Rotation,
    Spec,
)

__all__ = [
    "PARTS",
    "ROTATIONS",
    "Attention",
    "Drafter",
    "Feedback",
    "Fusion",
    "FusionNorm",
    "Origin",
    "Part",
    "Residual",
    "Role",
    "Rope",
    "Rotation",
    "Spec",
]
