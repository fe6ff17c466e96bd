"""Runs the command line again and again, each time in a fork of a process that has everything imported, with a fault.

Started by `tests.faults.work`. One JSON request a line on stdin, one JSON answer a line on stdout.
"""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.calls import SYNC, needs_rights, needs_room
from tests.faults.tracer import Answer, Call, Do, Run, forked, trace


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(_do(request)) + "\n")
        answers.flush()


def _do(request: dict[str, Any]) -> dict[str, Any]:
    words, out = request["words"], Path(request["out"])
    if request["do"] == "warm":
        code = _run(words, out)
        if "huggingface_hub" in sys.modules:
            from huggingface_hub import close_session

            # A fork must not speak on the connection of another.
            close_session()
        return {"code": code, "threads": threading.active_count()}

    def work() -> int:
        return _run(words, out)

    if request["do"] == "kill after":
        return _killed_after(work, request["seconds"])
    begun = time.monotonic()
    run = trace(work, _answers(request))
    return {
        "code": run.code,
        "calls": [(call.name, call.path) for call in run.calls],
        "seconds": time.monotonic() - begun,
    }


def _answers(request: dict[str, Any]) -> Callable[[Call], Answer]:
    """What is answered to the calls below `root`, or to the server, from the `at`th on."""
    root, at, do = request["root"] + os.sep, request.get("at", 0), request["do"]
    counted = {"index": -1}

    def answer(call: Call) -> Answer:
        if call.path != "socket" and not call.path.startswith(root):
            return None
        counted["index"] += 1
        if counted["index"] < at:
            return Do.GO_ON
        return FAULTS[do](call)

    return answer


FAULTS: dict[str, Callable[[Call], Answer]] = {
    "watch": lambda call: Do.GO_ON,
    "kill": lambda call: Do.KILL,
    "fill": lambda call: errno.ENOSPC if needs_room(call.number) and call.path != "socket" else Do.GO_ON,
    "forbid": lambda call: errno.EACCES if needs_rights(call.number) else Do.GO_ON,
    "break": lambda call: errno.EIO if call.number in SYNC else Do.GO_ON,
}


def _killed_after(work: Callable[[], int], seconds: float) -> dict[str, Any]:
    child = forked(work, traced=False)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)  # not waited for yet: the number is still its own
    _, status = os.waitpid(child, 0)
    return {"code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None}


def _run(words: list[str], out: Path) -> int:
    """The command line, as `eaglekit` runs it; its exit code."""
    from eaglekit.cli.main import main as program

    sys.argv = ["eaglekit", *words]
    with out.open("w", encoding="utf-8") as stream:
        sys.stdout = stream
        sys.stderr = io.TextIOWrapper(out.with_suffix(".err").open("wb"))
        try:
            program()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1
        finally:
            sys.stderr.flush()
    return 0


__all__ = ["Run", "main"]

if __name__ == "__main__":
    main()
