"""Where vLLM is: in the Python that was named, or in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from eaglekit.report import Finding, Refusal
from eaglekit.serving.words import without_secrets

CHILD = Path(__file__).parent / "child"
VARIABLE = "EAGLEKIT_VLLM_PYTHON"
"""Names the Python of an environment with vLLM, where no option does."""
LOOK_S = 60
"""An interpreter on a slow network disk takes seconds to start, not a minute."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python that can import vLLM."""

    python: Path
    version: str
    """Of vLLM, as its package states it."""
    packages: Mapping[str, str]
    """Versions of what it computes with."""

    @property
    def title(self) -> str:
        """What reports call it."""
        return f"vLLM {self.version}"


def find_engine(python: str | None = None) -> Environment:
    """The environment named by `python`, else by EAGLEKIT_VLLM_PYTHON, else this one.

    Raises `Refusal` with one line when vLLM is not there.
    """
    named = python or os.environ.get(VARIABLE) or ""
    whose = "--engine-python" if python else VARIABLE
    path = Path(named).expanduser() if named else Path(sys.executable)
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user named, on our own file
            [str(path), str(CHILD / "probe.py")],
            capture_output=True, text=True, timeout=LOOK_S, check=False, stdin=subprocess.DEVNULL,
            env=environment_for(path),
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise Refusal(_missing(f"{named or path.name} cannot be run as Python: {reason}", whose, str(reason))) from None
    try:
        answer = json.loads(done.stdout)
        version, packages = answer["vllm"], answer["packages"]
    except (ValueError, KeyError, TypeError):
        raise Refusal(_missing(f"{named or path.name} does not answer as a Python does", whose, "no answer")) from None
    if version is None:
        where = f"the Python of {whose}" if named else "this Python"
        raise Refusal(_missing(f"vLLM is not installed for {where}", whose, f"Python {answer['python']} without vLLM"))
    return Environment(path, str(version), MappingProxyType({str(k): str(v) for k, v in packages.items()}))


def environment_for(python: Path, *, cpu_threads: bool = False) -> dict[str, str]:
    """The variables that an engine's process gets: no secrets, no paths of another Python, nothing from the network.

    With `cpu_threads` also what keeps vLLM on a CPU from pinning itself to cores that others use.
    """
    kept = without_secrets(os.environ)
    if not _same(python, Path(sys.executable)):
        kept = {name: value for name, value in kept.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    kept |= {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_LOGGING_COLOR": "0"}
    if cpu_threads:
        kept = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CPU_KVCACHE_SPACE": "4"} | kept
    return kept


def _same(one: Path, other: Path) -> bool:
    # Environments link to one interpreter: what counts is the name, not what it leads to.
    return os.path.abspath(one) == os.path.abspath(other)  # noqa: PTH100 - resolve() would follow the link


def _missing(message: str, whose: str, got: str) -> Finding:
    return Finding(
        "engine-missing",
        message,
        place=whose,
        got=got,
        expected="a Python that can import vLLM",
        hint=f"name one with --engine-python PATH or {VARIABLE}, or: pip install 'eaglekit[vllm]'",
    )
