"""vLLM's own server, told what `vllm serve` is told: `python serve.py JOB OUTCOME`, run with vLLM's Python.

JOB holds the words of the command line. The server speaks HTTP; OUTCOME only hears why there is none.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from speaking import Outcome, end_with_the_parent


def main(job_file: str, outcome_file: str) -> int:
    """Serve until somebody ends it."""
    end_with_the_parent()
    words = json.loads(Path(job_file).read_text(encoding="utf-8"))["words"]
    outcome = Outcome(outcome_file)
    try:
        name_the_package(Path(job_file).parent / "metadata")
        from vllm.entrypoints.cli.main import main as vllm

        sys.argv = ["vllm", *words]
        vllm()
    except BaseException as error:
        outcome.failed("load", error)
        raise
    return 0


def name_the_package(folder: Path) -> None:
    """Metadata under the name that vLLM's command line looks its version up by: the wheel for CPUs has another one."""
    try:
        version("vllm")
    except PackageNotFoundError:
        name = next(iter(packages_distributions().get("vllm", ())), None)
        # vLLM tells its builds apart by the ending of this version.
        stated = (version(name) if name is not None else "0") + ("+cpu" if name is not None and "cpu" in name else "")
        written = folder / f"vllm-{stated}.dist-info"
        written.mkdir(parents=True)
        (written / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {stated}\n")
        # For this process and for the ones that it starts.
        sys.path.append(str(folder))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(folder)]))


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
