"""The files that a forge and its tools read say what is so."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from eaglekit import __version__

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
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


def pins(file: str) -> list[Requirement]:
    """The lines of a constraints file."""
    lines = (ROOT / file).read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def test_the_oldest_releases_that_are_tested_are_those_that_the_project_allows() -> None:
    wanted = PROJECT[PROJECT.index("\ndependencies = [") : PROJECT.index("[project.scripts]")]
    bounds = dict(re.findall(r'"([a-z0-9-]+)>=([0-9.]+)', wanted))
    untested = {"torch", "transformers", "jaxtyping", "vllm"}
    assert {str(pin) for pin in pins("constraints-lowest.txt")} == {
        f"{name}=={version}" for name, version in bounds.items() if name not in untested
    }


def test_a_pin_that_the_oldest_python_cannot_have_is_none_for_it() -> None:
    (oldest,) = re.findall(r'requires-python = ">=([0-9.]+)"', PROJECT)
    impossible = []
    for pin in pins("constraints.txt"):
        try:
            found = distribution(pin.name)
        except PackageNotFoundError:
            continue
        allowed = SpecifierSet(found.metadata.get("Requires-Python") or "")
        wanted = pin.marker is None or pin.marker.evaluate({"python_version": oldest})
        if wanted and pin.specifier.contains(found.version) and not allowed.contains(f"{oldest}.99"):
            impossible.append(str(pin))
    assert impossible == []
