"""Every block of docs/python.md runs, in order, and prints what stands below it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import eaglekit
from eaglekit.api.misuse import ARGUMENTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run(text: str) -> Iterator[tuple[str, str]]:
    """What each block prints, and what stands below it."""
    names: dict[str, Any] = {}
    for code, expected in BLOCK.findall(text):
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(code, PAGE.name, "exec"), names)  # noqa: S102 - our own page
        yield out.getvalue(), expected


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that `fixtures/trained` has, and room beside it."""
    for item in (ROOT / "fixtures" / "trained").iterdir():
        (tmp_path / item.name).symlink_to(item)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


def test_every_block_prints_what_the_page_says(trained: Path) -> None:
    told = list(run(PAGE.read_text(encoding="utf-8")))
    assert len(told) > 7
    for printed, expected in told:
        assert printed == expected


def test_every_function_and_every_option_with_another_name_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    functions = {name for name in eaglekit.__all__ if name[0].islower()}
    assert {name for name in functions if f"`{name}(" not in text} == set()
    assert {option for option in ARGUMENTS if f"`--{option}" not in text} == set()


if __name__ == "__main__":  # writes what is printed into the page
    page = PAGE.read_text(encoding="utf-8")
    printed = iter([out for out, _ in run(page)])

    def filled(block: re.Match[str]) -> str:
        out = next(printed)
        return f"```python\n{block[1]}```\n" + (f"\n```text\n{out}```\n" if out else "")

    PAGE.write_text(BLOCK.sub(filled, page), encoding="utf-8")
