"""What stands on a page below a command is what the command prints; no page is left over, and none is hidden."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from eaglekit.cli import generate

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "docs" / "run.py"
WITH_COMMANDS = [page for page in sorted((ROOT / "docs").glob("*.md")) if "\n<!-- run" in page.read_text("utf-8")]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, RUN, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_the_outputs_on_a_page_are_what_its_commands_print(page: Path) -> None:
    done = run("--check", page)
    assert done.returncode == 0, f"run: make pages\n{done.stdout}{done.stderr}"


def test_an_output_that_nobody_printed_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- run: echo two -->\n\n```console\n$ echo two\none\n```\n\nWords.\n", encoding="utf-8")
    done = run("--check", page)
    assert done.returncode == 1
    assert {"-one", "+two"} <= set(done.stdout.splitlines())


def test_a_new_command_gets_its_block_and_the_words_around_it_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- run head=1 tail=1: seq 5 -->\n\nAfter.\n", encoding="utf-8")
    assert run(page).returncode == 0
    block = "```console\n$ seq 5\n1\n[...]\n5\n```"
    assert page.read_text("utf-8") == f"Before.\n\n<!-- run head=1 tail=1: seq 5 -->\n\n{block}\n\nAfter.\n"
    assert run("--check", page).returncode == 0


def test_a_command_that_fails_where_its_page_says_it_works_stops_the_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- run: exit 3 -->\n", encoding="utf-8")
    done = run(page)
    assert done.returncode == 1
    assert "expected exit code 0, got 3" in done.stderr


@pytest.mark.parametrize("folder", ["commands", "dialects", "engines"])
def test_no_generated_page_is_left_over(folder: str) -> None:
    written = {path.name for path in generate.docs() if path.parent == Path("docs") / folder}
    assert {path.name for path in (ROOT / "docs" / folder).iterdir()} == written


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = set(re.findall(r"^ +- .*?(\S+\.md)$|^ +- .*?: (\w+/)$", navigation, re.MULTILINE))
    pages = {page for page, _ in named} | {folder for _, folder in named}
    here = {page.name for page in (ROOT / "docs").glob("*.md")} | {
        f"{folder.name}/" for folder in (ROOT / "docs").iterdir() if folder.is_dir() and list(folder.glob("*.md"))
    }
    assert here - pages == set()
