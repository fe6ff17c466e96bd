"""What writes, killed at random moments."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.local import WRITINGS, trial
from tests.faults.work import remove

MOMENTS = 200


@pytest.mark.parametrize("name", WRITINGS)
def test_a_kill_at_any_moment_leaves_all_or_nothing(name: str, tmp_path: Path) -> None:
    moments = random.Random(name)
    with trial(WRITINGS[name], tmp_path) as tried:
        for _ in range(MOMENTS):
            tried.work.run("kill after", tried.words, seconds=moments.uniform(0, tried.seconds))
            if tried.sound():
                remove(tried.destination)
        tried.again()
