"""One run of each engine for all variants, and what the reference says of the same."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKERS = Path(__file__).parent
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "SGLANG_USE_CPU_ENGINE": "1"}


@dataclass(frozen=True)
class Seen:
    """What an engine made of a drafter."""

    found: Any
    """What its worker wrote; None when the engine refused."""
    log: str
    """What the engine said."""

    @property
    def error(self) -> str:
        """The last exception that the engine raised."""
        assert self.found is None, "it was not refused"
        lines = [line for line in self.log.splitlines() if line[:1].isalpha() and ("Error" in line or "Check" in line)]
        return lines[-1] if lines else self.log[-1000:]


def name_of(variant: str) -> str:
    """The folder of a variant."""
    return variant.replace(" ", "-").replace(",", "").replace("'", "")


def run(variable: str, worker: str, job: Mapping[str, Any], folder: Path) -> None:
    """A worker in the environment whose Python `variable` names."""
    file = folder / "job.json"
    file.write_text(json.dumps(job), encoding="utf-8")
    environment = {**os.environ, **ENVIRONMENT, "HF_HOME": str(folder / "hub")}
    environment.pop("PYTHONPATH", None)
    with (folder / "worker.log").open("wb") as log:
        done = subprocess.run(
            [os.environ[variable], str(WORKERS / worker), str(file)],
            stdout=log,
            stderr=log,
            env=environment,
            check=False,
        )
    assert done.returncode == 0, (folder / "worker.log").read_text(errors="replace")[-3000:]


def seen(place: Path) -> Seen:
    """What a worker wrote for one drafter."""
    answers = place.with_suffix(".json")
    found = json.loads(answers.read_text(encoding="utf-8")) if answers.exists() else None
    return Seen(found, place.with_suffix(".log").read_text(encoding="utf-8", errors="replace"))
