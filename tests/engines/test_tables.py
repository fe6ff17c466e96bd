"""What must hold of the rows themselves."""

from __future__ import annotations

from collections import Counter

import pytest

from eaglekit.dialects.families import family_of
from eaglekit.engines import ENGINES, as_markdown, capabilities_table, engine_markdown, engines_table
from eaglekit.engines.checks.layers import ID_RULES
from eaglekit.engines.rules import UNITED, Behaviour, Feature, compose
from eaglekit.report import Refusal, Table

NAMES = list(ENGINES)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_names_its_source(name: str) -> None:
    assert [row for row in ENGINES[name].rows if not row.source.strip()] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_row_belongs_to_its_engine_and_to_a_class_of_it(name: str) -> None:
    engine = ENGINES[name]
    classes = {"*", *(drafter.name for drafter in engine.classes)}
    assert [row for row in engine.rows if row.engine != name or row.drafter not in classes] == []


@pytest.mark.parametrize("name", NAMES)
def test_versions_are_listed_oldest_first_and_once(name: str) -> None:
    versions = ENGINES[name].versions
    assert list(versions) == sorted(set(versions))


@pytest.mark.parametrize("name", NAMES)
def test_no_two_rows_say_something_about_one_thing_at_one_version(name: str) -> None:
    engine = ENGINES[name]
    for version in engine.versions:
        holding = [row for row in engine.rows if version in row.span and row.feature not in UNITED]
        counts = Counter((row.feature, row.drafter, row.family) for row in holding)
        assert [key for key, count in counts.items() if count > 1] == [], str(version)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_holds_for_a_known_version(name: str) -> None:
    engine = ENGINES[name]
    assert [row for row in engine.rows if not any(version in row.span for version in engine.versions)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_row_for_a_family_names_one_that_exists(name: str) -> None:
    assert [row for row in ENGINES[name].rows if row.family and family_of(row.family) is None] == []


@pytest.mark.parametrize("name", NAMES)
def test_layer_ids_are_read_by_a_rule_of_the_families(name: str) -> None:
    others = {Behaviour.ARGUMENT, Behaviour.NOT_KNOWN}
    rows = [row for row in ENGINES[name].rows if row.feature in (Feature.IDS, Feature.IDS_V2)]
    assert [row for row in rows if row.behaviour not in others and row.behaviour.value not in ID_RULES] == []


def test_a_row_for_the_family_beats_a_row_for_the_class() -> None:
    engine = ENGINES["sglang"]
    rules = compose(engine, engine.versions[-1], drafter="llama", families=("gpt_oss",))
    assert rules.of(Feature.IDS).behaviour is Behaviour.SGLANG_GPT_OSS


def test_what_no_row_says_is_not_known() -> None:
    engine = ENGINES["angelslim"]
    rules = compose(engine, engine.versions[-1], drafter="llama", families=())
    assert rules.of(Feature.QK_NORM).behaviour is Behaviour.NOT_KNOWN


def test_the_table_of_engines_has_a_row_for_each() -> None:
    assert [row[0] for row in engines_table().rows] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_one_engine_shows_every_row(name: str) -> None:
    assert len(capabilities_table(name).rows) == len(ENGINES[name].rows)


def test_the_table_of_an_unknown_engine_is_refused() -> None:
    with pytest.raises(Refusal, match="engine-unknown"):
        capabilities_table("tgi")


def test_markdown_has_a_line_for_every_row_and_keeps_bars_inside_cells() -> None:
    table = capabilities_table("vllm")
    lines = as_markdown(table).splitlines()
    assert len(lines) == len(table.rows) + 2
    assert {line.count(" | ") for line in lines} == {len(table.columns) - 1}


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_of_an_engine_has_a_line_for_every_row(name: str) -> None:
    text = engine_markdown(ENGINES[name])
    assert sum(line.startswith("| ") for line in text.splitlines()) == len(ENGINES[name].rows) + 2


def test_a_star_in_a_cell_is_no_emphasis() -> None:
    table = Table("names", "Names", ("name",), (("*lm_head.weight",),))
    assert as_markdown(table).splitlines()[-1] == "| \\*lm_head.weight |"
