"""Tensors that do not lie contiguously, as pickles may hold them: written row by row, sorted and cast on the way."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.opening import open_folder
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from eaglekit.plan.apply import apply
from eaglekit.plan.build import build
from eaglekit.plan.checking import check
from eaglekit.plan.options import Options
from tests.dialects.folders import Stored, folder_of, named_contents, put
from tests.dialects.strategies import PLAIN
from tests.plan.converting import FAST, tensors_of

IDS = (8, 1, 23, 5, 2, 20, 13)
ROWS = [[float(8 * row + column) / 7 for column in range(8)] for row in range(7)]
"""The head as it is meant: seven rows of eight."""


def turned(path: Path, ids: tuple[int, ...] = IDS) -> Checkpoint:
    """A drafter whose head is stored by columns, as a transposed view in a pickle is."""
    spec = replace(PLAIN, target_ids=ids, dtype="F32")
    config = folder_of(path.with_name("plain"), spec, DIALECTS["vllm"]) / "config.json"
    columns = [ROWS[row][column] for column in range(8) for row in range(7)]
    tensors = named_contents(spec, DIALECTS["vllm"])
    tensors = {
        name: replace(stored, data=struct.pack(f"<{len(stored.data) // 4}f", *range(len(stored.data) // 4)))
        if stored.dtype == "F32"
        else stored
        for name, stored in tensors.items()
    }
    tensors["lm_head.weight"] = Stored("F32", (7, 8), struct.pack("<56f", *columns))
    opened = open_folder(put(path, json.loads(config.read_text()), tensors))
    head = replace(opened.tensors["lm_head.weight"], strides=(1, 7))
    return replace(opened, tensors={**opened.tensors, "lm_head.weight": head})


def head_of(source: Checkpoint, out: Path, **options: object) -> Stored:
    """The head after a conversion."""
    plan = build(read(source), Options(to="vllm", **options))
    assert check(plan, source, None) == []
    apply(plan, out, source=source, wishes=FAST)
    return tensors_of(out)["lm_head.weight"]


def in_order(order: list[int]) -> bytes:
    return b"".join(struct.pack("<8f", *ROWS[row]) for row in order)


def test_a_head_that_lies_by_columns_is_written_by_rows(tmp_path):
    assert head_of(turned(tmp_path / "source"), tmp_path / "out").data == in_order([0, 1, 2, 3, 4, 5, 6])


def test_its_rows_are_sorted_with_the_vocabulary(tmp_path):
    expected = in_order(sorted(range(7), key=IDS.__getitem__))
    assert head_of(turned(tmp_path / "source"), tmp_path / "out", sort_vocabulary=True).data == expected


@pytest.mark.parametrize("sort", [False, True])
def test_it_is_cast_on_the_way(sort, tmp_path):
    order = sorted(range(7), key=IDS.__getitem__) if sort else range(7)
    halves = b"".join(struct.pack("<8e", *ROWS[row]) for row in order)
    stored = head_of(turned(tmp_path / "source"), tmp_path / "out", sort_vocabulary=sort, dtype="F16")
    assert stored == Stored("F16", (7, 8), halves)
