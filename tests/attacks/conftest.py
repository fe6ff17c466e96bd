"""Guards for tests whose subject could hang."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

PATIENCE_S = 30


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """A test that waits for ever fails instead."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"nothing happened for {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
