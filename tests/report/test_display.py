"""What notebooks and `print` show of a report: all that was found, and nothing of it becomes markup."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

import pytest

from eaglekit.report import Report
from eaglekit.report.html.palette import EITHER
from eaglekit.report.model import printable
from tests.report.making import VALIDATED
from tests.report.test_page import ATTACKS, ATTRIBUTES, DRAWING, MARKUP, VOID, Page, hostile

HIDDEN = {"html", "head", "meta", "body"}
"""Of a page, and of no part of one."""


def html(report: Report) -> str:
    text = report._repr_html_()
    assert text is not None
    return text


@pytest.mark.parametrize("name", ATTACKS)
def test_no_name_breaks_out_of_the_fragment(name: str) -> None:
    fragment = Page(html(hostile(name)))
    assert set(fragment.tags) <= (MARKUP - HIDDEN) | DRAWING | {"br"}
    assert {attribute for attribute, _ in fragment.attributes} <= ATTRIBUTES | {"open"}
    assert fragment.open == []
    assert "br" in VOID


@pytest.mark.parametrize("name", ATTACKS)
def test_every_name_is_shown_as_it_is(name: str) -> None:
    fragment = Page(html(replace(hostile(name), charts=())))
    assert " ".join(printable(name).split()) in " ".join(fragment.text.split())


@pytest.mark.parametrize("report", [VALIDATED, hostile("<b>")], ids=["validated", "hostile"])
def test_nothing_is_loaded_and_nothing_runs(report: Report) -> None:
    text = html(report)
    assert all(value.startswith("#") for name, value in Page(text).attributes if name == "href")
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    assert not re.search(r"https?:|src=|<script|<link|@import| on\w+=", text)


def test_the_style_is_about_the_fragment_alone() -> None:
    style = html(VALIDATED).partition("<style>")[2].partition("</style>")[0]
    selectors = [part.strip() for rule in style.split("}") for part in rule.partition("{")[0].split(",")]
    assert all(selector.startswith(".eaglekit-report") for selector in selectors if selector)


@pytest.mark.parametrize("name", ["good", "warning", "error", "s1", "s2", "s3", "s4", "s5", "s6"])
@pytest.mark.parametrize("background", ["#ffffff", "#111111"], ids=["light", "dark"])
def test_every_colour_stands_out_on_light_and_dark_ground(name: str, background: str) -> None:
    # 3 is what WCAG 2.2 asks of graphics and of marks beside text.
    light, dark = sorted(map(luminance, (EITHER.named()[name], background)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 3


def luminance(colour: str) -> float:
    """The relative luminance of `#rrggbb`, as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_everything_that_was_found_stands_there() -> None:
    text = " ".join(Page(html(VALIDATED)).text.split())
    for finding in VALIDATED.findings:
        assert finding.message in text
        assert finding.hint in text
    assert all(measured.name in text for measured in VALIDATED.measurements)
    assert all(fact.name in text for fact in VALIDATED.facts)
    assert html(VALIDATED).count("<svg") == len(VALIDATED.charts)


def test_of_a_long_table_the_rest_is_counted() -> None:
    (table,) = (table for table in VALIDATED.tables if table.name != "stages")
    long = replace(VALIDATED, charts=(), tables=(replace(table, rows=table.rows[:1] * 230),))
    assert "30 more rows are in the report." in html(long)


def test_without_jinja2_a_notebook_takes_the_markdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert VALIDATED._repr_html_() is None
    assert VALIDATED._repr_markdown_().startswith("**eaglekit validate** ")


def test_without_matplotlib_the_charts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<svg" not in html(VALIDATED)
    assert "acceptance length" in html(VALIDATED)


@pytest.mark.parametrize("name", ATTACKS)
def test_in_markdown_a_name_is_text_on_one_line(name: str) -> None:
    text = hostile(name)._repr_markdown_()
    assert text.replace("\n", "") == printable(text.replace("\n", ""))
    assert not re.search(r"(?<!\\)[<\[`$&]", text)
    assert all(line.startswith(("**eaglekit ", "- **", "| ")) for line in text.splitlines() if line)


def test_every_row_of_a_markdown_table_has_its_columns() -> None:
    tables = [line for line in hostile("a | b")._repr_markdown_().splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {4, 5}


@pytest.mark.parametrize("name", ATTACKS)
def test_neither_print_nor_repr_steers_a_terminal(name: str) -> None:
    for text in (str(hostile(name)), repr(hostile(name))):
        assert text.replace("\n", "") == printable(text.replace("\n", ""))
    assert "\n" not in repr(hostile(name))


def test_print_tells_what_people_look_for() -> None:
    text = str(VALIDATED)
    verdict = "eaglekit validate example/Kimi-K2.5-Eagle3.1: Passed, with 1 warning; not run: layer probe"
    assert text.splitlines()[0] == verdict
    assert re.search(r"^acceptance length +2\.785  tokens per target step  \(2\.710 to 2\.861\)$", text, re.MULTILINE)
    assert "warning  json-number  config.json has rope_theta 1e400" in text


def test_a_report_is_short_in_a_list() -> None:
    assert repr([Report("inspect", "./drafter")]) == "[<Report: eaglekit inspect ./drafter: Passed>]"


def test_what_a_report_is_equal_to_does_not_depend_on_how_it_is_shown() -> None:
    shown: Any = replace(VALIDATED)
    assert shown == VALIDATED
    assert shown != replace(VALIDATED, subject="another")
