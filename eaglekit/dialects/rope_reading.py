"""Rotary position embedding among the facts: what is in force, and whether it fits the attention."""

from __future__ import annotations

from collections.abc import Mapping

from eaglekit.dialects.config_reading import Known
from eaglekit.drafter import ROTATIONS
from eaglekit.report import Finding

STARTS_FROM_A_LENGTH = frozenset({"yarn", "llama3", "longrope"})
"""Scalings that stretch an original length; transformers takes the position table's where none is stated."""
ORIGINAL = "original_max_position_embeddings"


def state_original_length(facts: dict[str, Known]) -> list[Finding]:
    """Writes the original length that is in force into the scaling, so that the position table may grow beside it."""
    kind, numbers = facts["rope_scaling"].value
    if kind not in STARTS_FROM_A_LENGTH or ORIGINAL in dict(numbers):
        return []
    if "max_position_embeddings" not in facts:
        return [
            Finding(
                "fact-unknown",
                f"nothing in the checkpoint says which length the {kind} rope starts from",
                place=f"config.json rope_scaling.{ORIGINAL}",
                got="no key, and no max_position_embeddings to take it from",
                expected="the length before scaling",
                hint="take it from the training run and say --set max_position_embeddings=N",
            )
        ]
    length = facts["max_position_embeddings"].value
    scaling = (kind, tuple(sorted((*numbers, (ORIGINAL, length)))))
    facts["rope_scaling"] = Known(scaling, facts["rope_scaling"].origin)
    return [
        Finding(
            "rope-length-stated",
            f"the {kind} rope does not say which length it starts from: {length}, the drafter's own position table",
            place=f"config.json rope_scaling.{ORIGINAL}",
            got="no key",
            expected=str(length),
            hint="written out, so that a longer position table does not change the function",
        )
    ]


def check_rotation(facts: Mapping[str, Known]) -> list[Finding]:
    """A stated rotary layout that no drafter with this attention is trained or served with."""
    attention, stated = facts["attention"].value, facts.get("rotation")
    if stated is None or stated.value is ROTATIONS[attention]:
        return []
    key = stated.origin.place.removeprefix("config.json ")
    return [
        Finding(
            "rotation-contradicts",
            f"config key {key} says {stated.value.value} rotation, but {attention.value.upper()} drafters are trained "
            f"and served with {ROTATIONS[attention].value} rotation",
            place=stated.origin.place,
            got=stated.value.value,
            expected=ROTATIONS[attention].value,
            hint=f"if the key was only copied from the target, say --drop {key}; a drafter that was really trained "
            "so is served rightly by no engine",
        )
    ]
