"""`run_job`: an engine started, listened to, and gone again, whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from eaglekit.report import Finding, Refusal
from eaglekit.serving.environment import CHILD, Environment, environment_for
from eaglekit.serving.job import Job
from eaglekit.serving.outcome import Answer, Done, Failed, Loaded, News, Unreadable, parse
from eaglekit.serving.words import fit_to_print, last_words, one_line

LOOK_EVERY_S = 0.2
SILENCE_S = 3600.0
"""Longest that an engine may say nothing at all, not even in its log: a terabyte of weights is read with a bar."""
GRACE_S = 10.0
"""What an engine gets to end by itself, before it is ended."""
LOG_TAIL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """What an engine did with a job."""

    loaded: Loaded
    answers: tuple[Answer, ...]
    done: Done


def run_job(
    job: Job,
    environment: Environment,
    *,
    heard: Callable[[News], None] = lambda news: None,
    silence_s: float = SILENCE_S,
) -> Decoded:
    """Send every prompt of a job through a real vLLM. `heard` is told each piece of news as it comes.

    Raises `Refusal` with the engine's own last words when it does not load, or does not come to the end.
    """
    loaded, answers, names = None, [], {job.target: Path(job.target).name, job.drafter: Path(job.drafter).name}
    with started("decode.py", job.as_json(), environment) as child:
        for news in child.news(silence_s):
            heard(news)
            if isinstance(news, Loaded):
                loaded = news
            elif isinstance(news, Answer):
                answers.append(news)
            elif isinstance(news, Failed):
                raise Refusal(_failure(news, child, environment, names))
            elif isinstance(news, Done) and loaded is not None:
                return Decoded(loaded, tuple(answers), news)
        during = "load" if loaded is None else "decode"
        raise Refusal(_failure(Failed(during, "", child.end(), ""), child, environment, names))


@dataclass
class Child:
    """A process of an engine, and what it writes."""

    process: subprocess.Popen[bytes]
    outcome: Path
    log: Path
    silent_for: float = 0.0
    broken: str = ""
    """Why its news could not be read."""

    def news(self, silence_s: float) -> Iterator[News]:
        """Everything it tells, until it has ended, is silent for too long or says what nobody understands."""
        heard_at, size = time.monotonic(), -1
        with self.outcome.open("r", encoding="utf-8", errors="replace") as stream:
            rest = ""
            while True:
                ended = self.process.poll() is not None
                *lines, rest = (rest + stream.read()).split("\n")
                for line in lines:
                    try:
                        yield parse(line)
                    except Unreadable as error:
                        self.broken = str(error)
                        return
                grown = self.log.stat().st_size
                if lines or grown != size:
                    heard_at, size = time.monotonic(), grown
                self.silent_for = time.monotonic() - heard_at
                if ended or self.silent_for > silence_s:
                    return
                time.sleep(LOOK_EVERY_S)

    def end(self) -> str:
        """How it ended, for somebody who has nothing else to go by."""
        code = self.process.poll()
        if self.broken:
            return f"its answer cannot be read: {self.broken}"
        if code is None:
            return f"it said nothing for {self.silent_for:,.0f} seconds"
        if code < 0:
            with suppress(ValueError):
                return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended with code {code}"

    def tail(self) -> str:
        """The end of its log."""
        with self.log.open("rb") as stream:
            stream.seek(max(0, self.log.stat().st_size - LOG_TAIL_BYTES))
            return stream.read().decode(errors="replace")


@contextmanager
def started(script: str, job: Mapping[str, Any], environment: Environment) -> Iterator[Child]:
    """A script of `child/` with a job, in a process group of its own, which is gone when the context is left."""
    with tempfile.TemporaryDirectory(prefix="eaglekit-engine-") as name:
        folder = Path(name)
        asked, outcome, log = folder / "job.json", folder / "outcome.jsonl", folder / "log.txt"
        asked.write_text(json.dumps(job), encoding="utf-8")
        outcome.touch()
        with log.open("wb") as stream:
            process = _start(environment, CHILD / script, asked, outcome, stream)
        try:
            yield Child(process, outcome, log)
        finally:
            stop(process)


def _start(environment: Environment, script: Path, job: Path, outcome: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the interpreter that the user named, on our own file
        [str(environment.python), str(script), str(job), str(outcome)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        # Its workers are children of their own: a group can be ended as a whole.
        start_new_session=True,
        env=environment_for(environment.python, cpu_threads=True),
    )


def stop(process: subprocess.Popen[bytes], *, grace_s: float = GRACE_S) -> None:
    """End a process and everything it started, first with a word, then without."""
    for how, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)):
        with suppress(ProcessLookupError, PermissionError):
            # Also when the leader is gone: its workers may not be.
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)


def words_of(failed: Failed, child: Child, names: Mapping[str, str]) -> str:
    """What an engine that gave up says of it, the cause first, with the paths of `names` called by name."""
    log = last_words(child.tail())
    told = f"{failed.type}: {failed.message}" if failed.type else failed.message
    second_hand = not failed.type or "See root cause above" in failed.message
    words = one_line([log or told] if second_hand else [told])
    if second_hand and log and not failed.type:
        words = one_line([f"{told}; the last it said: {log}"])
    return fit_to_print(words, names)


def _failure(failed: Failed, child: Child, environment: Environment, names: Mapping[str, str]) -> Finding:
    """The finding of an engine that gave up over a drafter and its target."""
    words = words_of(failed, child, names)
    if failed.during == "load":
        return Finding(
            "served-not-loaded",
            f"{environment.title} does not load the drafter with its target: {words}",
            place=fit_to_print(failed.place, names) or environment.title,
            got=failed.type or "ended",
            expected="an engine that serves both",
            hint="eaglekit inspect tells what vLLM makes of the file; eaglekit convert writes one that it reads",
        )
    return Finding(
        "served-broke-off",
        f"{environment.title} loaded both models and gave up over text {failed.identity or 'after the last'}: {words}",
        place=fit_to_print(failed.place, names) or environment.title,
        got=failed.type or "ended",
        expected="an answer to every prompt",
        hint="--limit N leaves later texts out; --engine-arg NAME=VALUE changes how vLLM is started",
    )
