"""drift.png: one picture of the two charts of drift."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import matplotlib.image
import pytest

from eaglekit.hub.card import figure
from eaglekit.hub.card.figure import charts_of, drawing_of
from eaglekit.report import Refusal
from eaglekit.report.html.figure import matplotlib_settings
from tests.hub.cards import report


def test_the_same_report_gives_the_same_picture() -> None:
    one, other = figure(report()), figure(report())
    assert one is not None
    assert one == other


def test_both_charts_stand_beside_each_other() -> None:
    picture = figure(report())
    assert picture is not None
    rows, columns, _ = matplotlib.image.imread(io.BytesIO(picture.read())).shape
    assert (columns, rows) == (1840, 688)


def test_the_picture_names_no_program_and_no_date() -> None:
    picture = figure(report())
    assert picture is not None
    assert b"tEXt" not in picture.read()
    assert b"matplotlib" not in picture.read()


def test_its_values_are_rounded_as_the_card_rounds() -> None:
    charts = {chart.name: chart for chart in charts_of(report())}
    with matplotlib_settings():
        told = {name: {text.get_text() for text in drawing_of(chart).axes[0].texts} for name, chart in charts.items()}
    assert told["state-by-depth"] == {"4.97"}
    assert "0.6 %" in told["attention-by-depth"]
    assert all(text.endswith(" %") for text in told["attention-by-depth"])


def test_one_chart_makes_a_picture_too() -> None:
    said = report()
    only = tuple(chart for chart in said.charts if chart.name == "state-by-depth")
    assert figure(replace(said, charts=only)) is not None


def test_a_line_that_lies_on_another_is_not_drawn() -> None:
    said = report()
    doubled = tuple(
        replace(chart, series=(*chart.series, *(replace(each, name=f"baseline: {each.name}") for each in chart.series)))
        for chart in said.charts
    )
    assert figure(replace(said, charts=doubled)) == figure(said)


def test_a_report_without_drift_has_no_picture() -> None:
    assert figure(replace(report(), charts=())) is None


def test_without_matplotlib_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.image", None)
    with pytest.raises(Refusal) as caught:
        figure(report())
    assert "--no-figure" in caught.value.findings[0].hint
