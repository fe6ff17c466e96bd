"""What writes, out of room, out of rights and unable to flush, at every system call that writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.local import WRITINGS, trial

CODES = {"fill": "disk-full", "forbid": "destination-denied", "break": "write-failed"}
"""What the program says when the disk is full, when it may not write, when flushing fails."""


@pytest.mark.parametrize("do", CODES)
@pytest.mark.parametrize("name", WRITINGS)
def test_a_call_that_is_refused_is_told_and_leaves_nothing(name: str, do: str, tmp_path: Path) -> None:
    with trial(WRITINGS[name], tmp_path) as tried:
        for at in range(tried.calls):
            ended = tried.work.run(do, tried.words, at=at)
            if ended.code == 0:
                # Only calls were left that this fault does not touch, or that nothing depends on.
                assert tried.sound()
            else:
                assert (ended.code, ended.codes) == (1, {CODES[do]}), (at, ended)
                assert "Traceback" not in ended.err
                tried.sound()
                # Where nothing may be removed either, the next run clears up.
                assert do == "forbid" or tried.left() == set()
            tried.again()
