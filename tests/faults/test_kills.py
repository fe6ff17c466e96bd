"""What writes, killed before every system call that writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.local import WRITINGS, trial


@pytest.mark.parametrize("name", WRITINGS)
def test_a_kill_before_any_call_that_writes_leaves_all_or_nothing(name: str, tmp_path: Path) -> None:
    with trial(WRITINGS[name], tmp_path) as tried:
        whole = []
        for at in range(tried.calls):
            assert tried.work.run("kill", tried.words, at=at).code is None
            whole.append(tried.sound())
            tried.again()
        # It gets its name in one call: nothing before it, everything after it.
        assert whole == sorted(whole)
