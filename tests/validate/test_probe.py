"""Readings of the layers: which there are, and what the numbers say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.drafter import Spec
from eaglekit.validate.acceptance import TextCount
from eaglekit.validate.probe import Probed, Reading, doubted, shifted, table, verdict
from eaglekit.validate.rounds import Tally
from tests.cases.builders import IDS, Folder, d0
from tests.reference.drafters import GROUPED


def readings(tmp_path: Path, draft: Folder, depth: int | None = 8) -> dict[str, tuple[int, ...]]:
    checkpoint = open_folder(draft.write(tmp_path / "draft"))
    drafter = read(checkpoint, Given(aux_layers=(2, 4, 5))).drafter
    assert drafter is not None
    return {one.name: one.boundaries for one in doubted(checkpoint, Given(), drafter.spec, depth)}


def test_one_list_is_read_in_both_conventions(tmp_path: Path) -> None:
    found = readings(tmp_path, d0().config_with(**{IDS: [1, 4, 5]}))
    assert found == {"as boundary ids": (1, 4, 5), "as output-of ids": (2, 5, 6)}


def test_a_reading_that_the_target_cannot_have_is_left_out(tmp_path: Path) -> None:
    assert readings(tmp_path, d0().config_with(**{IDS: [4, 6, 8]})) == {"as boundary ids": (4, 6, 8)}


def test_two_lists_are_read_in_both_conventions_each_and_named_once(tmp_path: Path) -> None:
    found = readings(tmp_path, d0().config_with(**{IDS: [2, 4, 5]}, eagle_config={IDS: [3, 5, 6]}))
    assert sorted(found.values()) == [(2, 4, 5), (3, 5, 6), (4, 6, 7)]


def test_no_list_leaves_the_default_and_its_neighbours(tmp_path: Path) -> None:
    found = readings(tmp_path, d0().config_with(**{IDS: ...}))
    assert list(found.values()) == [(2, 4, 5), (1, 3, 4), (3, 5, 6)]


def test_no_list_and_no_depth_leave_nothing_to_probe(tmp_path: Path) -> None:
    assert readings(tmp_path, d0().config_with(**{IDS: ...}), None) == {}


@pytest.mark.parametrize(
    ("layers", "depth", "expected"),
    [
        pytest.param((2, 5, 9), 12, [(2, 5, 9), (1, 4, 8), (3, 6, 10)], id="both neighbours"),
        pytest.param((0, 5, 9), 12, [(0, 5, 9), (1, 6, 10)], id="nothing below the embeddings"),
        pytest.param((2, 5, 12), 12, [(2, 5, 12), (1, 4, 11)], id="nothing above the last block"),
    ],
)
def test_stated_layers_are_probed_one_block_lower_and_higher(
    layers: tuple[int, ...], depth: int, expected: list[tuple[int, ...]]
) -> None:
    spec: Spec = GROUPED.replacing(aux_layers=layers)
    assert [one.boundaries for one in shifted(spec, depth)] == expected


def probed(name: str, layers: tuple[int, ...], accepted: list[int], slots: int = 100) -> Probed:
    """A reading under which so many of a hundred slots of each text accept one draft."""
    counts = [TextCount(str(n), "", Tally(0, (0,), slots, (hits,)), 0, 0) for n, hits in enumerate(accepted)]
    return Probed(Reading(name, layers), tuple(counts))


GOOD, BAD = [60, 70, 55, 80, 65, 72], [20, 22, 18, 30, 25, 21]
STATED, LOWER = (2, 4, 5), (1, 3, 4)


def test_stated_layers_that_fit_best_are_no_finding() -> None:
    assert verdict([probed("as stated", STATED, GOOD), probed("one block lower", LOWER, BAD)]) == []


def test_layers_that_fit_better_than_the_stated_ones_are_an_error_with_the_option_to_say() -> None:
    found = verdict([probed("as stated", STATED, BAD), probed("one block lower", LOWER, GOOD)])
    assert [finding.code for finding in found] == ["layers-off"]
    assert found[0].expected == "--aux-layers 1,3,4"
    assert "1.670" in found[0].message


def test_a_reading_that_fits_in_doubt_is_told_and_not_adopted() -> None:
    found = verdict([probed("as boundary ids", STATED, GOOD), probed("as output-of ids", (3, 5, 6), BAD)])
    assert [(finding.code, finding.expected) for finding in found] == [("layers-probed", "--aux-layers 2,4,5")]


def test_a_difference_within_chance_decides_nothing() -> None:
    close = [61, 69, 56, 79, 66, 71]
    found = verdict([probed("as boundary ids", STATED, GOOD), probed("as output-of ids", (3, 5, 6), close)])
    assert [finding.code for finding in found] == ["layers-undecided"]


def test_one_text_decides_nothing() -> None:
    found = verdict([probed("as boundary ids", STATED, [90]), probed("as output-of ids", (3, 5, 6), [1])])
    assert [finding.code for finding in found] == ["layers-undecided"]


def test_the_table_says_what_to_write_for_each_reading() -> None:
    rows = table([probed("as stated", STATED, GOOD), probed("one block lower", LOWER, BAD)]).rows
    assert [row[3] for row in rows] == ["--aux-layers 2,4,5", "--aux-layers 1,3,4"]
