"""One converted and validated folder for all tests of pushing, and a Hub for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub import Hub
from tests.hub.published import validated
from tests.hub.pushes import TOKEN, Pushes, copied, publish_target


@pytest.fixture(scope="session")
def published_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return validated(tmp_path_factory.mktemp("published"))


@pytest.fixture
def pushes(tmp_path: Path, published_folder: Path) -> Iterator[Pushes]:
    """The account `publisher`, who may write in acme, a folder that may be changed, and its target on the Hub."""
    with Hub(tmp_path / "storage") as hub:
        hub.account("publisher", TOKEN, organisations=("acme",))
        publish_target(hub)
        yield Pushes(hub, copied(published_folder, tmp_path / "drafter"), tmp_path / "home")
