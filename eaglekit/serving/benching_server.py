"""A vLLM server of our own: started with the words of its command line, ready inside, gone outside."""

from __future__ import annotations

import json
import os
import shlex
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from eaglekit.report import Finding, Refusal
from eaglekit.serving.endpoint import Server, meet
from eaglekit.serving.environment import Environment
from eaglekit.serving.running import SILENCE_S, Child, started
from eaglekit.serving.words import fit_to_print, last_words, one_line

LOOK_EVERY_S = 0.3
HEALTH_S = 5.0
GONE_S = 60.0
"""Longest that the processes of a server may take to leave: the next one needs their memory."""
PROGRAM = ("vllm", "serve")
BOUND_TO = "127.0.0.1"
OURS = frozenset({
    "model", "speculative_config", "tensor_parallel_size", "pipeline_parallel_size", "host", "port", "uds", "api_key",
    "disable_log_stats", "served_model_name", "headless", "config",
})  # fmt: skip
"""Arguments of vLLM that are stated here, or without which nothing could be measured."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a server is started with."""

    target: str
    """A folder or a Hub id."""
    arguments: Mapping[str, Any]
    """vLLM's own arguments by name; True and False are switches, lists several words, objects JSON."""
    speculative_config: Mapping[str, Any] | None = None
    """What the recipe tells vLLM about the drafter; None for the target alone."""
    target_revision: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words behind `vllm`."""
        drafter: list[str] = []
        if self.speculative_config is not None:
            drafter = ["--speculative-config", json.dumps(self.speculative_config, ensure_ascii=False)]
        told = [word for name, value in self.arguments.items() for word in _words(name, value)]
        revision = ["--revision", self.target_revision] if self.target_revision is not None else []
        return ("serve", self.target, *revision, *drafter, *told)

    @property
    def text(self) -> str:
        """The command, as it can be pasted."""
        return shlex.join((PROGRAM[0], *self.words))


def _words(name: str, value: Any) -> Sequence[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, list):
        return [f"--{flag}", *(one if isinstance(one, str) else json.dumps(one) for one in value)]
    return [f"--{flag}", value if isinstance(value, str) else json.dumps(value)]


@contextmanager
def running(command: Command, environment: Environment, what: str, *, silence_s: float = SILENCE_S) -> Iterator[Server]:
    """A server, once it answers. Raises `Refusal` with its own last words when it does not come to that, or ends.

    `what` says in findings which of the servers it is.
    """
    names = {command.target: Path(command.target).name}
    if command.speculative_config is not None:
        drafter = str(command.speculative_config["model"])
        names[drafter] = Path(drafter).name
    child = None
    try:
        with (
            _own_port() as port,
            started("serve.py", {"words": [*command.words, *_at(port)]}, environment) as child,
        ):
            _wait(child, port, environment, what, names, silence_s)
            try:
                yield meet(f"http://{BOUND_TO}:{port}")
            except Refusal as refusal:
                raise Refusal(_broke_off(refusal, child, environment, what, names)) from None
    finally:
        if child is not None:
            _wait_until_gone(child.process.pid)


def _wait(
    child: Child, port: int, environment: Environment, what: str, names: Mapping[str, str], silence_s: float
) -> None:
    heard_at, size = time.monotonic(), -1
    while not _is_ready(port):
        grown = child.log.stat().st_size
        if grown != size:
            heard_at, size = time.monotonic(), grown
        child.silent_for = time.monotonic() - heard_at
        if child.process.poll() is not None or child.silent_for > silence_s:
            raise Refusal(_not_started(child, environment, what, names))
        time.sleep(LOOK_EVERY_S)
    if child.process.poll() is not None:
        # Somebody else answers there.
        raise Refusal(_not_started(child, environment, what, names))


def _is_ready(port: int) -> bool:
    connection = HTTPConnection(BOUND_TO, port, timeout=HEALTH_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def _own_port() -> Iterator[int]:
    """A free port that nobody else is given inside, such as a second bench: two vLLMs would share it unasked.

    The server can still take it: it asks for the port with the same options, and this socket does not listen.
    """
    with socket.socket() as held:
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            held.setsockopt(socket.SOL_SOCKET, option, 1)
        held.bind((BOUND_TO, 0))
        port: int = held.getsockname()[1]
        yield port


def _at(port: int) -> Sequence[str]:
    return ("--host", BOUND_TO, "--port", str(port))


def _wait_until_gone(group: int) -> None:
    """Wait for the last process of a server: one that still leaves holds memory that the next server needs."""
    deadline = time.monotonic() + GONE_S
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return
        time.sleep(LOOK_EVERY_S)


def _not_started(child: Child, environment: Environment, what: str, names: Mapping[str, str]) -> Finding:
    log = last_words(child.tail())
    words = fit_to_print(one_line([f"{child.end()}; the last it said: {log}" if log else child.end()]), names)
    return Finding(
        "bench-not-started",
        f"{environment.title} does not come up as {what}: {words}",
        place=what,
        got="no server",
        expected="a server that answers",
        hint="--dry-run prints the command, to be tried by itself; --engine-arg NAME=VALUE changes how it is started",
    )


def _broke_off(
    refusal: Refusal, child: Child, environment: Environment, what: str, names: Mapping[str, str]
) -> Finding:
    """What went wrong with the requests, and what the server said of it."""
    first = refusal.findings[0]
    ended = child.process.poll() is not None
    log = last_words(child.tail())
    own = f"; {child.end()}, and said last: {log}" if ended and log else ""
    return Finding(
        "bench-broke-off",
        fit_to_print(one_line([f"{environment.title} came up as {what} and failed: {first.message}{own}"]), names),
        place=what,
        got=first.got,
        expected="an answer to every request",
        hint="prompts and answers must fit its context: --engine-arg max_model_len=N, --output-tokens N"
        if not ended
        else "--engine-arg NAME=VALUE changes how it is started",
    )
