"""Which vLLM an interpreter has: one JSON object on stdout. Run by path; imports nothing but the standard library."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("torch", "transformers")
STATED = re.compile(r"^__version__ *=[^'\"\n]*['\"]([^'\"\n]+)['\"]", re.MULTILINE)


def main() -> int:
    """Print version and companions. vLLM itself is not imported: that takes ten seconds and a device."""
    # The folder of this script is on the path, and holds modules of its own.
    sys.path = [entry for entry in sys.path if not entry or Path(entry) != Path(__file__).parent]
    found = find_spec("vllm")
    folder = Path(found.origin).parent if found is not None and found.origin else None
    answer = {
        "python": sys.version.split()[0],
        "vllm": stated(folder) if folder is not None else None,
        "packages": {name: installed for name in PACKAGES if (installed := version_of(name))},
    }
    print(json.dumps(answer))  # noqa: T201 - what was asked for
    return 0


def stated(folder: Path) -> str:
    """The version that the package states of itself: the wheel for CPUs has another name, and so other metadata."""
    file = folder / "_version.py"
    found = STATED.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return (found[1] if found is not None else version_of("vllm")) or "unknown"


def version_of(package: str) -> str | None:
    """The installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
