"""What `make wheel` built and installed: the packages hold what they should, and the commands work without torch.

They run in an empty folder, by a Python that knows nothing of this checkout.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).resolve().parents[2]
DATA = {".css", ".html", ".json", ".py", ".pyi", ".typed"}
LICENCE = "licenses/LICENSE"


@pytest.fixture(scope="module")
def environment() -> Path:
    """The environment with nothing but the wheel in it, as `make wheel` made it."""
    return Path(os.environ["EAGLEKIT_WHEEL_ENVIRONMENT"]).absolute()


@pytest.fixture(scope="module")
def wheel(environment: Path) -> zipfile.ZipFile:
    (file,) = (environment / "dist").glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.fixture(scope="module")
def sdist(environment: Path) -> set[str]:
    """What is in it, below its one folder."""
    (file,) = (environment / "dist").glob("*.tar.gz")
    with tarfile.open(file) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a drafter and its target, far from the checkout."""
    for name in ("speculators-0.9-llama", "safeailab-llama-bin", "target-llama"):
        shutil.copytree(ROOT / "fixtures" / "checkpoints" / name, tmp_path / name)
    return tmp_path


def run(environment: Path, place: Path, program: str, *words: str, code: int = 0) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "EAGLEKIT"))}
    done = subprocess.run(
        [environment / "bin" / program, *words], cwd=place, env=inherited, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stdout + done.stderr
    return done.stdout


def checked_in(folder: str) -> set[str]:
    """The files of the checkout that belong into a package."""
    return {str(file.relative_to(ROOT)) for file in (ROOT / folder).rglob("*") if file.suffix in DATA}


def test_the_wheel_holds_the_package_the_schemas_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == checked_in("eaglekit") | {f"eaglekit/{name}" for name in checked_in("schemas")}


@pytest.mark.parametrize("name", ["eaglekit/py.typed", "eaglekit/__init__.pyi", "eaglekit/schemas/report.json"])
def test_the_wheel_holds_what_type_checkers_and_the_program_look_for(wheel: zipfile.ZipFile, name: str) -> None:
    assert name in wheel.namelist()


def test_the_wheel_brings_its_licence(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(LICENCE))
    assert wheel.read(name) == (ROOT / "LICENSE").read_bytes()


def test_a_plain_installation_asks_for_nothing_that_computes(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    wanted = BytesParser().parsebytes(wheel.read(name)).get_all("Requires-Dist", [])
    plain = {line for line in wanted if "extra ==" not in line}
    assert plain
    assert [line for line in plain if line.startswith(("torch", "transformers", "jaxtyping", "vllm"))] == []


def test_the_source_package_holds_what_its_tests_need(sdist: set[str]) -> None:
    needed = {"pyproject.toml", "LICENSE", "README.md", "Makefile", "constraints.txt", "tests/packaging/test_wheel.py"}
    assert needed | checked_in("eaglekit") | checked_in("schemas") <= sdist


def test_a_drafter_is_inspected(environment: Path, place: Path) -> None:
    out = run(environment, place, "eaglekit", "inspect", "speculators-0.9-llama", "--target", "target-llama", "--json")
    assert json.loads(out)["facts"]["dialect"]["value"] == "speculators"


@pytest.mark.parametrize("source", ["speculators-0.9-llama", "safeailab-llama-bin"])
def test_a_drafter_is_converted_compared_and_served(environment: Path, place: Path, source: str) -> None:
    words = ["--target", "target-llama", "--aux-layers", "default"]
    run(environment, place, "eaglekit", "convert", source, "out", *words)
    run(environment, place, "eaglekit", "diff", source, "out", *words)
    recipe = run(environment, place, "eaglekit", "recipe", "out", "--target", "target-llama", "--engine", "vllm")
    assert "vllm serve" in recipe


def test_a_plan_is_saved_and_applied(environment: Path, place: Path) -> None:
    words = ["speculators-0.9-llama", "--target", "target-llama", "--dry-run", "-o", "plan.json"]
    run(environment, place, "eaglekit", "convert", *words)
    run(environment, place, "eaglekit", "apply", "plan.json", "out")
    assert (place / "out" / "SHA256SUMS").is_file()


@pytest.mark.parametrize(
    "words", [("explain", "tensor-missing"), ("engines",), ("dialects", "portable"), ("--version",)]
)
def test_what_needs_no_file_is_told(environment: Path, place: Path, words: tuple[str, ...]) -> None:
    assert run(environment, place, "eaglekit", *words)


def test_validating_without_torch_checks_the_structure(environment: Path, place: Path) -> None:
    out = run(environment, place, "eaglekit", "validate", "speculators-0.9-llama", "--target", "target-llama", "--json")
    assert "extras-absent" in {finding["code"] for finding in json.loads(out)["findings"]}


def test_the_package_is_used_from_python(environment: Path, place: Path) -> None:
    code = "import sys, eaglekit as e; e.inspect('speculators-0.9-llama'); print(e.__file__, 'torch' in sys.modules)"
    file, torch = run(environment, place, "python", "-c", code).split()
    assert (Path(file).is_relative_to(environment), torch) == (True, "False")
