"""Asking a real engine: the task as a job or as requests, and what came of it as one kind of thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Source
from eaglekit.dialects.target import Target, text_part
from eaglekit.drafter import Attention, Spec
from eaglekit.engines.recipes import drafter_options
from eaglekit.report import Finding
from eaglekit.serving import endpoint
from eaglekit.serving.counters import Counters
from eaglekit.serving.endpoint import Server
from eaglekit.serving.job import Job, Prompt
from eaglekit.serving.outcome import Answer, News
from eaglekit.serving.rotation import has_latent_attention, plain_rotation
from eaglekit.serving.running import run_job
from eaglekit.serving.wish import Wish
from eaglekit.target.texts import Text
from eaglekit.validate.task import Task

SAME_DRAFTS = "the same drafts as on a GPU"
CONTEXT_STEP = 128
"""The engine's context is rounded up to a multiple: a length that nobody serves would be a test of something else."""


@dataclass(frozen=True)
class Asked:
    """What an engine did with the prompts."""

    title: str
    answers: tuple[Answer, ...]
    counters: Counters | None
    dtype: str
    """Of its arithmetic; empty for a server, which does not tell."""
    boundaries: tuple[int, ...] | None
    """The layers whose states it hands to the drafter; None where it does not tell."""
    unwatched: str
    """Why its drafts could not be seen, only counted; empty when they were."""
    context_length: int | None
    origin: Mapping[str, Any]
    """What the report is bound to."""
    findings: tuple[Finding, ...] = ()


def ask(task: Task, wish: Wish, spec: Spec, texts: Sequence[Text], stop: Sequence[int]) -> Asked:
    """The prompts of `texts` through the engine. Raises `Refusal` when it does not come to an end."""
    prompts = [Prompt(text.identity, text.tokens[: text.prompt_length], _room(task, text)) for text in texts]
    with task.bar(f"decode with {wish.title}", len(prompts), "texts") as tell:
        if isinstance(wish.engine, Server):
            return _ask_server(wish.engine, prompts, lambda answer: tell(1))

        def heard(news: News) -> None:
            tell(int(isinstance(news, Answer)))

        job = job_of(task, wish, spec, prompts, stop)
        done = run_job(job, wish.engine, heard=heard)
    loaded = done.loaded
    findings = (plain_rotation(SAME_DRAFTS),) if loaded.plain_rotation else ()
    origin = {
        "name": "vllm", "version": loaded.version, "torch": loaded.torch, "device": loaded.device,
        "dtype": loaded.dtype, "quantization": loaded.quantization, "arguments": without_folders(loaded.arguments),
    }  # fmt: skip
    return Asked(
        f"vLLM {loaded.version}", done.answers, done.done.counters, loaded.dtype, loaded.boundaries,
        loaded.why or done.done.why, job.max_model_len, origin, findings,
    )  # fmt: skip


def job_of(task: Task, wish: Wish, spec: Spec, prompts: Sequence[Prompt], stop: Sequence[int]) -> Job:
    """The job of a validation: the drafter and the target as they lie there, told to vLLM as the recipe tells it."""
    assert task.target is not None  # noqa: S101 - the command line asks for one
    target, drafter = str(folder(task.target.library.source)), str(folder(task.drafter.source))
    told = drafter_options(spec, engine="vllm", drafter=drafter, target=target, draft_tokens=task.draft_tokens)
    needed = max(len(prompt.tokens) + prompt.max_tokens for prompt in prompts) + task.draft_tokens + 1
    room, known = -(-needed // CONTEXT_STEP) * CONTEXT_STEP, task.target.max_position_embeddings
    return Job(
        target=target,
        drafter=drafter,
        speculative_config={name: value for name, value in told.items() if name not in ("model", "revision")},
        prompts=tuple(prompts),
        stop_token_ids=tuple(stop),
        max_model_len=min(room, known) if known is not None else room,
        dtype=wish.dtype,
        tensor_parallel_size=wish.tensor_parallel_size,
        pipeline_parallel_size=wish.pipeline_parallel_size,
        plain_rotation_on_cpu=spec.attention is Attention.MLA or _is_latent(task.target),
        arguments=wish.arguments,
    )


def without_folders(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with every folder and file of this machine called by its last name: reports are published."""
    return {
        name: Path(value).name if isinstance(value, str) and value.startswith(("/", "~")) else value
        for name, value in arguments.items()
    }


def _is_latent(target: Target) -> bool:
    return has_latent_attention(text_part(target.library.config, target.label)[0])


def folder(source: Source) -> Path:
    """The folder that a source's files lie in, on this machine."""
    config = source.local_path("config.json")
    assert config is not None  # noqa: S101 - validate has its files here before it computes
    return config.parent


def _room(task: Task, text: Text) -> int:
    return task.generate if task.generate is not None else len(text.tokens) - text.prompt_length


def _ask_server(server: Server, prompts: Sequence[Prompt], heard: Any) -> Asked:
    seen = endpoint.observe(server, prompts, heard=heard)
    told = all(answer.accepted is not None for answer in seen.answers)
    why = "a server's drafts cannot be seen" + ("" if told else ", nor how many of each round it accepts")
    # Figures per request are of our requests alone, whoever else asks.
    own = [answer.counters for answer in seen.answers if answer.counters is not None]
    counters = total(own) if len(own) == len(seen.answers) and own else seen.counters
    origin = {"name": "vllm", "version": server.version, "endpoint": True}
    return Asked(server.title, seen.answers, counters, "", None, why, None, origin, seen.findings)


def total(parts: Sequence[Counters]) -> Counters:
    """Counters added up."""
    positions = zip(*(part.accepted_per_position for part in parts), strict=True)
    return Counters(
        sum(part.drafts for part in parts),
        sum(part.draft_tokens for part in parts),
        sum(part.accepted for part in parts),
        tuple(map(sum, positions)),
    )
