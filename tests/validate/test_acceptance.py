"""Sums over texts become lengths, rates, tables and findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eaglekit.validate.acceptance import TextCount, by_category, summarise
from eaglekit.validate.acceptance_report import Judged, charts, measurements, tables
from eaglekit.validate.drift import DepthSums, growth
from eaglekit.validate.drift import summarise as depths
from eaglekit.validate.drift_report import facts as drift_facts
from eaglekit.validate.drift_report import findings as drift_findings
from eaglekit.validate.rounds import Tally
from eaglekit.validate.verdicts import acceptance_findings

FIRST = TextCount("a", "code", Tally(10, (8, 4), 20, (15, 9)), 18, 20, (14.0, 10.0), (13.0, 9.0))
SECOND = TextCount("b", "prose", Tally(30, (12, 6), 60, (30, 15)), 57, 60, (33.0, 12.0), (30.0, 11.0))
BOTH = [FIRST, SECOND]


def test_the_length_counts_the_bonus_token() -> None:
    length = summarise(BOTH).length
    assert length is not None
    assert length.value == pytest.approx(1 + (12 + 18) / 40)


def test_every_slot_counts_alike_in_the_length_from_every_slot() -> None:
    length = summarise(BOTH).length_everywhere
    assert length is not None
    assert length.value == pytest.approx(1 + (24 + 45) / 80)


def test_conditional_rates_multiply_to_the_unconditional_ones() -> None:
    total = summarise(BOTH)
    rates = [rate.value for rate in total.rates if rate is not None]
    conditional = [rate.value for rate in total.conditional if rate is not None]
    assert rates == pytest.approx([20 / 40, 10 / 40])
    assert conditional == pytest.approx([20 / 40, 10 / 20])


def test_sampled_rates_stand_on_the_slots_whose_earlier_drafts_equal_the_text() -> None:
    sampled = [rate.value for rate in summarise(BOTH).sampled if rate is not None]
    assert sampled == pytest.approx([47 / 80, 22 / 45])
    length = summarise(BOTH).sampled_length
    assert length is not None
    assert length.value == pytest.approx(1 + 47 / 80 + 47 / 80 * 22 / 45)


def test_without_the_targets_head_nothing_sampled_is_claimed() -> None:
    plain = [replace(count, overlap=(), taken=()) for count in BOTH]
    total = summarise(plain)
    assert (total.sampled, total.sampled_length, total.taken_length) == ((), None, None)
    names = [m.name for m in measurements(Judged("drafter", total, {}), 1.0)]
    assert [name for name in names if "sampled" in name] == []


def test_categories_are_counted_apart() -> None:
    found = by_category(BOTH)
    assert list(found) == ["code", "prose"]
    assert found["code"].rounds == 10


def test_texts_without_categories_have_no_table_of_them() -> None:
    plain = [replace(count, category="") for count in BOTH]
    assert by_category(plain) == {}
    judged = Judged("drafter", summarise(plain), {})
    assert [table.name for table in tables(judged)] == ["acceptance-by-position", "sampled-acceptance-by-position"]
    assert [chart.name for chart in charts((judged,))] == ["acceptance-by-position"]


def test_every_measured_figure_says_what_it_stands_on() -> None:
    found = {m.name: m for m in measurements(Judged("drafter", summarise(BOTH), {}), 1.0)}
    length = found["acceptance length"]
    assert (length.count, length.unit) == (40, "tokens per target step")
    assert "ceiling 3" in length.note
    assert length.low is not None
    assert length.high is not None
    assert length.low <= length.value <= length.high


def test_every_rate_counts_what_its_denominator_holds() -> None:
    found = {m.name: m for m in measurements(Judged("drafter", summarise(BOTH), {}), 1.0)}
    assert [found[f"acceptance rate at draft {step}"].count for step in (1, 2)] == [40, 40]
    assert [found[f"acceptance rate, conditional at draft {step}"].count for step in (1, 2)] == [40, 20]
    assert [found[f"acceptance rate, sampled at draft {step}"].count for step in (1, 2)] == [80, 45]


def test_a_baseline_is_told_apart_everywhere() -> None:
    sides = tuple(Judged(name, summarise(BOTH), by_category(BOTH)) for name in ("drafter", "baseline"))
    assert {m.name for m in measurements(sides[0], 1.0)}.isdisjoint({m.name for m in measurements(sides[1], 1.0)})
    assert [table.name for table in tables(sides[1])] == [
        "baseline-acceptance-by-position",
        "baseline-sampled-acceptance-by-position",
        "baseline-acceptance-by-category",
    ]
    assert [series.name for series in next(iter(charts(sides))).series][2:] == [
        "baseline: accepted", "baseline: given the ones before",
    ]  # fmt: skip


def test_a_chart_has_intervals_at_every_point_or_at_none() -> None:
    alone = {"code": summarise([FIRST]), "both": summarise(BOTH)}
    chart = list(charts((Judged("drafter", summarise(BOTH), alone),)))[1]
    assert (chart.kind, chart.series[0].x, chart.series[0].low) == ("bar", ("code", "both"), ())


@pytest.mark.parametrize(
    ("count", "word"),
    [pytest.param(1, "no interval", id="one text"), pytest.param(19, "narrower than the truth", id="nineteen texts")],
)
def test_few_texts_are_said_to_be_few(count: int, word: str) -> None:
    texts = [TextCount(str(number), "", Tally(100, (60,), 200, (120,)), 100, 100) for number in range(count)]
    (finding,) = acceptance_findings(summarise(texts))
    assert finding.code == "texts-few"
    assert word in finding.message


@pytest.mark.parametrize(
    ("tally", "agreeing", "codes"),
    [
        pytest.param(Tally(100, (60,), 200, (120,)), 100, [], id="fine"),
        pytest.param(Tally(100, (9,), 200, (18,)), 100, ["acceptance-none"], id="near one"),
        pytest.param(Tally(100, (60,), 200, (120,)), 80, ["response-not-greedy"], id="another's text"),
        pytest.param(Tally(0, (0,), 0, (0,)), 2, ["texts-too-short"], id="too short"),
    ],
)
def test_what_is_plainly_wrong_is_said(tally: Tally, agreeing: int, codes: list[str]) -> None:
    total = summarise([TextCount(str(number), "", tally, agreeing, 100) for number in range(20)])
    assert [finding.code for finding in acceptance_findings(total)] == codes


def test_growth_is_the_last_depth_over_the_first_and_a_note_when_it_is_much() -> None:
    sums = [[DepthSums(10, 10.0, 20.0 * 1.2**depth, 1.0, 8.0, 1.0) for depth in range(8)] for _ in range(3)]
    found = {"drafter": depths(sums)}
    assert growth(found["drafter"]) == pytest.approx(1.2**7)
    assert [fact.value for fact in drift_facts(found)] == ["3.58 x"]
    assert [finding.code for finding in drift_findings(found)] == ["state-growth"]


def test_a_steady_state_is_no_finding() -> None:
    steady = {"drafter": depths([[DepthSums(10, 10.0, 20.0, 1.0, 8.0, 1.0)] * 8])}
    assert list(drift_findings(steady)) == []
