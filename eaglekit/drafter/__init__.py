"""Knows what an EAGLE-3 drafter is: its parts, sizes, switches, captured states and vocabulary map.

Must never know how anybody spells one: no config key, no tensor name, no engine.
"""

from eaglekit.drafter.parts import PARTS, Part, Role
from eaglekit.drafter.spec import Attention, Drafter, Feedback, Fusion, FusionNorm, Origin, Residual, Rope, Spec

__all__ = [
    "PARTS",
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
    "Spec",
]
