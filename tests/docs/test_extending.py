"""The tables on the page about extending are tables: they run, and the names they make are read by the same rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eaglekit.dialects.binding import match
from eaglekit.dialects.dialect import Dialect
from eaglekit.engines.rules import Engine

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
FILES = dict(
    re.findall(r"^`(eaglekit/\S+)`:\n\n```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
)


def defined(path: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(FILES[path], path, "exec"), names)  # noqa: S102
    return names["ACME"]


def test_the_dialect_of_the_page_reads_the_names_that_it_writes() -> None:
    dialect = defined("eaglekit/dialects/tables/acme.py")
    assert isinstance(dialect, Dialect)
    assert dialect.writable
    found = [match(row.name(0), dialect) for row in dialect.rows if row.write]
    assert None not in found


def test_the_engine_of_the_page_has_a_source_for_every_row() -> None:
    engine = defined("eaglekit/engines/tables/acme.py")
    assert isinstance(engine, Engine)
    assert {row.engine for row in engine.rows} == {engine.name}
    assert all(row.source for row in engine.rows)


@pytest.mark.parametrize(
    "path", re.findall(r"^\| `((?:eaglekit|tests|docs|fixtures)/[^`]+)`", PAGE.read_text("utf-8"), re.MULTILINE)
)
def test_every_place_that_the_page_names_is_there(path: str) -> None:
    assert "acme" in path or (PAGE.parents[1] / path).exists()
