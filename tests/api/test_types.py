"""The types of the package, as the code of a user sees them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_code_that_uses_the_package_rightly_passes_mypy_strict_and_wrong_use_does_not() -> None:
    # `warn_unused_ignores` is part of strict: each line that is wrong on purpose must be one for mypy, too.
    words = ["--strict", "--python-version", "3.10", "tests/api/typed_use.py"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("MYPYPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
