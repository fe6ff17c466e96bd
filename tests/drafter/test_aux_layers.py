"""Lists of captured states: the default, and everything that can be wrong with a list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from eaglekit.drafter.aux_layers import check, default_boundaries, default_is_usable


@pytest.mark.parametrize(
    ("depth", "layers"),
    [(8, (2, 4, 5)), (32, (2, 16, 29)), (36, (2, 18, 33)), (48, (2, 24, 45)), (61, (2, 30, 58)), (64, (2, 32, 61))],
)
def test_the_default_of_a_depth(depth, layers):
    assert default_boundaries(depth) == layers


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6])
def test_a_shallow_target_has_no_default(depth):
    assert not default_is_usable(depth)


@given(some.integers(7, 200))
def test_a_default_that_is_usable_has_nothing_wrong(depth):
    if default_is_usable(depth):
        assert check(default_boundaries(depth), target_layers=depth, num_aux_states=3) == []


LISTS = [
    ((2, 16, 16), "aux-layers-repeat"),
    ((16, 2, 29), "aux-layers-order"),
    ((2, 16, 33), "aux-layers-range"),
    ((-1, 16, 29), "aux-layers-range"),
    ((2, 16), "aux-layers-count"),
    ((2, 16, 20, 29), "aux-layers-count"),
]


@pytest.mark.parametrize(("layers", "code"), LISTS)
def test_a_list_with_one_fault(layers, code):
    assert [finding.code for finding in check(layers, target_layers=32, num_aux_states=3)] == [code]


def test_a_list_with_many_faults_is_told_them_all():
    found = {finding.code for finding in check((40, 2, 2, 1), target_layers=32, num_aux_states=3)}
    assert found == {"aux-layers-repeat", "aux-layers-range", "aux-layers-count"}


@given(some.sets(some.integers(0, 61), min_size=1, max_size=6))
def test_any_ascending_list_within_the_target_is_possible(layers):
    assert check(sorted(layers), target_layers=61, num_aux_states=len(layers)) == []


def test_embeddings_and_the_last_block_s_output_are_states():
    assert check((0, 32), target_layers=32, num_aux_states=2) == []


def test_without_a_depth_only_negative_ids_are_out_of_range():
    assert check((2, 900), target_layers=None, num_aux_states=2) == []
    assert [f.code for f in check((-2, 900), target_layers=None, num_aux_states=2)] == ["aux-layers-range"]


def test_no_list_is_no_wrong_list():
    assert check((), target_layers=32, num_aux_states=3) == []
