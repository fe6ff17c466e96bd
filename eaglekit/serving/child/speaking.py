"""How a child speaks to the program that started it: JSON lines in a file, and an end when that program is gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
import traceback
from pathlib import Path
from typing import Any

LOOK_EVERY_S = 2.0


class Outcome:
    """The file that the parent reads, a line a piece of news."""

    def __init__(self, path: str) -> None:
        self.stream = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - open as long as the process lives

    def tell(self, kind: str, **news: Any) -> None:
        """One line, at once."""
        self.stream.write(json.dumps({"kind": kind, **news}) + "\n")
        self.stream.flush()

    def failed(self, during: str, error: BaseException, **news: Any) -> None:
        """What an exception says, and the innermost place of vLLM that it came through."""
        frames = traceback.extract_tb(error.__traceback__)
        inner = [frame for frame in frames if "/vllm/" in frame.filename.replace(os.sep, "/")]
        place = ""
        if inner:
            name = "vllm/" + inner[-1].filename.replace(os.sep, "/").rpartition("/vllm/")[2]
            place = f"{name}:{inner[-1].lineno}, {inner[-1].name}"
        self.tell("failed", during=during, type=type(error).__name__, message=str(error), place=place, **news)


def end_with_the_parent(folder: Path | None = None) -> None:
    """End this process and its children soon after the parent has ended, however it did: nobody would stop them.

    `folder` is removed then, which the parent would have done.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY_S)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os.killpg(os.getpgrp(), signal.SIGKILL)

    # The parent makes this process the leader of its group; otherwise others would be hit.
    if os.getpgrp() == os.getpid():
        threading.Thread(target=watch, daemon=True).start()
