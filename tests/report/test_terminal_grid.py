"""Tables at a terminal: every word whole, whatever the width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from eaglekit.report import Table
from eaglekit.report.terminal import grid

NAMES = ("midlayer.post_attention_layernorm.weight", "layers.0.post_attention_layernorm.weight")
TENSORS = Table(
    "tensors",
    "Tensors",
    ("from", "to", "holds", "how", "why"),
    ((*NAMES, "F16 [64, 192]", "copy", "renamed"), ("d2t", "d2t", "I64 [96]", "copy", "offsets, as read")),
)
ENGINES = Table(
    "engines",
    "Engines",
    ("engine", "versions", "verdict", "because"),
    (("vllm", "<0.11.2", "rejects", "it refuses fc_norm.0.weight\nits drafter has no norm of the captured states"),),
)


def printed(table: Table, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(grid(table, width))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 100, 110, 111, 130, 200])
@pytest.mark.parametrize("table", [TENSORS, ENGINES], ids=lambda table: table.name)
def test_no_word_is_broken_and_none_is_lost(table: Table, width: int) -> None:
    lines = printed(table, width)
    words = [word for line in lines for word in line.split()]
    assert sorted(words) == sorted(
        word for row in (table.columns, *table.rows) for cell in row for word in cell.split()
    )
    assert all(len(line) <= width for line in lines)


@pytest.mark.parametrize("width", [60, 80, 110, 200])
def test_a_shape_stands_on_one_line(width: int) -> None:
    assert any("[64, 192]" in line for line in printed(TENSORS, width))


def test_what_does_not_fit_beside_a_name_stands_below_it() -> None:
    assert printed(TENSORS, 80)[2:4] == [NAMES[0], f"    {NAMES[1]}  F16 [64, 192]  copy  renamed"]


def test_a_word_wider_than_the_terminal_is_folded_and_nothing_is_lost() -> None:
    assert "".join("".join(printed(Table("t", "T", ("n",), (("w" * 150,),)), 60)).split()) == "n" + "w" * 150
