"""Run by the Python of OpenVINO's environment: exports a target and drafters, serves them, writes what was seen.

Each step runs in a fork, so that a refusal ends the fork alone: its log is the refusal.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXACT = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
"""The exporter asks for a cache in half precision."""
STEPS, NEW_TOKENS, END = 3, 64, 2


def forked(step: Callable[..., None], log: Path, *given: Any) -> bool:
    """Whether `step` came to its end in a fork of this process; what it wrote lies in `log`."""
    process = multiprocessing.get_context("fork").Process(target=_logged, args=(step, log, given))
    process.start()
    process.join()
    return process.exitcode == 0


def _logged(step: Callable[..., None], log: Path, given: tuple[Any, ...]) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    step(*given)


def export(source: str, destination: str) -> None:
    """What `optimum-cli export openvino --trust-remote-code --weight-format fp32` does."""
    from optimum.exporters.openvino import main_export
    from optimum.intel import OVConfig

    main_export(
        source,
        destination,
        task="text-generation-with-past",
        trust_remote_code=True,
        ov_config=OVConfig(dtype="fp32"),
        library_name="transformers",
    )


def name_layers(model: Path, layers: list[int]) -> None:
    """Write the outputs of blocks that the drafter reads where the pipeline looks for them."""
    text, mark = model.read_text(encoding="utf-8"), '<eagle3_mode value="True" />'
    assert mark in text
    value = " ".join(map(str, layers))
    model.write_text(text.replace(mark, f'{mark}<hidden_layers_list value="{value}" />'), encoding="utf-8")


def serve(target: str, drafter: str, prompts: list[list[int]], answers: str) -> None:
    """Write the tokens of each answer and how many of them each pass of the target made."""
    import numpy
    import openvino
    import openvino_genai

    pipeline = openvino_genai.LLMPipeline(
        target, "CPU", draft_model=openvino_genai.draft_model(drafter, "CPU", **EXACT), **EXACT
    )
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens, config.num_assistant_tokens = NEW_TOKENS, STEPS
    config.eos_token_id, config.stop_token_ids, config.do_sample = END, {END}, False
    seen = []
    for prompt in prompts:
        found = pipeline.generate(openvino.Tensor(numpy.array([prompt], numpy.int64)), config)
        passes = list(found.extended_perf_metrics.main_model_metrics.raw_metrics.m_batch_sizes)
        seen.append({"tokens": list(found.tokens[0]), "passes": passes})
    Path(answers).write_text(json.dumps(seen), encoding="utf-8")
    os._exit(0)  # the engine's own shutdown in a fork takes long


def main() -> None:
    """Do the job of the file named on the command line."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    import optimum.exporters.openvino  # noqa: F401 - once for all forks

    gc.freeze()  # else every collection in a fork walks, and copies, what is here

    for target in job["targets"]:
        assert forked(export, Path(target["to"] + ".log"), target["from"], target["to"]), target
    for drafter in job["drafters"]:
        place = drafter["to"]
        log = Path(f"{place}.log")
        if forked(export, log, drafter["from"], place):
            if drafter["layers"] is not None:
                name_layers(Path(place) / "openvino_model.xml", drafter["layers"])
            forked(serve, log, drafter["target"], place, job["prompts"], f"{place}.json")


if __name__ == "__main__":
    main()
