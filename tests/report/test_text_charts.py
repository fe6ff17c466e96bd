"""Charts as lines of text, for terminals of every kind."""

from __future__ import annotations

from eaglekit.report.model import Chart, Series
from eaglekit.report.text_charts import text_chart


def line(*series: Series) -> Chart:
    return Chart("c", "C", "x", "y", series)


def test_a_line_is_a_row_of_blocks_with_its_first_and_last_value() -> None:
    chart = line(Series("rate", (1, 2, 3), (0.9, 0.45, 0.0)))
    assert text_chart(chart) == "  rate  █▅▁  0.900 at 1, 0.000 at 3"


def test_lines_of_one_chart_share_a_scale_and_a_column() -> None:
    chart = line(Series("a", (1, 2), (4.0, 4.0)), Series("longer", (1, 2), (1.0, 1.0)))
    assert text_chart(chart).splitlines() == ["  a       ██  4.000 at 1, 4.000 at 2",
                                              "  longer  ▃▃  1.000 at 1, 1.000 at 2"]  # fmt: skip


def test_bars_tell_value_and_interval() -> None:
    chart = Chart("c", "C", "x", "y", (Series("s", ("code", "prose"), (2.0, 1.0), (1.9, 0.9), (2.1, 1.1)),), "bar")
    first, second = text_chart(chart).splitlines()
    assert (first.count("█"), second.count("█")) == (32, 16)
    assert first.endswith("2.000 [1.900, 2.100]")


def test_bars_of_two_drafters_are_told_apart() -> None:
    sides = tuple(Series(name, ("code",), (2.0,)) for name in ("drafter", "baseline"))
    assert [row.split("  ")[1].strip() for row in text_chart(Chart("c", "C", "x", "y", sides, "bar")).splitlines()] == [
        "code, drafter", "code, baseline",
    ]  # fmt: skip


def test_a_terminal_without_block_characters_gets_ascii() -> None:
    chart = line(Series("rate", (1, 2), (1.0, 0.0)))
    assert text_chart(chart, ascii_only=True).isascii()


def test_what_is_no_number_or_nothing_at_all_draws_nothing_wrong() -> None:
    assert "nan" in text_chart(line(Series("a", (1, 2), (float("nan"), 1.0))))
    assert text_chart(line()) == text_chart(line(Series("empty", (), ()))) == ""


def test_a_name_out_of_a_file_cannot_steer_the_terminal() -> None:
    chart = Chart("c", "C", "x", "y", (Series("s", ("\x1b[31mred\nline",), (1.0,)),), "bar")
    assert "\x1b" not in text_chart(chart)
    assert len(text_chart(chart).splitlines()) == 1
