"""What a person would stumble over on a page: looked for on a desktop, a phone and paper, light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from eaglekit.report import Report
from eaglekit.report.html import render
from eaglekit.report.html.words import has_intervals
from tests.browser.chromium import Browser, BrowserError, program
from tests.browser.reports import REPORTS

pytestmark = pytest.mark.browser

LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")
VIEWS: dict[str, dict[str, Any]] = {
    "desktop": {"width": 1280, "height": 900},
    "desktop-dark": {"width": 1280, "height": 900, "dark": True},
    "phone": {"width": 390, "height": 844},
    "phone-dark": {"width": 390, "height": 844, "dark": True},
    # A4 less the margins that browsers leave.
    "paper": {"width": 718, "height": 1047, "media": "print"},
}
NOTEBOOKS = {"notebook": ("#ffffff", "#000000"), "notebook-dark": ("#111111", "#dddddd")}
"""Ground and ink of the pages that a fragment is shown on."""
SMALLEST = 9.5
"""Least size of text in a chart on a phone, in CSS pixels."""


def in_a_notebook(report: Report, ground: str, ink: str) -> str:
    """A page of somebody else's with the fragment in it."""
    return (
        '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<body style="margin: 12px; background: {ground}; color: {ink}; font: 14px sans-serif">{report._repr_html_()}'
    )


PAGES = {name: (lambda report=report: render(report)) for name, report in REPORTS.items()} | {
    f"{name}-{kind}": (lambda report=report, colours=colours: in_a_notebook(report, *colours))
    for name, report in REPORTS.items()
    for kind, colours in NOTEBOOKS.items()
}
CASES = [pytest.param(page, view, id=f"{page} on {view}") for page in PAGES for view in VIEWS]


@dataclass(frozen=True)
class Looked:
    """What there was to see."""

    requests: list[str]
    said: list[str]
    found: dict[str, Any]


@pytest.fixture(scope="session")
def look(browser: Browser, screenshots: Path) -> Any:
    """Look at a page in a view, once."""

    @cache
    def looked(name: str, view: str) -> Looked:
        file = screenshots / f"{name}.html"
        file.write_text(PAGES[name](), encoding="utf-8")
        page = browser.open(file, **VIEWS[view])
        found = page.run(LOOK)
        page.screenshot(screenshots / f"{name}-{view}.png")
        if view == "paper":
            page.print(screenshots / f"{name}.pdf")
        page.close()
        return Looked(page.requests, page.said, found)

    return looked


@pytest.mark.parametrize(("page", "view"), CASES)
def test_nothing_is_loaded_and_the_console_stays_empty(page: str, view: str, look: Any) -> None:
    seen: Looked = look(page, view)
    assert [Path(address).name for address in seen.requests] == [f"{page}.html"]
    assert seen.said == []


@pytest.mark.parametrize(("page", "view"), CASES)
def test_nothing_is_wider_than_the_window(page: str, view: str, look: Any) -> None:
    found = look(page, view).found
    assert (found["over"], found["wide"], found["cut"]) == (0, [], [])


@pytest.mark.parametrize(("page", "view"), CASES)
def test_every_text_stands_out_from_its_ground(page: str, view: str, look: Any) -> None:
    found = look(page, view).found
    assert found["texts"] > 0
    assert found["faint"] == []


@pytest.mark.parametrize(("page", "view"), CASES)
def test_the_words_of_a_chart_lie_in_it_and_apart(page: str, view: str, look: Any) -> None:
    for chart in look(page, view).found["charts"]:
        assert (chart["outside"], chart["meet"]) == ([], [])
        assert view == "paper" or chart["smallest"] >= SMALLEST


@pytest.mark.parametrize(("page", "view"), CASES)
def test_every_chart_names_its_axes_and_its_intervals(page: str, view: str, look: Any) -> None:
    report = REPORTS[page.partition("-")[0]]
    charts = look(page, view).found["charts"]
    assert len(charts) == len(report.charts)
    for drawn, chart in zip(charts, report.charts, strict=True):
        # Names that are too long for the picture are cut behind their first words.
        for label in (chart.x_label, chart.y_label):
            assert any(text.startswith(label[:16]) for text in drawn["texts"]), label
        assert any("95 % interval" in text for text in drawn["texts"]) == has_intervals(chart)


@pytest.mark.parametrize("page", REPORTS)
def test_no_chart_is_cut_by_the_end_of_a_sheet(page: str, look: Any) -> None:
    for chart in look(page, "paper").found["charts"]:
        assert chart["whole"] == "avoid"
        assert chart["height"] < VIEWS["paper"]["height"]


def test_what_is_folded_on_a_screen_is_open_on_paper(look: Any) -> None:
    assert "layers.39.input_layernorm.weight" in look("served", "paper").found["read"]
    assert "layers.39.input_layernorm.weight" not in look("served", "desktop").found["read"]


def test_a_faint_text_and_a_broad_box_are_found(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text('<!doctype html><p style="color: #999; width: 3000px">grey</p><img src="x.png">', encoding="utf-8")
    page = browser.open(file, **VIEWS["desktop"])
    found = page.run(LOOK)
    assert found["faint"] == ["2.85: grey"]
    assert found["wide"] == ["<p> grey"]
    assert found["over"] > 1000
    assert [Path(address).name for address in page.requests] == ["bad.html", "x.png"]
    assert "x.png" in "".join(page.said)
    page.close()


def test_without_a_chromium_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAGLEKIT_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(BrowserError, match=r"there is no Chromium: EAGLEKIT_CHROMIUM is '/nowhere/chromium'"):
        program()
