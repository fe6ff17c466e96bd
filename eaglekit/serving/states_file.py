"""A file of states, as vLLM's connector writes one for each text.

n tokens of one text, B layers, G the target's hidden size.
"""

from __future__ import annotations

import os

import torch
from jaxtyping import Float
from torch import Tensor

from eaglekit.checkpoint.disk_errors import unreadable
from eaglekit.checkpoint.header import parse_header
from eaglekit.report import Finding, Refusal
from eaglekit.serving.extraction import StatesFile

STORED = {"float32": "F32", "bfloat16": "BF16"}


def read_states(
    piece: StatesFile, dtype: torch.dtype, shape: tuple[int, int, int]
) -> tuple[Float[Tensor, "n B G"], list[int]]:
    """States and token ids of a file, of a shape [n, B, G]. Raises `Refusal` for a file that holds anything else."""
    wanted = {"hidden_states": (STORED[str(dtype)[6:]], shape), "token_ids": ("I64", shape[:1])}
    try:
        with open(piece.path, "rb", opener=_plainly) as stream:
            descriptor = stream.fileno()
            size_bytes = os.fstat(descriptor).st_size
            header = parse_header(lambda start, end: os.pread(descriptor, end - start, start), size_bytes, "states")
            found = {name: (tensor.dtype, tensor.shape) for name, tensor in header.tensors.items()}
            if found != wanted:
                got = ", ".join(f"{name} {kind} {list(size)}" for name, (kind, size) in sorted(found.items()))
                expected = ", ".join(f"{name} {kind} {list(size)}" for name, (kind, size) in sorted(wanted.items()))
                raise Refusal(unusable(f"the states of text {piece.identity!r} have another shape", got, expected))
            read = {}
            for name, tensor in header.tensors.items():
                stream.seek(tensor.start)
                read[name] = bytearray(stream.read(tensor.size_bytes))
    except OSError as error:
        raise Refusal(unreadable("the engine's file of states", error)) from error
    except Refusal as refusal:
        raise Refusal(*(_no_states(piece, finding) for finding in refusal.findings)) from None
    states = torch.frombuffer(read["hidden_states"], dtype=dtype).view(shape)
    tokens: list[int] = torch.frombuffer(read["token_ids"], dtype=torch.int64).tolist()
    return states, tokens


def _plainly(path: str, flags: int) -> int:
    """Opened without waiting for whoever writes into a pipe, and without following a link."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _no_states(piece: StatesFile, finding: Finding) -> Finding:
    """What is wrong with the file as a safetensors file, told of the engine that wrote it."""
    if finding.code == "engine-states-unusable":
        return finding
    what = f"the file of text {piece.identity!r} holds no states: {finding.message}"
    return unusable(what, finding.got, finding.expected or "a safetensors file")


def unusable(what: str, got: object, expected: object) -> Finding:
    """The finding about what an engine hands out, and nobody could measure on."""
    return Finding(
        "engine-states-unusable",
        f"the states that vLLM gives are no capture: {what}",
        place="--engine",
        got=str(got),
        expected=str(expected),
        hint="another version of vLLM, or --dtype, may do; without --engine the target is run here",
    )
