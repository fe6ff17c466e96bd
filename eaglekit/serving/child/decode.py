"""Prompts through a real vLLM, one request at a time: `python decode.py JOB OUTCOME`, run with vLLM's Python.

JOB is what `eaglekit.serving.job` writes, OUTCOME a file for JSON lines that `eaglekit.serving.outcome` reads.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from speaking import Outcome, end_with_the_parent

EACH_ROUND = "per_request_spec_decode_metrics"
PREFIX = "vllm:spec_decode_"


def main(job_file: str, outcome_file: str) -> int:
    """Load, decode, tell."""
    end_with_the_parent()
    job, outcome = json.loads(Path(job_file).read_text(encoding="utf-8")), Outcome(outcome_file)
    alone = job["tensor_parallel_size"] * job["pipeline_parallel_size"] == 1
    if alone:
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    try:
        engine, arguments, facts = load(job, alone)
        watch, why = watched(engine, job["best"]) if alone else (None, "the engine spreads over several processes")
        outcome.tell("loaded", arguments=arguments, watched=watch is not None, why=why, **facts)
    except BaseException as error:
        outcome.failed("load", error)
        raise
    for prompt in job["prompts"]:
        try:
            decode(engine, prompt, job["stop_token_ids"], watch, outcome)
        except BaseException as error:
            outcome.failed("decode", error, identity=prompt["identity"])
            raise
    outcome.tell("done", counters=counters(engine), why=watch.why if watch is not None else why)
    return 0


def load(job: dict[str, Any], alone: bool) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The engine, everything it was told but the two paths, and what it came to of itself."""
    import torch
    import vllm
    from vllm import LLM
    from vllm.engine.arg_utils import EngineArgs
    from vllm.platforms import current_platform

    cpu = current_platform.is_cpu()
    arguments: dict[str, Any] = {
        "skip_tokenizer_init": True,
        "max_model_len": job["max_model_len"],
        "max_num_seqs": 1,
        "enable_prefix_caching": False,
        "async_scheduling": False,
        "disable_log_stats": False,
        "seed": 0,
    }
    if alone:
        arguments["distributed_executor_backend"] = "uni"
    else:
        arguments["tensor_parallel_size"] = job["tensor_parallel_size"]
        arguments["pipeline_parallel_size"] = job["pipeline_parallel_size"]
        arguments["distributed_executor_backend"] = "mp"
    if EACH_ROUND in EngineArgs.__dataclass_fields__:
        arguments[EACH_ROUND] = "detailed"
    if cpu:
        arguments |= {"dtype": "float32", "enforce_eager": True}
    if cpu and job["plain_rotation_on_cpu"]:
        arguments["compilation_config"] = {"custom_ops": ["-rotary_embedding"]}
    if job["dtype"] is not None:
        arguments["dtype"] = job["dtype"]
    arguments |= job["arguments"]
    speculation = job["speculative_config"]
    # What extracts states drafts nothing, and has no model of its own.
    drafter = {"model": job["drafter"]} if job["drafter"] is not None else {}
    llm = LLM(model=job["target"], speculative_config={**speculation, **drafter}, **arguments)
    arguments["speculative_config"] = speculation
    facts = {
        "version": vllm.__version__,
        "torch": torch.__version__,
        "device": current_platform.device_type,
        "dtype": str(llm.llm_engine.vllm_config.model_config.dtype).removeprefix("torch."),
        "quantization": llm.llm_engine.vllm_config.model_config.quantization,
        "plain_rotation": cpu and job["plain_rotation_on_cpu"],
        "boundaries": boundaries(llm) if alone else None,
    }
    return llm, arguments, facts


def runner(llm: Any) -> Any:
    """What runs the models, where everything is in this process."""
    worker = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker
    return getattr(worker, "worker", worker).model_runner


def boundaries(llm: Any) -> list[int] | None:
    """The layers whose states the target hands to the drafter, in vLLM's own count; None where it does not say."""
    try:
        running = runner(llm)
        model = getattr(running, "get_model", lambda: running.model)()
        inner = getattr(model, "get_language_model", lambda: model)()
        captured = getattr(getattr(inner, "model", inner), "aux_hidden_state_layers", None)
    except AttributeError:
        return None
    return [int(layer) for layer in captured] if captured else None


def watched(llm: Any, best: int) -> tuple[Any, str]:
    """The drafter under watch, or why it cannot be."""
    from watching import Watch

    try:
        running = runner(llm)
        return Watch(getattr(running, "drafter", None) or running.speculator, best), ""
    except AttributeError as error:
        return None, f"this vLLM keeps its drafter elsewhere: {error}"


def decode(llm: Any, prompt: dict[str, Any], stop: list[int], watch: Any, outcome: Outcome) -> None:
    """One prompt to its end, and everything that was seen on the way."""
    from vllm import SamplingParams

    greedy = SamplingParams(temperature=0.0, max_tokens=prompt["max_tokens"], stop_token_ids=stop, detokenize=False)
    before = counters(llm)
    if watch is not None:
        watch.start()
    [answer] = llm.generate({"prompt_token_ids": prompt["tokens"]}, greedy, use_tqdm=False)
    [said] = answer.outputs
    seen = watch is not None and not watch.why
    steps = getattr(said, "spec_decode_metrics", None)
    outcome.tell(
        "text",
        identity=prompt["identity"],
        answer=list(said.token_ids),
        finish=said.finish_reason,
        known=watch.known() if seen else None,
        rounds=watch.rounds if seen else None,
        accepted=list(steps.per_step_accepted) if steps is not None else None,
        counters={name: less(after, before[name]) for name, after in counters(llm).items() if name in before},
    )


def less(after: list[int], before: list[int]) -> list[int]:
    """What was counted in between."""
    return [a - b for a, b in zip(after, before, strict=True)]


def counters(llm: Any) -> dict[str, list[int]]:
    """vLLM's counters of speculative decoding as they stand, summed over its parts."""
    found: dict[str, list[int]] = {}
    for metric in llm.get_metrics():
        if metric.name.startswith(PREFIX):
            values = list(getattr(metric, "values", None) or [metric.value])
            name = metric.name.removeprefix(PREFIX)
            found[name] = [a + b for a, b in zip(found.get(name, [0] * len(values)), values, strict=True)]
    return found


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
