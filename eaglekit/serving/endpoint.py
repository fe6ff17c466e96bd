"""A server that already runs: its counters before and after our prompts, and its answers to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eaglekit.report import Finding, Refusal
from eaglekit.serving.address import Address, parse_address, parsed, unusable, without_key
from eaglekit.serving.counters import Counters
from eaglekit.serving.job import Prompt
from eaglekit.serving.outcome import Answer
from eaglekit.serving.prometheus import Scrape, scrape

SETTLE_S = 10.0
"""Counters are written after the answer has left; longest that this is waited for."""
SETTLE_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Server:
    """A vLLM server."""

    address: Address
    version: str
    """Of vLLM; `unknown` where the server does not tell."""
    model: str
    """The name that requests call the target by."""
    draft_tokens: int
    drafts: bool = True
    """Whether it speculates."""

    @property
    def title(self) -> str:
        """What reports call it; no address, because reports are published."""
        return f"vLLM {self.version}" if self.version != "unknown" else "a vLLM server"


@dataclass(frozen=True, slots=True)
class Observed:
    """What a server did with our prompts."""

    answers: tuple[Answer, ...]
    counters: Counters
    """Of the whole time; of ours alone only where nobody else asked."""
    findings: tuple[Finding, ...]


def look(url: str) -> Server:
    """The server at `url`. Raises `Refusal` when there is none, or it does not draft."""
    server = meet(url)
    if not server.drafts:
        raise Refusal(_not_drafting())
    return server


def meet(url: str) -> Server:
    """The server at `url`, whether it drafts or not. Raises `Refusal` when there is none."""
    address = parse_address(url)
    listed = parsed(address.get("/v1/models"), "/v1/models")
    names = [one.get("id") for one in listed.get("data", []) if isinstance(one, Mapping)] if _is_list(listed) else []
    model = next((name for name in names if isinstance(name, str) and name), None)
    if model is None:
        raise unusable("/v1/models", "a list without a model", "the name of the target")
    now = scrape(address.get("/metrics").decode(errors="replace"), model)
    positions = 0 if now.counters is None else len(now.counters.accepted_per_position)
    return Server(address, _version(address), model, positions, drafts=now.counters is not None)


def observe(
    server: Server, prompts: Sequence[Prompt], *, heard: Callable[[Answer], None] = lambda answer: None
) -> Observed:
    """Every prompt through the server, one after the other, greedily. Raises `Refusal` when it does not answer."""
    before = counted(server)
    answers = []
    for prompt in prompts:
        answers.append(_answer(server, prompt))
        heard(answers[-1])
    expected = None if before.finished is None else before.finished + len(prompts)
    after = settled(server, expected)
    return Observed(tuple(answers), *between(before, after, prompts))


def _answer(server: Server, prompt: Prompt) -> Answer:
    path = "/v1/completions"
    document = server.address.post(
        path,
        {
            "model": server.model,
            "prompt": list(prompt.tokens),
            "max_tokens": prompt.max_tokens,
            "temperature": 0,
            "return_token_ids": True,
        },
    )
    try:
        [choice] = document["choices"]
        tokens, reason = choice.get("token_ids"), choice.get("finish_reason")
    except (TypeError, KeyError, ValueError, AttributeError):
        raise unusable(path, "JSON without a completion", "one completion") from None
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        raise unusable(path, "a completion without its token ids", "token_ids, which vLLM gives from 0.10.2 on")
    steps = _steps(document, server.draft_tokens)
    return Answer(prompt.identity, tuple(tokens), str(reason or ""), None, None, steps[0], steps[1])


def _steps(document: Mapping[str, Any], draft_tokens: int) -> tuple[tuple[int, ...] | None, Counters | None]:
    """What the server says of this request: accepted drafts round by round, and in all; None where it does not."""
    try:
        figures = document["metrics"]["speculative_decoding"]
        histogram = [int(count) for count in figures["acceptance_histogram"]]
        told = figures.get("per_step_accepted")
        rounds = None if told is None else tuple(int(accepted) for accepted in told)
        proposed = int(figures["num_draft_tokens"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None, None
    if len(histogram) != draft_tokens + 1:
        return None, None
    positions = tuple(sum(histogram[place:]) for place in range(1, draft_tokens + 1))
    return rounds, Counters(sum(histogram), proposed, sum(positions), positions)


def between(before: Scrape, after: Scrape, prompts: Sequence[Prompt]) -> tuple[Counters, tuple[Finding, ...]]:
    """What was counted, and whether it was ours alone."""
    if before.counters is None or after.counters is None:
        raise Refusal(_not_drafting())
    same = len(before.counters.accepted_per_position) == len(after.counters.accepted_per_position)
    if not same or before.created != after.created:
        raise Refusal(_restarted())
    counted = after.counters - before.counters
    if min(counted.drafts, counted.draft_tokens, counted.accepted, *counted.accepted_per_position) < 0:
        raise Refusal(_restarted())
    return counted, tuple(others(before, after, prompts))


def others(before: Scrape, after: Scrape, prompts: Sequence[Prompt]) -> Iterator[Finding]:
    """The finding of requests that were not ours, as far as the counters show them."""
    told = []
    if before.running:
        told.append(f"{before.running} requests were under way when ours began")
    if before.finished is None or after.finished is None:
        told.append("it does not tell how many requests it finished, so that others could not be seen")
    elif (finished := after.finished - before.finished) != len(prompts):
        told.append(f"it finished {finished} requests, {len(prompts)} of them ours")
    if before.prompt_tokens is not None and after.prompt_tokens is not None:
        read, ours = after.prompt_tokens - before.prompt_tokens, sum(len(prompt.tokens) for prompt in prompts)
        if read > ours:
            told.append(f"it read {read:,} tokens of prompts, {ours:,} of them ours")
    if after.running:
        told.append(f"{after.running} requests were under way when ours had ended")
    if told:
        yield Finding(
            "endpoint-other-traffic",
            f"the server's counters are not of these prompts alone: {'; '.join(told)}",
            place="--endpoint",
            got=told[0],
            expected="no requests but these",
            hint="measure while nobody else uses the server",
        )


def settled(server: Server, finished: int | None) -> Scrape:
    """The counters, once they know of `finished` requests and stay as they are, or after a while.

    That they stay matters where somebody else's requests may be what was counted.
    """
    deadline = time.monotonic() + SETTLE_S
    known: Scrape | None = None
    while True:
        now = counted(server)
        enough = finished is None or (now.finished or 0) >= finished
        if (enough and now == known) or time.monotonic() > deadline:
            return now
        known = now
        time.sleep(SETTLE_EVERY_S)


def counted(server: Server) -> Scrape:
    """The counters as they stand. Raises `Refusal`."""
    return scrape(server.address.get("/metrics").decode(errors="replace"), server.model)


def _version(address: Address) -> str:
    try:
        answer = parsed(address.get("/version"), "/version")
    except Refusal:
        return "unknown"
    stated = answer.get("version") if isinstance(answer, Mapping) else None
    return without_key(stated)[:64] if isinstance(stated, str) and stated.isprintable() and stated else "unknown"


def _is_list(document: Any) -> bool:
    return isinstance(document, Mapping) and isinstance(document.get("data", []), list)


def _not_drafting() -> Finding:
    return Finding(
        "endpoint-not-drafting",
        "the server has no counters of speculative decoding",
        place="--endpoint",
        got="/metrics without vllm:spec_decode_num_drafts_total",
        expected="a vLLM server that was started with --speculative-config",
        hint="eaglekit recipe prints the command that starts it",
    )


def _restarted() -> Finding:
    return Finding(
        "endpoint-restarted",
        "the server was started anew, or another one answers in turn, while it was measured",
        place="--endpoint",
        got="counters that went back",
        expected="the same server from beginning to end",
        hint="measure one server, not what stands in front of several",
    )


def for_draft_tokens(server: Server, draft_tokens: int) -> Server:
    """The server, where it drafts as many tokens as are asked for. Raises `Refusal` otherwise."""
    if server.draft_tokens != draft_tokens:
        raise Refusal(
            Finding(
                "endpoint-draft-tokens",
                f"the server drafts {server.draft_tokens} tokens a round, and {draft_tokens} were asked for",
                place="--endpoint",
                got=str(server.draft_tokens),
                expected=str(draft_tokens),
                hint=f"add --draft-tokens {server.draft_tokens}",
            )
        )
    return replace(server)
