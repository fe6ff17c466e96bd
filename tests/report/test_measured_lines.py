"""Measurements at a terminal: in columns, with what they stand on behind them or below."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from eaglekit.report import Measurement, Report, Table
from eaglekit.report.terminal import show

LENGTH = Measurement(
    "acceptance length", 2.785, "tokens per target step", "served rounds of 80 texts; greedy", 2.71, 2.861, 5312
)


def lines(width: int, *measured: Measurement) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as captured:
        show(Report("validate", "x", measurements=measured), console)
    return [line.rstrip() for line in captured.get().splitlines() if line.strip()][1:]


def test_a_count_is_followed_by_what_was_counted() -> None:
    assert lines(160, LENGTH)[0].endswith("n = 5,312 served rounds of 80 texts; greedy")


def test_a_narrow_terminal_has_the_note_on_a_line_of_its_own() -> None:
    first, second = lines(80, LENGTH)
    assert first.endswith("2.785  [2.710, 2.861]  tokens per target step")
    assert second == "    n = 5,312 served rounds of 80 texts; greedy"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    bare = Measurement("time", 0.4, "s")
    assert max(map(len, lines(width, LENGTH, bare))) <= width


def test_a_measurement_without_count_or_interval_has_neither() -> None:
    assert lines(100, Measurement("time", 0.4, "s", "reading and computing"))[0].split() == [
        "time", "0.400", "s", "reading", "and", "computing",
    ]  # fmt: skip


FIGURES = Table("by-category", "By category", ("category", "served", "every slot", "sampled", "texts", "rounds"), (
    ("brackets", "2.885 [2.559, 3.533]", "2.859 [2.517, 3.345]", "2.601 [2.433, 2.853]", 10, 26),
    ("names", "4.000 [4.000, 4.000]", "78.1 % [70.4 %, 84.8 %]", "-0.327 [-0.530, -0.179]", 10, 25),
))  # fmt: skip


def table_lines(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as captured:
        show(Report("validate", "x", tables=(FIGURES,)), console)
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("interval", ["[2.559, 3.533]", "[70.4 %, 84.8 %]", "[-0.530, -0.179]"])
def test_a_table_breaks_no_interval(interval: str, width: int) -> None:
    assert sum(interval in line for line in table_lines(width)) == 1


def test_where_there_is_room_an_interval_stands_beside_its_figure() -> None:
    assert any("2.885 [2.559, 3.533]  2.859 [2.517, 3.345]" in line for line in table_lines(160))
