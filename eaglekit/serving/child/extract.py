"""Texts through a real vLLM, one at a time, for the target's states: `python extract.py JOB OUTCOME`, with its Python.

JOB is what `eaglekit.serving.extraction` writes, OUTCOME a file for JSON lines that `eaglekit.serving.outcome` reads.
States come through vLLM's own extraction of hidden states, next tokens through its log-probabilities of the prompt.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from decode import load
from speaking import Outcome, end_with_the_parent

TOKENS_AT_ONCE = 2048
"""Tokens of a step: vLLM holds their logits over the whole vocabulary, in float32 and more than once."""
AHEAD = 2
"""Files of states that may wait to be read: the disk holds so many texts and no more."""
LOOK_EVERY_S = 0.01


def main(job_file: str, outcome_file: str) -> int:
    """Load, answer where that was asked for, extract, tell."""
    # States may be large: they go even when the parent is killed.
    end_with_the_parent(Path(job_file).parent)
    job, outcome = json.loads(Path(job_file).read_text(encoding="utf-8")), Outcome(outcome_file)
    folder = Path(job_file).parent / "states"
    folder.mkdir()
    alone = job["tensor_parallel_size"] * job["pipeline_parallel_size"] == 1
    if alone:
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    try:
        job["arguments"] = {**job["arguments"], **asked(job, folder)}
        engine, arguments, facts = load(job, alone)
        # It names a folder of this run, and nothing that anybody chose.
        del arguments["kv_transfer_config"]
        outcome.tell("loaded", arguments=arguments, watched=False, why="", **facts)
    except BaseException as error:
        outcome.failed("load", error)
        raise
    steps = [(text, answer) for text in job["texts"] if text["max_tokens"]]
    steps += [(text, extract) for text in job["texts"]]
    for text, step in steps:
        try:
            step(engine, text, alone, job["stop_token_ids"], outcome, folder)
        except BaseException as error:
            outcome.failed("decode", error, identity=text["identity"])
            raise
    outcome.tell("done", counters={}, why="")
    return 0


def asked(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Arguments that make vLLM hand out states: by its own connector, on a CPU by what completes it there."""
    from vllm.platforms import current_platform

    cpu = current_platform.is_cpu()
    connector: dict[str, Any] = {"kv_role": "kv_producer", "kv_connector": "ExampleHiddenStatesConnector"}
    if cpu:
        connector |= {"kv_connector": "StatesOnCpu", "kv_connector_module_path": "keeping"}
    extra = {"shared_storage_path": str(folder), "use_synchronization_lock": not cpu}
    # On a CPU vLLM runs MLA without chunks, and waits for ever with a text that is longer than a step.
    step = max(TOKENS_AT_ONCE, job["max_model_len"]) if cpu else TOKENS_AT_ONCE
    return {
        "max_num_batched_tokens": job["arguments"].get("max_num_batched_tokens", step),
        "kv_transfer_config": {**connector, "kv_connector_extra_config": extra},
    }


def answer(engine: Any, text: dict[str, Any], alone: bool, stop: list[int], outcome: Outcome, folder: Path) -> None:
    """The target's greedy answer, which becomes part of the text."""
    from vllm import SamplingParams

    wishes = SamplingParams(temperature=0.0, max_tokens=text["max_tokens"], stop_token_ids=stop, detokenize=False)
    [done] = engine.generate({"prompt_token_ids": text["tokens"]}, wishes, use_tqdm=False)
    # States of a request that also answered are of no use here.
    written(engine, done, alone).unlink()
    [said] = done.outputs
    outcome.tell(
        "text", identity=text["identity"], answer=list(said.token_ids), finish=said.finish_reason,
        known=None, rounds=None, accepted=None, counters={},
    )  # fmt: skip
    text["tokens"] = [*text["tokens"], *said.token_ids]


def extract(engine: Any, text: dict[str, Any], alone: bool, stop: list[int], outcome: Outcome, folder: Path) -> None:
    """The states and the most likely next token at every token of a text, in one prefill."""
    from vllm import SamplingParams

    while len(list(folder.glob("*.safetensors"))) >= AHEAD:
        time.sleep(LOOK_EVERY_S)
    wishes = SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=1, detokenize=False)
    [done] = engine.generate({"prompt_token_ids": text["tokens"]}, wishes, use_tqdm=False)
    # The first token has nothing before it; what follows the last one is the answer.
    best = [most_likely(ranked) for ranked in done.prompt_logprobs[1:]] + list(done.outputs[0].token_ids)
    file = written(engine, done, alone)
    outcome.tell("states", identity=text["identity"], file=file.name, argmax=best)


def most_likely(ranked: dict[int, Any]) -> int:
    """The most likely of the tokens that are listed for a place, of equal ones the lowest."""
    return min(ranked, key=lambda token: (-ranked[token].logprob, token))


def written(engine: Any, done: Any, alone: bool) -> Path:
    """The file of a request's states, whole."""
    file = Path(done.kv_transfer_params["hidden_states_path"])
    lock = Path(f"{file}.lock")
    while not file.exists():
        # It is written in the engine's next step, which an engine in this process takes only when told to.
        if alone:
            engine.llm_engine.step()
        time.sleep(LOOK_EVERY_S)
        # A thread of vLLM's connector writes, and only logs what it could not.
        if lock.exists() and released(lock, wait=False) and not file.exists():
            raise RuntimeError("vLLM's connector wrote no states, its log says why")
    if lock.exists():
        released(lock, wait=True)
        lock.unlink()
    return file


def released(lock: Path, *, wait: bool) -> bool:
    """Whether the writer has let go of its lock."""
    with lock.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
    return True


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
