"""What the ledger names is there: codes, tests, engine rows, threads; and what it counts is what it holds."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from eaglekit.cli import ledger
from eaglekit.engines.tables import ENGINES
from eaglekit.report.codes import CODES

ROOT = Path(__file__).parents[2]
ENTRIES = [entry for theme in ledger.themes() for entry in theme.entries]
NAMED = [(each.id, test) for each in (*ENTRIES, *ledger.cases()) for test in each.tests]
THREAD = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/[1-9]\d*")
KNOWN_CASES = (1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 14, 15, 16, 18, 19, 21, 22, 24, 25)


@cache
def functions(file: str) -> frozenset[str]:
    """The functions at the top of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_report_stands_there_once_and_in_order() -> None:
    assert [entry.id for entry in ENTRIES] == [f"P{number}" for number in range(1, 221)]


def test_every_case_stands_there_once_and_in_order() -> None:
    assert [case.id for case in ledger.cases()] == [f"K{number}" for number in KNOWN_CASES]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_entry_is_complete(entry: ledger.Entry) -> None:
    assert entry.status in ledger.STATUSES
    assert entry.kind in ledger.kinds()
    assert 0 < len(entry.summary) <= 140
    assert entry.tests or entry.status == "out of scope"
    assert entry.codes or entry.status not in ("caught", "refused")
    assert entry.how or entry.status not in ("mended", "out of scope")
    assert bool(entry.rows) == (entry.status == "told")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_thread_is_an_address(entry: ledger.Entry) -> None:
    assert entry.threads
    assert [thread for thread in entry.threads if not THREAD.fullmatch(thread)] == []


def test_every_code_exists() -> None:
    assert [(entry.id, code) for entry in ENTRIES for code in entry.codes if code not in CODES] == []


def test_every_test_exists() -> None:
    split = [(number, *test.split("::")) for number, test in NAMED]
    assert [each for each in split if not (ROOT / each[1]).is_file() or each[2] not in functions(each[1])] == []


def test_every_row_of_an_engine_exists() -> None:
    told = [entry for entry in ENTRIES if entry.rows]
    features = {name: {row.feature.value for row in engine.rows} for name, engine in ENGINES.items()}
    assert [(each.id, row) for each in told for row in each.rows if row not in features[each.engine]] == []


def test_every_small_case_is_told_whole() -> None:
    listed = {test for case in ledger.cases() for test in case.tests}
    files = sorted((ROOT / "tests/cases").glob("test_k*.py"))
    tests = {f"tests/cases/{file.name}::{name}" for file in files for name in functions(f"tests/cases/{file.name}")}
    assert {test for test in tests if "::test_" in test} - listed == set()


def test_the_readme_gives_the_counts() -> None:
    assert ledger.sentence() in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_the_page_gives_the_counts() -> None:
    numbers = [str(number) for number in ledger.counts(ENTRIES).values()]
    assert f"| all | {' | '.join(numbers)} | {len(ENTRIES)} |" in ledger.page()
