"""vLLM, driven as its users drive it, one process a drafter: what it drafts, or what it says when it refuses.

vLLM is imported once, by the process that runs the tests; each drafter is served by a fork of it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

STEPS = 4
NEW_TOKENS = 20
PROMPTS = tuple(
    tuple(3 + (number * 131 + position * 89 + position * position * 7) % 509 for position in range(length))
    for number, length in enumerate((1, 9, 40))
)
"""Token ids: a text of one token, an ordinary one, one longer than any block of the cache."""
CACHE_BYTES = 1 << 25
PATIENCE_SECONDS = 240
UNTOUCHED = 77.0
"""What every parameter of a drafter holds before its file is read; a value that no fixture has."""

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}
"""One process, one thread, nothing fetched and nothing told."""
_MODULES = (
    "vllm.v1.engine.llm_engine",
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.worker.cpu_model_runner",
    "vllm.v1.executor.uniproc_executor",
    "vllm.v1.spec_decode.eagle",
    "vllm.v1.attention.backends.cpu_attn",
    "vllm.model_executor.model_loader",
    "vllm.model_executor.models.llama_eagle3",
    "vllm.model_executor.models.qwen3_eagle3",
    "vllm.model_executor.models.deepseek_eagle3",
    "vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors",
    "vllm.entrypoints.launchers.cli_args",
    "transformers.models.auto.modeling_auto",
)
"""What every fork needs, so that none has to import it again."""


@dataclass(frozen=True, slots=True)
class Job:
    """A drafter beside its target, and what vLLM is told of it."""

    target: Path
    speculative: Mapping[str, Any]
    """`speculative_config`."""
    prompts: tuple[tuple[int, ...], ...] = PROMPTS
    agree: bool = True
    """Whether the target is made to accept drafts, as random drafters are never right."""
    mla: bool = False
    new_tokens: int = NEW_TOKENS
    stop_token: int | None = None


@dataclass
class Text:
    """What the drafter was given and what it proposed in one text."""

    tokens: dict[int, int] = field(default_factory=dict)
    """Position -> token."""
    states: dict[int, list[float]] = field(default_factory=dict)
    """Position -> captured states, as the drafter got them."""
    lengths: list[int] = field(default_factory=list)
    """Tokens known at the start of each round."""
    drafts: list[list[int]] = field(default_factory=list)
    gaps: list[list[float]] = field(default_factory=list)
    """How far the best logit of each draft was above the next."""
    said: list[int] = field(default_factory=list)
    """Prompt and answer."""


@dataclass
class Served:
    """A drafter that was served."""

    texts: list[Text]
    boundaries: tuple[int, ...]
    """What the target captured."""
    runner: str
    """Name of the class that ran it."""
    drafter: str
    """Name of the drafter's class."""
    untouched: dict[str, int]
    """Parameter of the drafter -> how many of its values nothing was read into."""
    ones: tuple[str, ...]
    """Parameters that hold ones as they did when they were built: norms nothing was read into."""
    counters: dict[str, list[int]]

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Refused:
    """vLLM did not serve: its process died."""

    log: str
    """What it wrote."""

    def __bool__(self) -> bool:
        return False

    @property
    def error(self) -> str:
        """The last exception with its message."""
        lines = self.log.splitlines()
        starts = [number for number, line in enumerate(lines) if line[:1].isalpha() and "Error" in line.split(":")[0]]
        return "\n".join(lines[starts[-1] :]) if starts else self.log[-2000:]


@cache
def import_vllm() -> None:
    """Import all of vLLM that a drafter needs, once for this process and its forks."""
    os.environ |= ENVIRONMENT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("vllm").LLM  # noqa: B018 - its modules come with the first look at a name
        for name in _MODULES:
            importlib.import_module(name)
    importlib.import_module("torch").set_num_threads(1)
    importlib.import_module("gc").freeze()  # else every collection in a fork walks, and copies, what is here


def serve(job: Job, log: Path) -> Served | Refused:
    """Serve one drafter in a fork of this process."""
    import_vllm()
    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a thread that waits for the test runner's messages is no danger to the fork
        process = fork.Process(target=_child, args=(job, log, sending))
        process.start()
    sending.close()
    try:
        assert receiving.poll(PATIENCE_SECONDS), f"vLLM took more than {PATIENCE_SECONDS} s"
        outcome: Served | Refused = receiving.recv()
    except EOFError:
        outcome = Refused(log.read_text(encoding="utf-8", errors="replace"))
    finally:
        process.kill()
        process.join()
    return outcome


def _child(job: Job, log: Path, sending: Connection) -> None:
    warnings.simplefilter("ignore")
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    # The test runner may have put its own files in their place.
    sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1)
    _run(job, sending)


def _answer(served: Served, sending: Connection) -> NoReturn:
    """Hand over what was seen, and end without the engine's own shutdown, which takes as long as all the rest."""
    sending.send(served)
    sending.close()
    os._exit(0)


def _run(job: Job, sending: Connection) -> None:
    from vllm import LLM, SamplingParams

    untouched: dict[str, int] = {}
    ones: list[str] = []
    _watch_loading(untouched, ones)
    # On a CPU the kernel for interleaved pairs of channels rotates queries wrongly; without it vLLM uses its own torch.
    plain_rotation: dict[str, Any] = {"compilation_config": {"custom_ops": ["-rotary_embedding"]}} if job.mla else {}
    llm = LLM(
        model=str(job.target), skip_tokenizer_init=True, dtype="float32", enforce_eager=True, max_model_len=256,
        max_num_seqs=1, max_num_batched_tokens=256, enable_prefix_caching=False, async_scheduling=False, seed=7,
        distributed_executor_backend="uni", disable_log_stats=False, kv_cache_memory_bytes=CACHE_BYTES,
        speculative_config=dict(job.speculative),
        **plain_rotation,
    )  # fmt: skip
    runner = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
    texts: list[Text] = []
    _watch(runner.drafter, texts)
    if job.agree:
        _agree(runner.rejection_sampler)
    stop = {"ignore_eos": True} if job.stop_token is None else {"stop_token_ids": [job.stop_token]}
    parameters = SamplingParams(temperature=0.0, max_tokens=job.new_tokens, detokenize=False, **stop)
    for prompt in job.prompts:
        texts.append(Text())
        [output] = llm.generate({"prompt_token_ids": list(prompt)}, parameters, use_tqdm=False)
        texts[-1].said = [*output.prompt_token_ids, *output.outputs[0].token_ids]
    served = Served(
        texts,
        tuple(sorted(set(getattr(runner.get_model().model, "aux_hidden_state_layers", ())))),
        f"{type(runner).__module__}.{type(runner).__qualname__}",
        type(runner.drafter.model).__name__,
        untouched,
        tuple(ones),
        {
            metric.name: list(getattr(metric, "values", None) or [metric.value])
            for metric in llm.get_metrics()
            if metric.name.startswith("vllm:spec_decode")
        },
    )
    _answer(served, sending)


def _watch_loading(untouched: dict[str, int], ones: list[str]) -> None:
    """Have it noted which values of a drafter's parameters its file did not fill."""
    import torch

    for name in ("llama", "qwen3", "deepseek"):
        module = importlib.import_module(f"vllm.model_executor.models.{name}_eagle3")
        drafter = next(getattr(module, found) for found in vars(module) if found.startswith("Eagle3"))
        drafter.load_weights = _noting(drafter.load_weights, untouched, ones, torch)


def _noting(load: Any, untouched: dict[str, int], ones: list[str], torch: Any) -> Any:
    def noted(model: Any, weights: Any) -> Any:
        built = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        floating = {name for name, values in built.items() if values.is_floating_point()}
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name in floating:
                    parameter.fill_(UNTOUCHED)
            loaded = load(model, weights)
            for name, parameter in model.named_parameters():
                if name not in floating:
                    continue
                left = parameter == UNTOUCHED
                if left.any():
                    untouched[name] = int(left.sum())
                    parameter[left] = built[name][left]
                    if bool((parameter[left] == 1.0).all()):
                        ones.append(name)
        return loaded

    return noted


def _watch(proposer: Any, texts: list[Text]) -> None:
    """Have the proposer's calls written into the last of `texts`."""
    propose, compute_logits = proposer.propose, proposer.model.compute_logits
    best: list[Any] = []

    def watched_logits(states: Any) -> Any:
        logits = compute_logits(states)
        best.append(logits.topk(2, dim=-1).values)
        return logits

    def watched_propose(**given: Any) -> Any:
        best.clear()
        # The call may write into what it is given.
        tokens, positions = given["target_token_ids"].tolist(), given["target_positions"].tolist()
        states, following = given["target_hidden_states"].clone(), int(given["next_token_ids"][0])
        last = given["token_indices_to_sample"]
        last = len(tokens) - 1 if last is None else int(last[0])
        drafts = propose(**given)
        if texts:
            text = texts[-1]
            for position, token, state in zip(positions[: last + 1], tokens, states, strict=False):
                assert text.tokens.setdefault(position, token) == token
                text.states[position] = state.tolist()
            assert text.tokens.setdefault(positions[last] + 1, following) == following
            text.lengths.append(positions[last] + 2)
            text.drafts.append(drafts[0].tolist())
            text.gaps.append([float(row[0] - row[1]) for scores in best for row in scores])
        return drafts

    proposer.propose, proposer.model.compute_logits = watched_propose, watched_logits


def _agree(sampler: Any) -> None:
    """Have the target choose the first few drafts of each round, so that rounds of every length occur."""
    forward, agreed = sampler.forward, cycle((2, 0, 4, 1, 3))

    def agreeing(metadata: Any, draft_probs: Any, logits: Any, sampling: Any) -> Any:
        rows = metadata.target_logits_indices[: next(agreed)].long()
        logits[rows, metadata.draft_token_ids[: len(rows)].long()] = 1e4
        return forward(metadata, draft_probs, logits, sampling)

    sampler.forward = agreeing
