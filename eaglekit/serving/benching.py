"""How a drafter's speed is measured: the same load on two servers, one with it and one without, round after round.

A load is a list of prompts for each category. At concurrency c there are c users; each takes the next prompt of the
list once the answer to its last one has ended. Categories follow each other, so that figures and counters are of one
kind of text. Sampling is greedy: both servers answer the same, and the texts that are timed are the same.
"""

from __future__ import annotations

import queue
import resource
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from eaglekit.report import Finding, Refusal
from eaglekit.serving.address import ANSWER_S, silent
from eaglekit.serving.benching_request import PATH, Reply, request
from eaglekit.serving.counters import Counters
from eaglekit.serving.endpoint import Server, between, counted, others, settled
from eaglekit.serving.job import Prompt

SPECULATING, PLAIN = "speculating", "plain"
SIDES = (SPECULATING, PLAIN)
HEAR_EVERY_S = 0.5
OTHER_FILES = 64
"""Open files of this program that are no user's connection."""


@dataclass(frozen=True, slots=True)
class Load:
    """What both servers are asked."""

    prompts: Mapping[str, tuple[Prompt, ...]]
    """By category, in the order of the file; the empty name for prompts without one."""
    concurrencies: tuple[int, ...]
    repeats: int
    """Rounds; each asks everything of both servers."""
    ignore_end: bool = False
    """Whether answers go on behind the token that ends them, up to the same length."""

    @property
    def requests(self) -> int:
        """All that are measured; those that warm up come on top."""
        return sum(map(len, self.prompts.values())) * len(self.concurrencies) * self.repeats * len(SIDES)

    @property
    def most_output_tokens(self) -> int:
        """Of one answer."""
        return max(prompt.max_tokens for prompts in self.prompts.values() for prompt in prompts)


@dataclass(frozen=True, slots=True)
class Run:
    """One category at one concurrency, asked of one server once."""

    side: str
    repeat: int
    concurrency: int
    category: str
    replies: tuple[Reply, ...]
    """In the order of the prompts."""
    wall_s: float
    """From the first request to the end of the last answer."""
    counters: Counters | None
    """What the server counted meanwhile; None where it does not speculate."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Rounds that one server does without a break."""

    side: str
    repeats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Benched:
    """Everything that was measured."""

    runs: tuple[Run, ...]
    servers: Mapping[str, Server]
    """By side."""
    findings: tuple[Finding, ...]


Open = Callable[[str], AbstractContextManager[Server]]
"""Side -> a server that is there inside."""
Heard = Callable[[int], None]


def visits(repeats: int) -> tuple[Visit, ...]:
    """Who is asked when: each round both, and whoever came last in a round comes first in the next.

    So a machine that grows slower hits both alike, and a server stays up over two rounds.
    """
    made: list[Visit] = []
    for repeat in range(repeats):
        for side in SIDES if repeat % 2 == 0 else SIDES[::-1]:
            if made and made[-1].side == side:
                made[-1] = Visit(side, (*made[-1].repeats, repeat))
            else:
                made.append(Visit(side, (repeat,)))
    return tuple(made)


def bench(load: Load, open_side: Open, heard: Heard = lambda done: None) -> Benched:
    """Every round of a load. `heard` is told of requests as they end. Raises `Refusal` when a server fails."""
    runs: list[Run] = []
    servers: dict[str, Server] = {}
    findings: list[Finding] = []
    for visit in visits(load.repeats):
        with open_side(visit.side) as server:
            servers[visit.side] = server
            if visit.side == SPECULATING and not server.drafts:
                raise Refusal(_not_drafting("the server with the drafter"))
            warm_up(server, load)
            for repeat in visit.repeats:
                for concurrency in load.concurrencies:
                    for category, prompts in load.prompts.items():
                        run, told = measure(server, visit.side, repeat, concurrency, category, prompts, load, heard)
                        runs.append(run)
                        findings += told
    # The same is the matter with every run; one of them is enough.
    first = {finding.code: finding for finding in reversed(findings)}
    return Benched(tuple(runs), servers, tuple(first.values()))


def warm_up(server: Server, load: Load) -> None:
    """As many requests as each concurrency has users, unmeasured: kernels are compiled at their first use.

    The server has counted them when this is over, or they would be taken for somebody else's.
    """
    prompts = [prompt for group in load.prompts.values() for prompt in group]
    finished, asked = counted(server).finished, 0
    for concurrency in load.concurrencies:
        asked += len(ask_all(server, prompts[:concurrency], concurrency, ignore_end=load.ignore_end))
    settled(server, None if finished is None else finished + asked)


def measure(
    server: Server, side: str, repeat: int, concurrency: int, category: str, prompts: Sequence[Prompt], load: Load,
    heard: Heard = lambda done: None,
) -> tuple[Run, tuple[Finding, ...]]:  # fmt: skip
    """One run, with what the server counted, and the finding of requests that were not ours."""
    before = counted(server)
    start = time.perf_counter()
    replies = ask_all(server, prompts, concurrency, ignore_end=load.ignore_end, heard=heard)
    wall_s = time.perf_counter() - start
    after = settled(server, None if before.finished is None else before.finished + len(prompts))
    counters, findings = (
        between(before, after, prompts) if server.drafts else (None, (*others(before, after, prompts),))
    )
    return Run(side, repeat, concurrency, category, tuple(replies), wall_s, counters), findings


def ask_all(
    server: Server,
    prompts: Sequence[Prompt],
    concurrency: int,
    *,
    ignore_end: bool,
    heard: Heard = lambda done: None,
    patience_s: float = ANSWER_S,
) -> list[Reply]:
    """Every prompt by one of `concurrency` users; replies in the order of the prompts. Raises the first `Refusal`.

    That no answer ends for `patience_s` is one too: a server can keep a connection busy without answering.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    ended: queue.SimpleQueue[tuple[int, Reply | Refusal]] = queue.SimpleQueue()
    for place in range(len(prompts)):
        waiting.put(place)
    stopped = threading.Event()
    salt = uuid.uuid4().hex

    def user() -> None:
        while not stopped.is_set():
            try:
                place = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                ended.put((place, request(server, prompts[place], ignore_end=ignore_end, salt=f"{salt}-{place}")))
            except Refusal as refusal:
                ended.put((place, refusal))
                return

    # Nobody waits for them after an interruption: the server that they speak to is ended.
    users = [threading.Thread(target=user, daemon=True) for _ in range(min(concurrency, len(prompts)))]
    replies: dict[int, Reply] = {}
    try:
        _start(users)
        heard_at = time.monotonic()
        while len(replies) < len(prompts):
            try:
                place, said = ended.get(timeout=HEAR_EVERY_S)
            except queue.Empty:
                if time.monotonic() - heard_at > patience_s:
                    raise Refusal(silent(PATH, f"no answer has ended for {patience_s:,.0f} seconds")) from None
                if any(one.is_alive() for one in users) or not ended.empty():
                    continue
                raise RuntimeError("every user has gone, and not every prompt was answered") from None
            if isinstance(said, Refusal):
                raise said
            heard_at = time.monotonic()
            replies[place] = said
            heard(1)
    finally:
        stopped.set()
    return [replies[place] for place in range(len(prompts))]


def _start(users: Sequence[threading.Thread]) -> None:
    """Start every user. Raises `Refusal` for more of them than this machine lets one program have."""
    needed, (now, most) = len(users) + OTHER_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)
    if now not in (resource.RLIM_INFINITY, max(now, needed)):
        if most not in (resource.RLIM_INFINITY, max(most, needed)):
            raise Refusal(_too_many(users, f"ulimit -n is {most}"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
    try:
        for one in users:
            one.start()
    except RuntimeError as error:
        raise Refusal(_too_many(users, str(error))) from None


def _too_many(users: Sequence[object], why: str) -> Finding:
    return Finding(
        "bench-users",
        f"this machine does not let one program be {len(users)} users: {why}",
        place="--concurrency",
        got=why,
        expected=f"{len(users)} threads, each with a connection",
        hint="a lower --concurrency, or a higher limit: ulimit -n, -u and -v",
    )


def _not_drafting(what: str) -> Finding:
    return Finding(
        "endpoint-not-drafting",
        f"{what} counts no drafts",
        place=what.removeprefix("the server of "),
        got="no speculation",
        expected="a vLLM server that was started with --speculative-config",
        hint="eaglekit recipe prints the command that starts it",
    )


def refuse_unlike(speculating: Server, plain: Server) -> tuple[Finding, ...]:
    """What makes two servers that run already a poor pair. Raises `Refusal` when nothing could be compared."""
    if not speculating.drafts:
        raise Refusal(_not_drafting("the server of --endpoint"))
    if not plain.drafts:
        return ()
    return (
        Finding(
            "bench-baseline-drafts",
            f"the server of --baseline-endpoint speculates too, with {plain.draft_tokens} draft tokens",
            place="--baseline-endpoint",
            got="a server with a drafter",
            expected="the target alone",
            hint="the ratio is then between two drafters; start it without --speculative-config for the speed-up",
        ),
    )
