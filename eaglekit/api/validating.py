"""`validate` and `verify`: whether a drafter is right, what it is worth, and whether what is claimed of one holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eaglekit.api.arguments import Activations, AuxConvention, ComputeDtype, Engine, JudgedEmbedding, refuse_values
from eaglekit.api.judging import judge, refuse_combinations, refuse_missing
from eaglekit.api.misuse import Misuse, refusing
from eaglekit.api.stating import Layers, PathOrId, Settings, path_or_none, path_text
from eaglekit.report import Report
from eaglekit.report.progress import Bar, silent

File = str | os.PathLike[str]


def validate(
    path: PathOrId,
    *,
    target: PathOrId | None = None,
    prompts: File | None = None,
    capture: File | None = None,
    generate: int | None = None,
    limit: int | None = None,
    draft_tokens: int = 3,
    depth: int = 8,
    temperature: float = 1.0,
    baseline: PathOrId | None = None,
    min_acceptance_length: float | None = None,
    probe_layers: bool = False,
    embedding: JudgedEmbedding = "auto",
    device: str | None = None,
    dtype: ComputeDtype | None = None,
    memory_limit: str | None = None,
    activations: Activations = "w4a16",
    engine: Engine | None = None,
    engine_python: File | None = None,
    engine_arguments: Mapping[str, Any] | Sequence[str] = (),
    tensor_parallel_size: int | None = None,
    pipeline_parallel_size: int | None = None,
    endpoint: str | None = None,
    target_family: str | None = None,
    aux_layers: Layers | None = None,
    aux_convention: AuxConvention | None = None,
    dialect: str | None = None,
    settings: Settings = (),
    drops: str | Sequence[str] = (),
    progress: Bar = silent,
) -> Report:
    """Whether a drafter is right, and what it is worth beside its target: `eaglekit validate`.

    `device` is `cpu`, `cuda` or `cuda:N`; None is the CPU. What is wrong is in the findings, and `ok` is then False;
    what is no drafter, and what cannot be computed, raises `Refusal`.
    """
    wishes: dict[str, Any] = {
        "target": path_or_none(target),
        "prompts": _file(prompts),
        "capture": _file(capture),
        "generate": generate,
        "limit": limit,
        "draft_tokens": draft_tokens,
        "depth": depth,
        "temperature": temperature,
        "baseline": path_or_none(baseline),
        "min_acceptance_length": min_acceptance_length,
        "probe_layers": probe_layers,
        "embedding": embedding,
        "device": "cpu" if device is None else device,
        "dtype": dtype,
        "memory_limit": memory_limit,
        "activations": activations,
        "engine": engine,
        "engine_python": None if engine_python is None else os.fspath(engine_python),
        "engine_arguments": engine_arguments,
        "tensor_parallel_size": tensor_parallel_size,
        "pipeline_parallel_size": pipeline_parallel_size,
        "endpoint": endpoint,
        "target_family": target_family,
        "aux_layers": aux_layers,
        "aux_convention": aux_convention,
        "dialect": dialect,
        "settings": settings,
        "drops": drops,
    }
    refuse_values("validate", wishes)
    refuse_combinations(wishes)
    text = path_text(path)
    with refusing("validate", text):
        refuse_missing(wishes, placed=None if device is None else "--device")
        return judge(text, wishes, bar=progress)


def verify(
    path: PathOrId,
    *,
    target: PathOrId | None = None,
    prompts: File | None = None,
    capture: File | None = None,
    baseline: PathOrId | None = None,
    device: str = "cpu",
    dtype: ComputeDtype | None = None,
    memory_limit: str | None = None,
    progress: Bar = silent,
) -> Report:
    """What a published drafter claims, measured again: `eaglekit verify`. `ok` is False when a claim does not hold."""
    from eaglekit.api.verifying import verified

    refuse_values("verify", {"dtype": dtype})
    if prompts is not None and capture is not None:
        raise Misuse("--capture stands in place of --prompts: give one of them.")
    wishes = {
        "target": path_or_none(target),
        "prompts": _file(prompts),
        "capture": _file(capture),
        "baseline": path_or_none(baseline),
        "device": device,
        "dtype": dtype,
        "memory_limit": memory_limit,
    }
    text = path_text(path)
    with refusing("verify", text):
        return verified(text, wishes, bar=progress)[1]


def _file(file: File | None) -> Path | None:
    return None if file is None else Path(file)
