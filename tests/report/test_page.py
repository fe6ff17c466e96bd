"""The page: whole, self-contained, the same every time, and deaf to what a checkpoint says."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from eaglekit.report import Fact, Finding, Measurement, Refusal, Report, Table
from eaglekit.report.html import draw, draw_png, render
from eaglekit.report.html.words import stages, verdict
from eaglekit.report.json_text import dumps
from eaglekit.report.model import Chart, Series, printable
from tests.report.making import CATEGORIES, POSITIONS, VALIDATED

VOID = {"meta", "link", "br", "hr", "img", "input"}
MARKUP = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "p", "h1", "h2", "h3",
    "span", "ol", "ul", "li", "b", "dl", "dt", "dd", "code", "figure", "figcaption", "details", "summary", "div",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
DRAWING = {"svg", "g", "path", "text", "use", "defs", "clippath", "rect", "desc"}
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "aria-hidden", "aria-label", "aria-labelledby",
    "colspan", "id", "style", "d", "x", "y", "width", "height", "viewbox", "role", "font-family", "stroke-linejoin",
    "transform", "clip-path", "href", "data-column",
}  # fmt: skip


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


ATTACKS = [
    pytest.param("<script>alert(1)</script>", id="script"),
    pytest.param('"><img src=x onerror=alert(1)>', id="out of an attribute"),
    pytest.param("</title></style></svg></desc><iframe>", id="closing tags"),
    pytest.param("<![CDATA[x]]><!-- -->]]>", id="sections and comments"),
    pytest.param("{{ 7 * 7 }}{% raw %}", id="template"),
    pytest.param("&lt;b&gt; &amp; &#x3c;", id="entities"),
    pytest.param("$\\frac{1}{2}$ $x^{2", id="mathtext"),
    pytest.param("_hidden", id="underscore"),
    pytest.param("model\u202egnp.\u2066exe\u0000\x1b[31m", id="bidi and control characters"),
    pytest.param("lone \ud800 surrogate", id="half a surrogate pair"),
    pytest.param("url(#c) var(--ink) #ab00cd; fill: red", id="style"),
    pytest.param("鷲 نسر नमस्ते 🦅", id="other scripts"),
    pytest.param("w" * 5000, id="very long"),
    pytest.param("", id="nothing"),
    pytest.param("\n\n", id="line breaks"),
]


def hostile(name: str) -> Report:
    """A report in which everything is called `name`."""
    series = Series(name, (1, 2), (0.5, 0.4), (0.4, 0.3), (0.6, 0.5))
    bars = Series(name, (name, f"{name}2"), (0.5, 0.4))
    finding = Finding("json-invalid", name, name, name, name, name)
    return Report(
        name,
        name,
        facts=(Fact(name, [name, {name: name}], name),),
        findings=(finding, replace(finding, code="prompts-first-turn", severity=None)),
        tables=(Table(name, name, (name, name), ((name, 1), (None, True))), Table("stages", name, (name,), ((name,),))),
        measurements=(Measurement(name, 1.0, name, name, 0.5, 1.5, 3),),
        charts=(
            Chart(name, name, name, name, (series, replace(series, name=f"baseline: {name}"))),
            Chart(f"{name}-bars", name, name, name, (bars, replace(bars, name="other")), kind="bar"),
        ),
        result={name: {name: [name]}, "list": [{name: 1}, [name]]},
    )


@pytest.mark.parametrize("name", ATTACKS)
def test_no_name_breaks_out_of_the_page(name: str) -> None:
    page = Page(render(hostile(name)))
    assert set(page.tags) <= MARKUP | DRAWING
    assert {attribute for attribute, _ in page.attributes} <= ATTRIBUTES
    assert page.open == []


@pytest.mark.parametrize("name", ATTACKS)
def test_every_name_is_shown_as_it_is(name: str) -> None:
    page = Page(render(replace(hostile(name), charts=())))
    assert " ".join(printable(name).split()) in " ".join(page.text.split())


@pytest.mark.parametrize("name", ATTACKS)
def test_the_page_holds_no_invisible_character(name: str) -> None:
    text = render(hostile(name)).replace("\n", "")
    assert text == printable(text)
    text.encode("utf-8")


@pytest.mark.parametrize("report", [VALIDATED, hostile("<b>")], ids=["validated", "hostile"])
def test_nothing_is_loaded_and_nothing_runs(report: Report) -> None:
    text = render(report)
    links = [value for name, value in Page(text).attributes if name == "href"]
    assert links
    assert all(link.startswith("#") for link in links)
    styles = "".join([value for name, value in Page(text).attributes if name == "style"]) + text.split("</style>")[0]
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    assert "@import" not in styles
    assert not re.search(r"https?:|src=|<script|<link| on\w+=", text)


def test_the_policy_of_the_page_forbids_everything_but_its_own_style() -> None:
    policies = [value for name, value in Page(render(VALIDATED)).attributes if name == "content"]
    assert "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'" in policies


def test_the_same_report_gives_the_same_page() -> None:
    assert render(VALIDATED) == render(VALIDATED)


def test_the_page_of_a_saved_report_has_the_same_numbers() -> None:
    again = Page(render(Report.from_json(VALIDATED.as_json())))
    assert [m.name for m in VALIDATED.measurements if m.name not in again.text] == []


def test_no_two_elements_have_one_id() -> None:
    ids = [value for name, value in Page(render(VALIDATED)).attributes if name == "id"]
    assert len(ids) == len(set(ids)) > 4


def test_an_empty_report_is_a_page() -> None:
    page = Page(render(Report("validate", "")))
    assert page.open == []
    assert "Passed" in page.text


def test_everything_that_was_found_stands_on_the_page() -> None:
    text = " ".join(Page(render(VALIDATED)).text.split())
    for finding in VALIDATED.findings:
        for said in (finding.message, finding.place, finding.got, finding.hint, f"eaglekit explain {finding.code}"):
            assert said in text
    for measurement in VALIDATED.measurements:
        assert measurement.name in text
        assert f"{measurement.value:.3f}" in text
    for fact in VALIDATED.facts:
        assert fact.origin in text
    assert "2.710 to 2.861" in text
    assert VALIDATED.result["drafter"]["digest"] in text


def test_a_saved_report_has_its_stages_by_their_names() -> None:
    document = json.loads(dumps(VALIDATED.as_json()))
    assert stages(Report.from_json(document)) == stages(VALIDATED)


def test_a_table_without_rows_is_left_out() -> None:
    assert "Nothing at all" not in render(replace(VALIDATED, tables=(Table("n", "Nothing at all", ("a",), ()),)))


def test_a_stage_that_did_not_run_is_told_in_the_verdict() -> None:
    assert verdict(VALIDATED) == ("warning", "Passed, with 1 warning; not run: layer probe")


@pytest.mark.parametrize(
    ("findings", "tone", "sentence"),
    [
        pytest.param((), "good", "Passed", id="nothing found"),
        pytest.param(
            (Finding("json-invalid", "x"), Finding("json-invalid", "y")), "error", "Not passed: 2 errors", id="errors"
        ),
    ],
)
def test_the_verdict_follows_the_findings(findings: tuple[Finding, ...], tone: str, sentence: str) -> None:
    assert verdict(Report("validate", "x", findings=findings)) == (tone, sentence)


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_is_a_refusal_that_says_how_to_get_it(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Refusal) as caught:
        render(VALIDATED)
    (finding,) = caught.value.findings
    assert (finding.code, finding.expected) == ("page-extras-missing", package)
    assert "pip install 'eaglekit[validate]'" in finding.hint


def test_drawing_without_matplotlib_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for function in (draw, draw_png):
        with pytest.raises(Refusal, match="page-extras-missing"):
            function(POSITIONS)


def test_every_chart_stands_on_the_page_with_its_numbers() -> None:
    text = Page(render(replace(VALIDATED, tables=(), measurements=()))).text
    for chart in VALIDATED.charts:
        assert chart.title in text
        assert chart.x_label in text
        assert chart.y_label in text
        for series in chart.series:
            assert series.name in text
    assert "2.010 to 2.250" in text
    assert all(str(name) in text for name in CATEGORIES.series[0].x)
