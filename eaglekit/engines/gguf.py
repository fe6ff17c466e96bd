"""GGUF drafters before engines: one program opens them, and its rules are written for the folder one is made from."""

from __future__ import annotations

from eaglekit.checkpoint import Tensor
from eaglekit.dialects.clues import at
from eaglekit.dialects.tables import DIALECTS
from eaglekit.dialects.writing import write
from eaglekit.drafter.sizes import expected_shape
from eaglekit.engines.model import Artefact, Effect, Verdict
from eaglekit.engines.rules import Engine

PLAIN = "vllm"
"""The dialect whose folders llama.cpp's converter takes: names, top-level ids and flags."""


def is_gguf(artefact: Artefact) -> bool:
    """Whether this is a GGUF file, by the key that each of them has and no config does."""
    return isinstance(at(artefact.config, "general.architecture"), str)


def unopened(engine: Engine) -> Effect:
    """What an engine that is not llama.cpp makes of it."""
    return Effect(
        Verdict.REJECTS,
        "engine-format-unread",
        f"{engine.title} opens no GGUF drafter: the format is llama.cpp's own",
        "ggml-org/llama.cpp docs/speculative.md",
    )


def converted_from(artefact: Artefact) -> Artefact:
    """The folder from which llama.cpp's converter would make this file: what the engine's rows are about."""
    spec = artefact.spec
    layout = write(spec, DIALECTS[PLAIN], mark=False)
    tensors = {
        name: Tensor(name, spec.dtype, expected_shape(role, spec), "", 0, 0)
        for role, names in layout.names.items()
        for name in names
    }
    return Artefact(layout.config, tensors, spec)
