"""`extracted`: the target's states over texts from a real vLLM, text by text, as files that are gone afterwards."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eaglekit.report import Finding, Refusal
from eaglekit.serving.environment import Environment
from eaglekit.serving.job import OURS, Prompt
from eaglekit.serving.outcome import Answer, Done, Failed, Loaded, States
from eaglekit.serving.running import SILENCE_S, Child, started, words_of

OURS_TOO = OURS | {"kv_transfer_config", "enable_prefix_caching", "max_model_len"}
"""Arguments of vLLM that an extraction states: others would leave out states, or put them elsewhere."""


START = "--engine-arg NAME=VALUE changes how vLLM is started; without --engine the target is run here"
STAGES = "vLLM 0.32 hands out no states over pipeline stages: spread the target with --tensor-parallel-size alone"

TEXTS = "--limit N leaves later texts out; --engine-arg max_num_batched_tokens=512 takes less memory for logits"
EMBEDDINGS = "not every family of vLLM hands out layer 0 (DeepSeek V3 does not); without --engine it is run here"


@dataclass(frozen=True, slots=True)
class Extraction:
    """One target in one engine, and the texts whose states are asked for."""

    target: str
    """A folder."""
    boundaries: tuple[int, ...]
    """Ascending boundary indices, which are vLLM's own count of layers here."""
    texts: tuple[Prompt, ...]
    """With `max_tokens` 0 as they are; otherwise the target answers first, and the answer is part of the text."""
    stop_token_ids: tuple[int, ...]
    max_model_len: int
    dtype: str | None = None
    """None: float32 on a CPU, the engine's own choice on a GPU."""
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    plain_rotation_on_cpu: bool = False
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """More of vLLM's own arguments; none is one of `OURS_TOO`."""

    def __post_init__(self) -> None:
        if taken := OURS_TOO & set(self.arguments):
            raise ValueError(f"{', '.join(sorted(taken))} cannot be given: the job states it")

    def as_json(self) -> dict[str, Any]:
        """The document that the engine's process reads."""
        layers = {"eagle_aux_hidden_state_layer_ids": list(self.boundaries)}
        return {
            "target": self.target,
            "drafter": None,
            "speculative_config": {
                "method": "extract_hidden_states",
                "num_speculative_tokens": 1,
                "draft_model_config": {"hf_config": layers},
            },
            "texts": [
                {"identity": one.identity, "tokens": list(one.tokens), "max_tokens": one.max_tokens}
                for one in self.texts
            ],
            "stop_token_ids": list(self.stop_token_ids),
            "max_model_len": self.max_model_len,
            "dtype": self.dtype,
            "tensor_parallel_size": self.tensor_parallel_size,
            "pipeline_parallel_size": self.pipeline_parallel_size,
            "plain_rotation_on_cpu": self.plain_rotation_on_cpu,
            "arguments": dict(self.arguments),
        }


@dataclass(frozen=True, slots=True)
class StatesFile:
    """The states over one text, as vLLM's connector writes them."""

    identity: str
    path: Path
    """Safetensors with `hidden_states` [n, B, G] and `token_ids` [n]; gone when the next piece is asked for."""
    argmax: tuple[int, ...]
    """The target's most likely next token after each of the n tokens."""


def extracted(
    job: Extraction, environment: Environment, *, silence_s: float = SILENCE_S
) -> Generator[Loaded | Answer | StatesFile, None, None]:
    """What a real vLLM gives: once that it is loaded, answers where they were asked for, then states in texts' order.

    The engine and its files are gone when the iterator is closed. Raises `Refusal` with the engine's own last words
    when it does not load, or does not come to the end.
    """
    loaded = False
    with started("extract.py", job.as_json(), environment) as child:
        folder = child.outcome.parent / "states"
        for news in child.news(silence_s):
            if isinstance(news, Failed):
                raise Refusal(_failure(news, child, environment, job))
            if isinstance(news, Done):
                return
            if isinstance(news, States):
                path = folder / news.file
                yield StatesFile(news.identity, path, news.argmax)
                # The engine waits with the next text until this one is taken.
                path.unlink(missing_ok=True)
            else:
                loaded = loaded or isinstance(news, Loaded)
                yield news
        failed = Failed("decode" if loaded else "load", "", child.end(), "")
        raise Refusal(_failure(failed, child, environment, job))


def _failure(failed: Failed, child: Child, environment: Environment, job: Extraction) -> Finding:
    words = words_of(failed, child, {job.target: Path(job.target).name})
    place = failed.place or environment.title
    if failed.during == "load":
        return Finding(
            "engine-not-loaded",
            f"{environment.title} does not load the target with its states handed out: {words}",
            place=place,
            got=failed.type or "ended",
            expected="an engine that runs the target and hands out its states",
            hint=STAGES if job.pipeline_parallel_size > 1 else START,
        )
    return Finding(
        "engine-broke-off",
        f"{environment.title} loaded the target and gave up over text {failed.identity or 'after the last'}: {words}",
        place=place,
        got=failed.type or "ended",
        expected="states of every text",
        hint=EMBEDDINGS if 0 in job.boundaries else TEXTS,
    )
