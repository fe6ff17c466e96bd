"""Shapes in symbols against shapes written out, and the rules of presence."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given

from eaglekit.drafter import FusionNorm
from eaglekit.drafter.parts import PARTS, Part, Role
from eaglekit.drafter.sizes import evaluate, expected_shape, roles_of, shape_in_symbols, symbols
from tests.dialects.strategies import LATENT, PLAIN, specs

MLA = replace(PLAIN, **LATENT)

SHAPES = [
    (PLAIN, Part.EMBEDDING, None, (24, 8)),
    (PLAIN, Part.FUSION, None, (8, 24)),
    (PLAIN, Part.QUERY, 0, (12, 16)),
    (PLAIN, Part.KEY, 0, (6, 16)),
    (PLAIN, Part.VALUE, 0, (6, 16)),
    (PLAIN, Part.OUTPUT, 0, (8, 12)),
    (PLAIN, Part.GATE, 0, (10, 8)),
    (PLAIN, Part.DOWN, 0, (8, 10)),
    (PLAIN, Part.HEAD, None, (7, 8)),
    (PLAIN, Part.DRAFT_TO_TARGET, None, (7,)),
    (PLAIN, Part.TARGET_MASK, None, (24,)),
    (replace(PLAIN, num_layers=2), Part.QUERY, 1, (12, 8)),
    (replace(PLAIN, target_hidden_size=10), Part.FUSION, None, (8, 30)),
    (replace(PLAIN, target_hidden_size=10), Part.STATE_NORM, 2, (10,)),
    (replace(PLAIN, num_aux_states=4), Part.FUSION_NORM, None, (32,)),
    (PLAIN, Part.MASK_STATE, None, (24,)),
    (MLA, Part.QUERY_DOWN, 0, (5, 16)),
    (MLA, Part.QUERY_UP, 0, (14, 5)),
    (MLA, Part.LATENT_QUERY, 0, (14, 16)),
    (MLA, Part.LATENT_DOWN, 0, (9, 16)),
    (MLA, Part.LATENT_UP, 0, (18, 6)),
    (MLA, Part.LATENT_OUTPUT, 0, (8, 10)),
    (replace(MLA, num_layers=2), Part.LATENT_DOWN, 1, (9, 8)),
]
"""Drafter, part, number, and the shape by the equations of EAGLE-3 written out by hand."""


@pytest.mark.parametrize(("spec", "part", "number", "shape"), SHAPES)
def test_the_shape_of_a_part(spec, part, number, shape):
    assert expected_shape(Role(part, number), spec) == shape


@pytest.mark.parametrize("part", Part, ids=lambda part: part.value)
def test_every_part_has_a_row_with_known_symbols_and_a_known_condition(part):
    spec = MLA if part.name.startswith(("LATENT", "QUERY_DOWN", "QUERY_UP")) else PLAIN
    row = PARTS[part]
    assert all(evaluate(axis, symbols(spec)) > 0 for axis in row.shape)
    assert spec.holds(row.present) in (True, False)


@given(specs())
def test_no_role_is_listed_twice(spec):
    assert [role for role, count in Counter(roles_of(spec)).items() if count > 1] == []


@given(specs())
def test_every_role_has_a_shape_without_empty_axes(spec):
    assert all(axis > 0 for role in roles_of(spec) for axis in expected_shape(role, spec))


@given(specs())
def test_norms_of_states_and_of_all_states_exclude_each_other(spec):
    parts = {role.part for role in roles_of(spec)}
    assert (Part.STATE_NORM in parts, Part.FUSION_NORM in parts) == (
        spec.fusion_norm is FusionNorm.PER_STATE,
        spec.fusion_norm is FusionNorm.WHOLE,
    )


@given(specs())
def test_the_embedding_meets_the_state_in_the_first_layer_only(spec):
    counts = Counter(role.part for role in roles_of(spec))
    assert (counts[Part.EMBEDDING_NORM], counts[Part.HIDDEN_NORM]) == (1, 1)
    assert counts[Part.ATTENTION_NORM] == spec.num_layers - 1


def test_a_sum_of_products_is_evaluated():
    assert evaluate("a*b+c", {"a": 2, "b": 3, "c": 4}) == 10


def test_a_shape_is_shown_in_symbols():
    assert shape_in_symbols(Part.FUSION) == "[H, A*G]"


def test_facts_of_a_drafter_leave_out_the_long_list():
    from eaglekit.drafter import Drafter

    names = [name for name, _, _ in Drafter(PLAIN, {}).facts()]
    assert "target_ids" not in names
    assert "hidden_size" in names
