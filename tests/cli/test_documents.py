"""Pages and schemas that are written from the program are what the program says now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eaglekit.cli import generate
from eaglekit.cli.main import COMMANDS
from eaglekit.report.codes import CODES
from eaglekit.report.schemas import folder, schema

ROOT = Path(__file__).resolve().parents[2]
PAGES = {**generate.docs(), **generate.schemas()}


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_a_generated_page_is_current(path: Path) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == PAGES[path], "run: make schemas docs"


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.name)
def test_every_link_of_a_page_leads_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"docs/commands/{name}.md" not in text] == []


def test_every_code_is_raised_somewhere_and_tells_a_story() -> None:
    program = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "eaglekit").rglob("*.py") if "codes" not in path.parts
    )
    assert [name for name in CODES if f'"{name}"' not in program] == []
    assert [code.name for code in CODES.values() if not (code.title and code.story and code.remedy)] == []


@pytest.mark.parametrize("path", sorted(folder().glob("*.json")), ids=lambda path: path.stem)
def test_every_schema_is_a_valid_schema(path: Path) -> None:
    from jsonschema_rs import meta

    meta.validate(dict(schema(path.stem)))


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    import shutil
    import subprocess
    import sys

    for name in ("docs", "fixtures"):
        shutil.copytree(ROOT / name, tmp_path / name)
    done = subprocess.run([sys.executable, "docs/demo.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    made = {path.name for path in (tmp_path / "demo-output").iterdir()}
    assert {"from-safeailab", "from-modelopt", "from-torchspec", "llama-eagle3.1", "eagle3.1.html"} <= made
    assert "never" not in made
    assert "acceptance length" in done.stdout
    assert "Drift by draft depth" in done.stdout
