"""Speed-ups beside figures worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from eaglekit.report import Refusal
from eaglekit.serving.address import Address
from eaglekit.serving.benching import PLAIN, SPECULATING, Benched, Load, Run
from eaglekit.serving.benching_request import Reply
from eaglekit.serving.counters import Counters
from eaglekit.serving.endpoint import Server
from eaglekit.serving.job import Prompt
from eaglekit.validate.speed import Level, alike, levels
from eaglekit.validate.speed_load import parse_concurrency
from eaglekit.validate.speed_report import Subject, planned, report

SERVERS = {
    SPECULATING: Server(Address("http://h"), "0.32.0", "t", 3),
    PLAIN: Server(Address("http://h"), "0.32.0", "t", 0, drafts=False),
}


def reply(identity: str, tokens: int, later_s: float, *, first_s: float = 0.125, odd: int | None = None) -> Reply:
    """An answer whose first token took `first_s`, and the others `later_s` together."""
    ids = [*range(tokens)]
    if odd is not None:
        ids[odd] = 99
    pieces = (1, tokens - 1) if tokens > 1 else (1,)
    return Reply(identity, tuple(ids), pieces, first_s, first_s + later_s, "stop")


def run(
    side: str, repeat: int, times_s: Sequence[float], *, category: str = "", tokens: int = 11, wall_s: float = 4.0,
    odd: int | None = None,
) -> Run:  # fmt: skip
    """A run of eleven-token answers, whose ten later tokens took these times."""
    replies = tuple(reply(f"p{n}", tokens, seconds, odd=odd) for n, seconds in enumerate(times_s))
    counters = Counters(4, 12, 6, (3, 2, 1)) if side == SPECULATING else None
    return Run(side, repeat, 1, category, replies, wall_s if side == PLAIN else wall_s / 2, counters)


def benched(*runs: Run) -> Benched:
    return Benched(runs, SERVERS, ())


def only(*runs: Run) -> Level:
    (level,) = levels(benched(*runs))
    return level


LOAD = Load({"": (Prompt("p0", (1,), 11), Prompt("p1", (1,), 11))}, (1,), 1)


def test_the_rate_of_a_user_is_tokens_behind_the_first_over_their_time() -> None:
    level = only(run(PLAIN, 0, [1.0, 3.0]), run(SPECULATING, 0, [0.5, 1.5]))
    assert level.plain.per_user == 20 / 4.0
    assert level.speculating.per_user == 20 / 2.0
    assert level.speed_up.value == 2.0


def test_the_speed_up_is_the_median_of_the_rounds() -> None:
    plain = [run(PLAIN, repeat, [1.0, 1.0]) for repeat in range(3)]
    times = (0.25, 0.5, 1.0)
    level = only(*plain, *(run(SPECULATING, repeat, [t, t]) for repeat, t in enumerate(times)))
    assert level.by_round == (4.0, 2.0, 1.0)
    assert level.speed_up.value == 2.0


def test_the_median_of_two_rounds_is_their_mean() -> None:
    level = only(run(PLAIN, 0, [1.0]), run(PLAIN, 1, [1.0]), run(SPECULATING, 0, [0.5]), run(SPECULATING, 1, [0.25]))
    assert level.speed_up.value == 3.0


def test_rounds_are_paired_so_a_machine_that_slows_down_changes_nothing() -> None:
    level = only(
        run(PLAIN, 0, [1.0, 1.0]), run(SPECULATING, 0, [0.5, 0.5]), run(SPECULATING, 1, [5.0, 5.0]),
        run(PLAIN, 1, [10.0, 10.0]),
    )  # fmt: skip
    assert level.by_round == (2.0, 2.0)


def test_prompts_that_gain_alike_leave_an_interval_of_no_width() -> None:
    level = only(run(PLAIN, 0, [1.0, 4.0, 2.0]), run(SPECULATING, 0, [0.5, 2.0, 1.0]))
    assert (level.speed_up.low, level.speed_up.high) == (pytest.approx(2.0), pytest.approx(2.0))


def test_prompts_that_gain_differently_leave_the_interval_of_drawing_them() -> None:
    # Two prompts, drawn twice: both the first (ratio 4), both the second (1), or one each (2 / 1.25 = 1.6).
    level = only(run(PLAIN, 0, [1.0, 1.0]), run(SPECULATING, 0, [0.25, 1.0]))
    assert level.speed_up.value == pytest.approx(1.6)
    assert (level.speed_up.low, level.speed_up.high) == (pytest.approx(1.0), pytest.approx(4.0))


def test_one_prompt_has_no_interval() -> None:
    level = only(run(PLAIN, 0, [1.0]), run(SPECULATING, 0, [0.5]))
    assert (level.speed_up.low, level.speed_up.high) == (None, None)


def test_all_users_together_get_all_tokens_over_the_whole_time() -> None:
    level = only(run(PLAIN, 0, [1.0, 1.0], wall_s=4.0), run(SPECULATING, 0, [0.5, 0.5], wall_s=4.0))
    assert level.plain.in_all == 22 / 4.0
    assert level.speed_up_in_all == 2.0


def test_the_acceptance_length_is_that_of_all_rounds() -> None:
    level = only(run(PLAIN, 0, [1.0]), run(SPECULATING, 0, [0.5]), run(SPECULATING, 1, [0.5]), run(PLAIN, 1, [1.0]))
    assert level.counters == Counters(8, 24, 12, (6, 4, 2))
    assert level.acceptance_length == 2.5


def test_categories_stand_behind_all_of_them_together() -> None:
    made = list(levels(benched(
        run(PLAIN, 0, [1.0], category="code"), run(PLAIN, 0, [1.0], category="talk"),
        run(SPECULATING, 0, [0.25], category="code"), run(SPECULATING, 0, [1.0], category="talk"),
    )))  # fmt: skip
    assert [(level.category, level.speed_up.value) for level in made] == [
        (None, pytest.approx(1.6)), ("code", 4.0), ("talk", 1.0),
    ]  # fmt: skip


def test_answers_without_a_time_are_left_out() -> None:
    level = only(run(PLAIN, 0, [1.0, 1.0]), run(SPECULATING, 0, [0.5, 1e-6]))
    assert level.speculating.per_user == 20.0
    assert level.speed_up.value == 2.0


def test_a_prompt_without_a_time_on_one_side_counts_for_neither() -> None:
    # Left alone, the second prompt's ten seconds would stand on one side of the ratio only.
    level = only(run(PLAIN, 0, [1.0, 10.0]), run(SPECULATING, 0, [0.5, 1e-6]))
    assert level.speed_up.value == 2.0


def test_a_round_in_which_nothing_was_timed_is_left_out() -> None:
    level = only(run(PLAIN, 0, [1.0]), run(SPECULATING, 0, [1e-6]), run(SPECULATING, 1, [0.25]), run(PLAIN, 1, [1.0]))
    assert level.by_round == (4.0,)


def test_prompts_that_are_timed_in_one_round_only_still_have_an_interval() -> None:
    level = only(
        run(PLAIN, 0, [1.0, 1.0, 1.0]), run(SPECULATING, 0, [0.5, 1e-6, 1e-6]), run(SPECULATING, 1, [1e-6, 0.5, 1e-6]),
        run(PLAIN, 1, [1.0, 1.0, 1.0]),
    )  # fmt: skip
    assert (level.speed_up.low, level.speed_up.high, level.speed_up.count) == (2.0, 2.0, 2)


def test_where_nothing_was_timed_there_is_no_figure() -> None:
    short = benched(run(PLAIN, 0, [1.0], tokens=1), run(SPECULATING, 0, [0.5], tokens=1))
    assert list(levels(short)) == []
    with pytest.raises(Refusal) as caught:
        report(Subject("d", {}, {}), LOAD, short)
    assert [one.code for one in caught.value.findings] == ["bench-too-short"]


def test_answers_that_part_are_counted_and_the_first_is_placed() -> None:
    both = benched(run(PLAIN, 0, [1.0, 1.0]), run(SPECULATING, 0, [0.5, 0.5], odd=4))
    found = alike(both)
    assert (found.pairs, found.other) == (2, 2)
    assert found.first == "prompt p0 at concurrency 1, token 5 of the answer"


def test_an_answer_that_ends_earlier_parts_at_its_end() -> None:
    both = benched(run(PLAIN, 0, [1.0], tokens=8), run(SPECULATING, 0, [0.5]))
    assert alike(both).first == "prompt p0 at concurrency 1, token 9 of the answer"


@pytest.mark.parametrize(
    ("load", "runs", "code"),
    [
        pytest.param(LOAD, [[1.0, 1.0], [0.5, 0.5]], "bench-once", id="one round"),
        pytest.param(
            Load(LOAD.prompts, (1, 16), 3), [[1.0, 1.0], [0.5, 0.5]], "bench-few-prompts", id="fewer prompts than users"
        ),
        pytest.param(Load(LOAD.prompts, (1,), 3), [[1.0, 1.0], [0.5, 1e-6]], "bench-at-once", id="a burst"),
    ],
)
def test_what_makes_the_figures_weak_is_told(load: Load, runs: list[list[float]], code: str) -> None:
    made = report(Subject("d", {}, {}), load, benched(run(PLAIN, 0, runs[0]), run(SPECULATING, 0, runs[1])))
    assert code in [one.code for one in made.findings]
    assert made.ok


def test_the_report_holds_each_run_for_whoever_wants_other_figures() -> None:
    made = report(Subject("d", {}, {}), LOAD, benched(run(PLAIN, 0, [1.0, 3.0]), run(SPECULATING, 0, [0.5, 1.5])))
    (runs,) = [table for table in made.tables if table.name == "runs"]
    assert runs.as_json()[0] == {
        "server": "plain", "round": 1, "concurrency": 1, "category": "", "requests": 2, "output_tokens": 22,
        "wall_s": 4.0, "later_tokens": 20, "later_s": 4.0, "first_s": 0.25, "drafts": None, "accepted": None,
    }  # fmt: skip


def test_a_measurement_has_the_interval_and_the_range_of_the_rounds() -> None:
    made = report(Subject("d", {}, {}), LOAD, benched(run(PLAIN, 0, [1.0, 1.0]), run(SPECULATING, 0, [0.25, 1.0])))
    first = made.measurements[0]
    assert first.name == "speed-up per user at concurrency 1"
    assert (round(first.value, 3), first.count, first.unit) == (1.6, 2, "times")
    assert "1 round, 1.600 to 1.600" in first.note


def test_a_plan_tells_the_load_and_measures_nothing() -> None:
    made = planned(Subject("d", {"plain": "vllm serve t"}, {}), LOAD)
    assert made.measurements == ()
    assert made.result["load"]["requests"] == 4


@pytest.mark.parametrize(
    ("text", "found"), [("1", (1,)), ("1,4,16", (1, 4, 16)), (" 2 , 1 ", (2, 1))], ids=["one", "several", "blanks"]
)
def test_concurrencies_are_read(text: str, found: tuple[int, ...]) -> None:
    assert parse_concurrency(text) == found


@pytest.mark.parametrize("text", ["", "0", "1,,4", "1,1", "-1", "1.5", "٣", "99999", "4097"])
def test_what_is_no_list_of_concurrencies_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_concurrency(text)
    assert [one.code for one in caught.value.findings] == ["bench-concurrency"]
