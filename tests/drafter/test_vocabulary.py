"""The vocabulary map: offsets, absolute ids, masks and orders say the same, and damage is found."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as some

from eaglekit.drafter.vocabulary import (
    ascending_order,
    check_mask,
    check_target_ids,
    int64_bytes,
    int64s,
    looks_absolute,
    mask_from_target_ids,
    offsets_from_target_ids,
    target_ids_from_offsets,
)

VOCABULARIES = some.integers(2, 60).flatmap(
    lambda size: some.tuples(
        some.just(size), some.lists(some.integers(0, size - 1), min_size=1, max_size=size, unique=True)
    )
)


@given(VOCABULARIES)
def test_offsets_and_absolute_ids_say_the_same(drawn):
    _, ids = drawn
    assert target_ids_from_offsets(offsets_from_target_ids(ids)) == tuple(ids)


@given(some.lists(some.integers(-(1 << 63), (1 << 63) - 1)))
def test_integers_survive_their_bytes(values):
    assert list(int64s(int64_bytes(values))) == values
    assert int64_bytes(values) == struct.pack(f"<{len(values)}q", *values)


@given(VOCABULARIES)
def test_a_good_vocabulary_is_found_good(drawn):
    size, ids = drawn
    assert check_target_ids(ids, size, place="d2t") == []
    assert check_mask(mask_from_target_ids(ids, size), ids, len(ids), place="t2d") == []


@given(VOCABULARIES)
def test_the_ascending_order_sorts_and_leaves_nothing_out(drawn):
    _, ids = drawn
    assert [ids[row] for row in ascending_order(ids)] == sorted(ids)


@given(VOCABULARIES.filter(lambda drawn: len(drawn[1]) > 1))
def test_offsets_that_are_a_good_map_are_never_taken_for_absolute_ids(drawn):
    size, ids = drawn
    assert not looks_absolute(offsets_from_target_ids(ids), size)


@pytest.mark.parametrize("ids", [(1, 2, 2), (0, 24), (-1, 3)])
def test_a_bad_vocabulary_is_found_bad(ids):
    assert len(check_target_ids(ids, 24, place="d2t")) == 1


def code_of(findings):
    """The code of the only finding."""
    (finding,) = findings
    return finding.code


@pytest.mark.parametrize(
    ("ids", "code"), [((1, 2, 2), "map-not-unique"), ((0, 24), "map-out-of-range"), ((-1, 3), "map-out-of-range")]
)
def test_damage_is_called_by_its_name(ids, code):
    assert code_of(check_target_ids(ids, 24, place="d2t")) == code


def test_a_mask_of_another_count_is_found():
    assert code_of(check_mask(bytes((1, 1, 0, 1)), (0, 1), 2, place="t2d")) == "mask-count"


def test_a_mask_of_other_tokens_is_found():
    assert code_of(check_mask(bytes((1, 0, 0, 1)), (0, 1), 2, place="t2d")) == "map-against-mask"


def test_an_absolute_map_that_leaves_the_vocabulary_as_offsets_is_recognised():
    assert looks_absolute((1, 5, 23), 24)


def test_an_absolute_map_that_is_good_as_offsets_too_is_not_called_absolute():
    # 0, 2, 4 are ids of three rows, and offsets of the ids 0, 3, 6.
    assert not looks_absolute((0, 2, 4), 24)
