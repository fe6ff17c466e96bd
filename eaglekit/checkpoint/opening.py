"""Opening: from a folder, wherever it lies, to a `Checkpoint`. Reads the config, the index and headers only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.json_document import CONFIG_LIMIT, read_object, too_large
from eaglekit.checkpoint.lookup import stamp
from eaglekit.checkpoint.model import Checkpoint, Source
from eaglekit.checkpoint.weights import Weights, holds_gguf_only, read_weights
from eaglekit.report import Finding, Refusal

CONFIGS = ("config.json", "adapter_config.json")
"""The first of these in the folder is the config; the second one marks a LoRA adapter, for others to say."""


def open_folder(path: Path, label: str | None = None) -> Checkpoint:
    """The checkpoint in the local folder `path`. Raises `Refusal` with everything that is wrong with its files.

    `label` is what messages call the folder: what the user typed.
    """
    return open_source(LocalFolder(path, label))


def open_source(source: Source) -> Checkpoint:
    """The checkpoint in `source`, local or remote. Raises `Refusal` with everything that is wrong with its files."""
    files = source.files()
    findings: list[Finding] = []
    config: Mapping[str, Any] = {}
    weights: Weights | None = None
    config_file = None if holds_gguf_only(files) else next((name for name in CONFIGS if name in files), "")
    config_digest = ""
    try:
        if config_file is not None:
            config, config_digest = _config(source, config_file, files)
    except Refusal as refusal:
        findings.extend(refusal.findings)
    try:
        weights = read_weights(source)
    except Refusal as refusal:
        findings.extend(refusal.findings)
    if findings or weights is None:
        raise Refusal(*findings)
    ours = {config_file, *weights.files, *weights.index_files}
    return Checkpoint(
        source=source,
        config=config if weights.config is None else weights.config,
        tensors=dict(sorted(weights.tensors.items())),
        metadata=weights.metadata,
        layout=weights.layout,
        weight_files=weights.files,
        extra_files={name: size for name, size in files.items() if name not in ours},
        findings=weights.findings,
        config_file=config_file,
        evidence={**({"config": config_digest} if config_file is not None else {}), **_stamps(source, weights)},
    )


def _config(source: Source, file: str, files: Mapping[str, int]) -> tuple[Mapping[str, Any], str]:
    if not file:
        raise Refusal(_no_config(source.label, files))
    if files[file] > CONFIG_LIMIT:
        raise too_large(file, files[file], CONFIG_LIMIT)
    data = source.read(file, 0, files[file])
    return read_object(data, file), hashlib.sha256(data).hexdigest()


def _no_config(label: str, files: Mapping[str, int]) -> Finding:
    below = sorted(name.rpartition("/")[0] for name in files if name.endswith("/config.json"))
    return Finding(
        "config-missing",
        f"{label} has no config.json",
        place=label,
        got=", ".join(sorted(name for name in files if "/" not in name)[:8]) or "no files",
        expected="config.json beside the weights",
        hint=f"there is one in {', '.join(below[:3])}: give that folder"
        if below
        else "give the folder of the drafter itself; a trainer's raw state has no config and must be exported first",
    )


def _stamps(source: Source, weights: Weights) -> Mapping[str, str]:
    return {file: stamp(source, file, digest) for file, digest in weights.digests.items()}
