"""`import eaglekit`: light, whole, and in nobody's way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import eaglekit

WHERE_IT_RUNS = "eaglekit runs on Linux and macOS. On Windows, install it inside WSL (the Windows Subsystem for Linux)."
ROOT = Path(eaglekit.__file__).parents[1]


def run(code: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_import_brings_nothing_along() -> None:
    told = run("import sys; before = set(sys.modules); import eaglekit; print(sorted(set(sys.modules) - before))")
    brought = set(ast.literal_eval(told))
    assert {name for name in brought if name.startswith("eaglekit")} == {"eaglekit"}
    assert brought.isdisjoint({"torch", "numpy", "click", "rich", "huggingface_hub", "jsonschema_rs"})


def test_looking_and_planning_import_no_torch_and_nothing_of_the_command_line() -> None:
    drafter = "fixtures/checkpoints/speculators-0.9-llama"
    told = run(f"import sys, eaglekit; eaglekit.inspect('{drafter}'); print(sorted(sys.modules))")
    loaded = {name.partition(".")[0] for name in ast.literal_eval(told)}
    assert loaded.isdisjoint({"torch", "transformers", "numpy", "click", "rich", "huggingface_hub"})


def test_every_name_is_there_and_documented() -> None:
    for name in eaglekit.__all__:
        found = getattr(eaglekit, name)
        assert name in dir(eaglekit)
        if name not in {"__version__", "Bar"}:
            assert found.__doc__, name


def test_type_checkers_see_exactly_these_names() -> None:
    tree = ast.parse((ROOT / "eaglekit" / "__init__.pyi").read_text())
    imported = {
        alias.asname: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert {**imported, "__version__": None}.keys() == set(eaglekit.__all__)
    assert imported == eaglekit._PLACES  # type: ignore[attr-defined]


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        eaglekit.nonsense  # type: ignore[attr-defined] # noqa: B018


def test_functions_stay_functions_when_the_rooms_of_their_names_are_imported() -> None:
    code = """
import eaglekit.plan.model, eaglekit.validate.task
from eaglekit.plan import build
from eaglekit.validate.task import Task
import eaglekit
print(callable(eaglekit.plan), callable(eaglekit.validate), build.__name__, Task.__name__)
"""
    assert run(code) == "True True eaglekit.plan.build Task"


AS_ON_WINDOWS = """
import click, sys
sys.platform = "win32"
sys.modules["fcntl"] = sys.modules["resource"] = None
"""
"""What decides there before anything else is imported; click looks at the platform itself, and comes first."""


def test_on_windows_the_command_says_in_one_line_where_it_runs() -> None:
    code = f"{AS_ON_WINDOWS}\nfrom eaglekit.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{WHERE_IT_RUNS}\n")


def test_on_windows_the_package_says_where_it_runs() -> None:
    code = "import eaglekit\ntry: eaglekit.inspect\nexcept ImportError as error: print(error)"
    assert run(f"{AS_ON_WINDOWS}\n{code}") == WHERE_IT_RUNS
