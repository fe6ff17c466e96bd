"""torch and transformers are imported by what computes alone, and start-up does not pay for what is not used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import CHECKPOINTS

HEAVY = ("torch", "transformers", "vllm")
WATCHED = """
import sys
from eaglekit.cli.main import main
sys.argv = ["eaglekit", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
sys.stderr.write("imported:" + ",".join(sorted(sys.modules)))
"""


def imported_by(*words: object, beside: Path | None = None, prelude: str = "") -> set[str]:
    """Top-level names of every module that a command imports."""
    path = os.pathsep.join(filter(None, [str(beside or ""), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-c", prelude + WATCHED, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    return {name.partition(".")[0] for name in done.stderr.rpartition("imported:")[2].split(",")}


DRAFTER, TARGET = CHECKPOINTS / "speculators-0.9-llama", CHECKPOINTS / "target-llama"
PICKLE = CHECKPOINTS / "safeailab-llama-bin"


@pytest.fixture
def decoys(tmp_path: Path) -> Path:
    """Empty packages of the heavy names, so that importing one would work and be seen."""
    for name in HEAVY:
        (tmp_path / "decoys" / name).mkdir(parents=True)
        (tmp_path / "decoys" / name / "__init__.py").write_text("")
    return tmp_path / "decoys"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["inspect", DRAFTER, "--target", TARGET], id="inspect"),
        pytest.param(["convert", DRAFTER, "OUT", "--target", TARGET, "--dtype", "float32"], id="convert with a cast"),
        pytest.param(["convert", PICKLE, "OUT", "--target", TARGET, "--aux-layers", "default"], id="convert a pickle"),
        pytest.param(["diff", DRAFTER, DRAFTER], id="diff"),
        pytest.param(["explain", "tensor-missing"], id="explain"),
        pytest.param(["--help"], id="help"),
        pytest.param(["validate", "--help"], id="help of a command that computes"),
        pytest.param(["capture", "--help"], id="help of the other one"),
    ],
)  # fmt: skip
def test_no_command_that_only_looks_or_copies_imports_torch(words: list[object], decoys: Path, tmp_path: Path) -> None:
    placed = [tmp_path / "out" if word == "OUT" else word for word in words]
    assert imported_by(*placed, beside=decoys).isdisjoint(HEAVY)


def test_the_watch_would_see_torch_if_it_were_imported(decoys: Path) -> None:
    assert "torch" in imported_by("explain", beside=decoys, prelude="import torch\n")


def test_validate_imports_torch_when_it_comes_to_numbers() -> None:
    assert "torch" in imported_by("validate", DRAFTER, "--target", TARGET)


def test_validate_imports_no_torch_for_a_structure_that_has_errors() -> None:
    broken = CHECKPOINTS / "producer-speculators-0.9-converted-lost-norms"
    assert imported_by("validate", broken, "--target", TARGET, "--aux-layers", "default").isdisjoint(HEAVY)


def test_help_imports_neither_rich_nor_numpy_nor_the_hub_client() -> None:
    assert imported_by("--help").isdisjoint({"rich", "numpy", "huggingface_hub", "jsonschema_rs"})


def test_inspecting_a_folder_imports_neither_numpy_nor_the_hub_client() -> None:
    assert imported_by("inspect", DRAFTER).isdisjoint({"numpy", "huggingface_hub"})
