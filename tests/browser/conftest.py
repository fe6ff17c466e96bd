"""One browser for all looks; the screenshots stay in a folder that is told at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Browser

SCREENSHOTS = Path(__file__).resolve().parents[2] / ".screenshots"
MADE = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def screenshots(request: pytest.FixtureRequest) -> Path:
    """Where pictures of the pages are left for people."""
    SCREENSHOTS.mkdir(exist_ok=True)
    request.config.stash[MADE] = True
    return SCREENSHOTS


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A Chromium."""
    with Browser(tmp_path_factory.mktemp("chromium")) as started:
        yield started


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell where the pictures are."""
    if MADE in config.stash:
        terminalreporter.write_line(f"\nscreenshots and prints: {SCREENSHOTS}")
