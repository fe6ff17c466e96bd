"""Where vLLM is looked for, and the one line when it is not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eaglekit.report import Refusal
from eaglekit.serving.environment import VARIABLE, environment_for, find_engine


@pytest.fixture(autouse=True)
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)


def stand_in(folder: Path, version: str = "9.8.7") -> Path:
    """A package of vLLM's name, with nothing but a version."""
    (folder / "vllm").mkdir(parents=True)
    (folder / "vllm" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (folder / "vllm" / "_version.py").write_text(f"__version__ = version = '{version}'\n")
    return folder


def refused(python: str | None = None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        find_engine(python)
    (finding,) = caught.value.findings
    assert finding.code == "engine-missing"
    return caught.value


def test_the_version_is_read_without_importing_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(stand_in(tmp_path)))
    found = find_engine()
    assert (found.version, found.title, found.python) == ("9.8.7", "vLLM 9.8.7", Path(sys.executable))


def test_a_python_that_is_not_there_is_told() -> None:
    assert "cannot be run" in refused("/nowhere/python").findings[0].message


def test_a_python_without_vllm_is_told(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    finding = refused(str(bare)).findings[0]
    assert "not installed for the Python of --engine-python" in finding.message
    assert "\n" not in finding.message


@pytest.mark.parametrize(
    "answer", ["exit 0", "echo hello", "echo '[]'", "exit 3"], ids=["nothing", "text", "list", "fails"]
)
def test_a_program_that_is_no_python_is_told(tmp_path: Path, answer: str) -> None:
    other = tmp_path / "program"
    other.write_text(f"#!/bin/sh\n{answer}\n")
    other.chmod(0o755)
    assert "does not answer as a Python does" in refused(str(other)).findings[0].message


def test_the_variable_names_the_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/else")
    assert refused().findings[0].place == VARIABLE


def test_the_option_is_stronger_than_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/else")
    assert refused("/nowhere/python").findings[0].place == "--engine-python"


def test_an_engine_gets_neither_secrets_nor_another_pythons_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("PYTHONPATH", "/of/this/one")
    given = environment_for(Path("/other/bin/python"))
    assert {"HF_TOKEN", "PYTHONPATH"}.isdisjoint(given)
    assert given["HF_HUB_OFFLINE"] == "1"


def test_what_the_user_says_of_threads_and_memory_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "17")
    assert environment_for(Path("python"), cpu_threads=True)["VLLM_CPU_KVCACHE_SPACE"] == "17"
