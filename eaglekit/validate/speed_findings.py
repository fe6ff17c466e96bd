"""What makes measured speed worth less than it seems: too few prompts or rounds, answers that part or came at once."""

from __future__ import annotations

from collections.abc import Iterator

from eaglekit.report import Finding
from eaglekit.serving.benching import Benched, Load
from eaglekit.serving.benching_request import MOST_RATE
from eaglekit.validate.speed import alike


def findings(load: Load, benched: Benched) -> Iterator[Finding]:
    """Everything that a reader of the figures has to know."""
    yield from few(load)
    yield from once(load)
    yield from _untimed(benched)
    same = alike(benched)
    if same.other:
        yield Finding(
            "bench-answers-differ",
            f"{same.other} of {same.pairs} answers part between the two servers; the first is {same.first}",
            place=same.first,
            got=f"{same.other} answers that part",
            expected="the same greedy answers, up to near ties",
            hint="rates are per token and stand; eaglekit validate --engine vllm tells whether the drafts are right",
        )


def _untimed(benched: Benched) -> Iterator[Finding]:
    replies = [reply for run in benched.runs for reply in run.replies]
    burst = [reply for reply in replies if not reply.timed and len(reply.pieces) > 1]
    if burst:
        yield Finding(
            "bench-at-once",
            f"{len(burst)} of {len(replies)} answers came at once, more than {MOST_RATE:,.0f} tokens a second; the "
            f"first is prompt {burst[0].identity}",
            place=f"prompt {burst[0].identity}",
            got=f"{len(burst[0].tokens)} tokens in {1e3 * (burst[0].last_s - burst[0].first_s):.2f} ms",
            expected="tokens one after the other",
            hint="they are left out of the rates per user; give server and client processors of their own",
        )


def few(load: Load) -> Iterator[Finding]:
    """The finding of users that have no prompt."""
    fewest, category = min((len(prompts), name) for name, prompts in load.prompts.items())
    most = max(load.concurrencies)
    if fewest < most:
        group = f"category {category}" if category else "the file"
        yield Finding(
            "bench-few-prompts",
            f"{group} has {fewest} prompts, and {most} users are to ask at the same time",
            place="--prompts",
            got=f"{fewest} prompts",
            expected=f"several times {most}",
            hint="add prompts, raise --limit, or leave out the high --concurrency",
        )


def once(load: Load) -> Iterator[Finding]:
    """The finding of a spread that nobody saw."""
    if load.repeats == 1:
        yield Finding(
            "bench-once", "everything was asked once, so nothing tells how much the machine itself varies",
            place="--repeats", got="1 round", expected="three or more", hint="--repeats 3",
        )  # fmt: skip


def too_short(load: Load) -> Finding:
    """The finding of answers without a rate."""
    return Finding(
        "bench-too-short",
        "no answer of some server came in more than one piece, so that no token could be timed",
        place="--output-tokens",
        got=f"at most {load.most_output_tokens} tokens each",
        expected="answers of some dozen tokens",
        hint="--output-tokens 256, prompts with longer answers, or --ignore-eos",
    )
