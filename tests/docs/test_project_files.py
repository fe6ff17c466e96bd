"""The files that a forge and its tools read say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from eaglekit import __version__

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_the_citation_names_this_version_and_licence() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], citation["license"]) == (__version__, "Apache-2.0")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()


@pytest.mark.parametrize("form", [form for form in FORMS if form.stem != "config"], ids=lambda form: form.stem)
def test_a_form_asks_for_something_and_each_field_has_a_name(form: Path) -> None:
    read = yaml.safe_load(form.read_text("utf-8"))
    names = [field["id"] for field in read["body"]]
    assert names
    assert len(set(names)) == len(names)
    assert all(field["attributes"]["label"] for field in read["body"])


def test_the_hooks_run_tools_that_the_environment_has() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    lint = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in hooks}
    wanted = set(re.findall(r"\$\(BIN\)/([a-z-]+)", MAKEFILE))
    assert lint - wanted == set()


def test_the_page_about_contributing_names_commands_that_exist() -> None:
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    named = {word for words in re.findall(r"`make ([a-z -]+)`", page) for word in words.split()}
    assert named
    assert named - set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)) == set()
