"""Intervals come from resampling texts, are the same every time, and cover the truth about as often as they say."""

from __future__ import annotations

import math

import numpy
import pytest

from eaglekit.validate.intervals import RESAMPLES, difference, product_of_ratios, ratio, weights


def test_the_same_texts_give_the_same_interval() -> None:
    assert ratio([3, 5, 2], [4, 6, 6]) == ratio([3, 5, 2], [4, 6, 6])


def test_the_value_is_the_ratio_of_the_sums_and_not_the_mean_of_the_ratios() -> None:
    found = ratio([1, 90], [10, 100])
    assert found is not None
    assert found.value == pytest.approx(91 / 110)


def test_one_text_gives_a_value_without_an_interval() -> None:
    found = ratio([3], [4])
    assert found is not None
    assert (found.value, found.low, found.high, found.count) == (0.75, None, None, 1)


def test_texts_that_observed_nothing_are_not_counted() -> None:
    found = ratio([3, 0, 1], [4, 0, 4])
    assert found is not None
    assert found.count == 2


def test_nothing_observed_is_no_estimate() -> None:
    assert ratio([0, 0], [0, 0]) is None
    assert product_of_ratios([([0], [0])]) is None
    assert difference(([0], [0]), ([0], [0])) is None


def test_equal_texts_leave_no_doubt() -> None:
    found = ratio([2] * 9, [4] * 9)
    assert found is not None
    assert (found.low, found.high) == (0.5, 0.5)


def test_each_resample_draws_as_many_texts_as_there_are() -> None:
    drawn = weights(7)
    assert drawn.shape == (RESAMPLES, 7)
    assert set(drawn.sum(axis=1)) == {7}


def test_intervals_cover_the_truth_about_95_times_in_a_hundred() -> None:
    generator = numpy.random.default_rng(7)
    covered = 0
    for _ in range(200):
        rates = generator.beta(6, 4, size=40)
        found = ratio(generator.binomial(50, rates).tolist(), [50] * 40)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.6 <= found.high
    assert 178 <= covered <= 198  # 190 expected; the percentile bootstrap is a little narrow at 40 texts


def test_a_root_is_taken_of_the_value_and_of_both_ends() -> None:
    plain, rooted = ratio([4, 9, 1], [1, 1, 1]), ratio([4, 9, 1], [1, 1, 1], then=math.sqrt)
    assert plain is not None
    assert rooted is not None
    assert (rooted.value, rooted.low, rooted.high) == tuple(
        math.sqrt(end) for end in (plain.value, plain.low, plain.high) if end is not None
    )


def test_a_length_from_rates_adds_up_their_products() -> None:
    found = product_of_ratios([([8, 8], [10, 10]), ([4, 4], [8, 8])])
    assert found is not None
    assert found.value == pytest.approx(1 + 0.8 + 0.8 * 0.5)


def test_a_difference_over_the_same_texts_is_surer_than_two_intervals() -> None:
    generator = numpy.random.default_rng(1)
    hard = generator.uniform(0.2, 0.9, 30)
    first, second, whole = (hard * 100).tolist(), (hard * 100 - 5).tolist(), [100.0] * 30
    gap, alone = difference((first, whole), (second, whole)), ratio(first, whole)
    assert gap is not None
    assert alone is not None
    assert (gap.low, gap.high) == (pytest.approx(0.05), pytest.approx(0.05))
    assert alone.low is not None
    assert alone.high is not None
    assert alone.high - alone.low > 0.05
