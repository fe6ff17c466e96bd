"""From the wishes of a validation to its report: what goes together, everything opened, and the stages run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglekit.api.engines import find_wish, refuse_engine_combinations
from eaglekit.api.extras import missing_extras, require_extras
from eaglekit.api.misuse import Misuse
from eaglekit.api.opening import local_target, memory_limit, open_local, open_target
from eaglekit.api.stating import Stated
from eaglekit.dialects.target import read_target
from eaglekit.report import Report
from eaglekit.report.progress import Bar, silent
from eaglekit.validate.binding import without_paths
from eaglekit.validate.check import check
from eaglekit.validate.task import Task

COMPUTING = ("prompts", "capture", "generate", "baseline", "min_acceptance_length", "probe_layers", "engine")
"""Wishes that ask for something to be computed."""
IDLE_WITHOUT_PROMPTS = {"memory_limit": None, "activations": "w4a16"}
"""Wishes about running a target -> the value that asks for nothing."""
MEANING = ("aux_layers", "aux_convention", "settings", "target_family", "dialect", "drops")
TAKEN = (
    "prompts", "capture", "generate", "limit", "draft_tokens", "depth", "temperature", "min_acceptance_length",
    "probe_layers", "dtype", "activations",
)  # fmt: skip
"""Wishes that a task has under the same name."""
WISHES = (*TAKEN, *MEANING, "target", "baseline", "embedding", "memory_limit", "device", "engine", "engine_python",
          "engine_arguments", "tensor_parallel_size", "pipeline_parallel_size", "endpoint")  # fmt: skip


def refuse_combinations(wishes: Mapping[str, Any]) -> None:
    """Raise `Misuse` for wishes that contradict each other or lack what they need."""
    if wishes["prompts"] is not None and wishes["capture"] is not None:
        raise Misuse("--capture stands in place of --prompts: give one of them.")
    if wishes["prompts"] is not None and wishes["target"] is None:
        raise Misuse("--prompts needs --target: the texts are run through it.")
    if wishes["generate"] is not None and wishes["prompts"] is None:
        raise Misuse("--generate needs --prompts.")
    if wishes["prompts"] is None:
        unused = [option for option, idle in IDLE_WITHOUT_PROMPTS.items() if wishes[option] not in (None, idle)]
        if unused:
            raise Misuse(f"--{unused[0].replace('_', '-')} needs --prompts: no target is run without them.")
    if wishes["limit"] is not None and wishes["prompts"] is None and wishes["capture"] is None:
        raise Misuse("--limit needs --prompts or --capture.")
    most = wishes["draft_tokens"] + 1
    if wishes["min_acceptance_length"] is not None and wishes["min_acceptance_length"] > most:
        raise Misuse(f"--min-acceptance-length is out of reach: {most - 1} draft tokens make at most {most}.")
    refuse_engine_combinations(wishes)


def refuse_missing(wishes: Mapping[str, Any], *, placed: str | None) -> None:
    """Raise `Refusal` when packages are missing that a wish needs; `placed` is the option that named a device."""
    asked = [f"--{name.replace('_', '-')}" for name in COMPUTING if wishes[name]]
    if asked:
        require_extras(asked[0])
    if placed is not None:
        require_extras(placed)


def judge(path: str, wishes: Mapping[str, Any], *, bar: Bar = silent) -> Report:
    """The report on one validation, without the paths that were typed. Raises `Refusal`.

    `wishes` are those of `WISHES` by name.
    """
    engine = find_wish(wishes)
    limit, target_text, baseline = memory_limit(wishes["memory_limit"]), wishes["target"], wishes["baseline"]
    target = open_target(target_text)
    if target is not None and wishes["prompts"] is not None:
        target = read_target(local_target(target_text, bar=bar))
    typed = [str(text) for text in (target_text, baseline, wishes["prompts"], wishes["capture"]) if text is not None]
    task = Task(
        given=Stated(**{name: wishes[name] for name in MEANING}).given(target),
        drafter=open_local(path, bar=bar),
        target=target,
        baseline=open_local(baseline, bar=bar) if baseline is not None else None,
        keep_embedding=wishes["embedding"] == "keep",
        device=wishes["device"],
        memory_limit_bytes=limit,
        engine=engine,
        bar=bar,
        **{name: wishes[name] for name in TAKEN},
    )
    return without_paths(check(task, missing=missing_extras()), [path, *typed])
