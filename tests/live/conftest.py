"""Folders of targets, and the engine, for every test of this room."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.live.material import TARGETS, write
from tests.live.serving import Job, Refused, Served, serve

Serve = Callable[[Job], Served | Refused]
Folder = Callable[[str], Path]


@pytest.fixture(scope="session")
def target_folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The folder of a tiny target by its short name."""

    @cache
    def written(name: str) -> Path:
        folder = tmp_path_factory.mktemp("targets") / name
        write(TARGETS[name](), folder)
        return folder

    return written


@pytest.fixture
def engine(tmp_path: Path) -> Serve:
    """Serves one drafter in the real engine."""
    return lambda job: serve(job, tmp_path / "engine.log")


def speculative_config(command: str) -> dict[str, Any]:
    """What the command of a recipe tells vLLM about the drafter."""
    words = shlex.split(command.replace("\\\n", " "))
    config: dict[str, Any] = json.loads(words[words.index("--speculative-config") + 1])
    return config
