"""Charts: as text and as pixels, for every shape of data, the same bytes every time."""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from eaglekit.report.html import draw, draw_png
from eaglekit.report.html.axis import APART, grid_figure, places_of, ticks_of
from eaglekit.report.html.looks import CHARACTER
from eaglekit.report.html.palette import DARK, LIGHT, PLACEHOLDERS, Palette
from eaglekit.report.html.words import number
from eaglekit.report.model import Chart, Series
from tests.report.making import ATTENTION, CATEGORIES, POSITIONS, STATES

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """Every text of a picture."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def of(*series: Series, kind: str = "line") -> Chart:
    """A chart of these series."""
    return Chart("some", "Some chart", "across", "up", series, kind)


SHAPES = [
    pytest.param(of(), id="no series"),
    pytest.param(of(kind="bar"), id="no bars"),
    pytest.param(of(Series("a", (), ())), id="no points"),
    pytest.param(of(Series("a", (), ()), kind="bar"), id="no categories"),
    pytest.param(of(Series("a", (1,), (2.0,), (1.0,), (3.0,))), id="one point"),
    pytest.param(of(Series("a", (1, 2), (math.nan, math.inf))), id="nothing finite"),
    pytest.param(of(Series("a", (1, 2, 3), (1.0, math.nan, 2.0), (0.5, 0.5, 1), (2, math.inf, 3))), id="a gap"),
    pytest.param(of(Series("a", (math.nan, 2), (1.0, 2.0))), id="a place that is no number"),
    pytest.param(of(Series("a", ("low", "high"), (1.0, 2.0))), id="words on a line"),
    pytest.param(of(Series("a", (1, "x"), (1.0, 2.0))), id="words and numbers"),
    pytest.param(of(Series("a", (1, 2), (-1.0, -2.0))), id="below zero"),
    pytest.param(of(Series("a", ("x", "y"), (-1.0, 2.0), (-2, 1), (0, 3)), kind="bar"), id="bars below zero"),
    pytest.param(of(Series("a", (1, 2), (0.0, 0.0))), id="all zero"),
    pytest.param(of(Series("a", ("x",), (0.0,)), kind="bar"), id="a bar of zero"),
    pytest.param(of(Series("a", (1, 2), (1e308, -1e308))), id="at the end of floats"),
    pytest.param(of(*(Series(f"s{i}", (1, 2), (i, 1)) for i in range(20))), id="more series than colours"),
    pytest.param(of(Series("a", tuple(range(500)), tuple(map(float, range(500))))), id="many points"),
    pytest.param(of(Series("a", tuple(map(str, range(500))), (1.0,) * 500), kind="bar"), id="many categories"),
    pytest.param(of(Series("a", ("x", "x"), (1.0, 2.0)), kind="bar"), id="one category twice"),
    pytest.param(of(Series("a", (1, 2), (1.0, 2.0)), kind="pie"), id="a kind nobody knows"),
]


@pytest.mark.parametrize("chart", SHAPES)
def test_every_shape_of_data_is_drawn(chart: Chart) -> None:
    assert any(text.startswith("across") for text in texts(draw(chart)))
    assert draw_png(chart, scale=1).startswith(b"\x89PNG")


@pytest.mark.parametrize("chart", [POSITIONS, CATEGORIES, STATES, ATTENTION], ids=lambda chart: chart.name)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_has_its_title_its_axes_and_its_names(chart: Chart, scheme: str) -> None:
    svg = draw(chart, scheme=scheme)
    said = texts(svg)
    assert chart.title in said
    assert chart.x_label in said
    assert any(text.startswith(chart.y_label) for text in said)
    assert {series.name for series in chart.series} <= set(said)
    assert {number(series.y[-1]) for series in chart.series} <= set(said)


@pytest.mark.parametrize("chart", [POSITIONS, CATEGORIES], ids=lambda chart: chart.name)
def test_the_same_chart_gives_the_same_bytes(chart: Chart) -> None:
    assert draw(chart) == draw(chart)
    assert draw_png(chart) == draw_png(chart)


def test_settings_of_the_user_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    expected = draw(POSITIONS)
    for key, value in {"font.size": 30.0, "svg.fonttype": "path", "text.usetex": True, "lines.linewidth": 9}.items():
        monkeypatch.setitem(mpl.rcParams, key, value)
    assert draw(POSITIONS) == expected
    assert mpl.rcParams["font.size"] == 30.0


def test_pyplot_and_its_windows_stay_out() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from tests.report.making import POSITIONS; from eaglekit.report.html import draw, draw_png;"
        "draw(POSITIONS); draw_png(POSITIONS); print('matplotlib.pyplot' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_intervals_are_told_in_words_and_drawn() -> None:
    plain = replace(POSITIONS, series=tuple(replace(series, low=(), high=()) for series in POSITIONS.series))
    assert "share of served rounds (band: 95 % interval)" in texts(draw(POSITIONS))
    assert "share of served rounds" in texts(draw(plain))
    assert draw(POSITIONS).count("fill-opacity") > draw(plain).count("fill-opacity")


def test_a_picture_describes_itself() -> None:
    root = ElementTree.fromstring(draw(POSITIONS))  # noqa: S314
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert "baseline: accepted: 1: 0.702 (0.680 to 0.724)" in (description.text or "")


def test_a_baseline_has_the_colour_of_what_it_is_compared_with() -> None:
    svg = draw(STATES, titled=False)
    assert LIGHT.s1 in svg
    assert LIGHT.s2 not in svg
    assert "stroke-dasharray" in svg


def test_on_a_page_colours_are_the_pages_own() -> None:
    svg = draw(CATEGORIES, scheme="page", titled=False)
    assert "var(--s1)" in svg
    assert not any(colour in svg for colour in PLACEHOLDERS.named().values())
    assert "xmlns" not in svg


def test_a_name_that_is_a_placeholder_stays_a_name() -> None:
    chart = of(Series(PLACEHOLDERS.ink, (1, 2), (1.0, 2.0)), Series("b", (1, 2), (1.0, 2.0)))
    assert f">{PLACEHOLDERS.ink}<" in draw(chart, scheme="page")


def test_mathematics_in_a_name_is_not_typeset() -> None:
    chart = of(Series("$x^{2}$", (1, 2), (1.0, 2.0)), Series("$broken^{", (1, 2), (1.0, 2.0)))
    assert {"$x^{2}$", "$broken^{"} <= set(texts(draw(chart)))


def test_a_name_with_an_underscore_stays_in_the_legend() -> None:
    chart = of(Series("_private", (1, 2), (1.0, 2.0)), Series("b", (1, 2), (1.0, 2.0)))
    assert "_private" in texts(draw(chart))


def test_concurrencies_that_double_stand_side_by_side() -> None:
    doubling = (1, 2, 4, 8, 16, 32, 64)
    chart = of(Series("a", doubling, (1.0,) * 7))
    assert places_of(chart, 340) == {f"{x}": float(index) for index, x in enumerate(doubling)}
    assert places_of(POSITIONS, 340) == {"1": 1.0, "2": 2.0, "3": 3.0}


@pytest.mark.parametrize("count", [3, 12, 40])
def test_the_words_below_a_line_have_room(count: int) -> None:
    places = places_of(of(Series("a", tuple(f"word {n} of many" for n in range(count)), (1.0,) * count)), 340)
    ticks = ticks_of(places, 340)
    assert ticks
    assert sum(len(name) * CHARACTER + APART for _, name in ticks) <= 340 + 14 * CHARACTER


def test_the_note_about_intervals_is_never_cut() -> None:
    chart = replace(CATEGORIES, y_label="tokens per target step " * 9)
    assert any(text.endswith("… (line: 95 % interval)") for text in texts(draw(chart)))


def test_a_picture_says_how_many_categories_it_leaves_out() -> None:
    assert "across (40 of 60)" in texts(draw(of(Series("a", tuple(map(str, range(60))), (1.0,) * 60), kind="bar")))


@pytest.mark.parametrize(("value", "written"), [(0.2, "0.2"), (-3.0, "−3"), (2.5e7, "2.5e7"), (-5e-10, "−5e−10")])
def test_a_figure_at_a_grid_line_has_its_power_of_ten_beside_it(value: float, written: str) -> None:
    assert grid_figure(value) == written


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_on_its_background(palette: Palette) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for background in (palette.paper, palette.card):
        for name, colour in palette.named().items():
            if name in {"paper", "card", "line"}:
                continue
            light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
            # WCAG 2.2, 1.4.3; series are marks, for which 1.4.11 asks 3 to 1.
            needed = 3.0 if name in {"s2", "s3", "s4", "s5", "s6"} else 4.5
            assert (light + 0.05) / (dark + 0.05) >= needed, (name, background)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2.7851, "2.785"), (0.0, "0.000"), (11.0, "11.00"), (123.456, "123.5"), (12345.6, "1.235e+04"), (3, "3")],
)
def test_a_number_has_as_many_digits_as_say_something(value: float, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize("kind", ["line", "bar"])
@pytest.mark.parametrize("value", [0.008765, -0.0098765, 0.00001234, -123456.789, 1.234e-77, -1.234e77])
def test_a_value_beside_its_line_or_bar_lies_within_the_picture(kind: str, value: float) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from eaglekit.report.html.figure import figure_of, matplotlib_settings

    with matplotlib_settings():
        drawing = figure_of(of(Series("a", ("x", "y"), (value / 2, value)), kind=kind), LIGHT, titled=True)
        canvas = FigureCanvasAgg(drawing)
        canvas.draw()
        (label,) = (text for text in drawing.axes[0].texts if text.get_text() == number(value))
        assert label.get_window_extent(canvas.get_renderer()).x1 <= drawing.bbox.x1


@pytest.mark.parametrize(
    "lists", [((1, 2), (1.0,)), ((1, 2), (1.0, 2.0), (0.5,)), ((1, 2), (1.0, 2.0), (0.5, 1.5), (2.0,))], ids=str
)
def test_a_series_whose_lists_do_not_go_together_is_not_made(lists: tuple[tuple[float, ...], ...]) -> None:
    with pytest.raises(ValueError, match="do not go together"):
        Series("a", *lists)
