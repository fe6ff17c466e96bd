"""A `Capture` as one safetensors file: rows of all texts one after the other, and a description in the metadata.

T tokens of all texts, n of one, B captured boundaries, G the target's hidden size.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from eaglekit.checkpoint.disk_errors import refuse_folder, writing_to
from eaglekit.checkpoint.header import parse_header
from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header
from eaglekit.checkpoint.staged_file import staged_file
from eaglekit.report import Finding, Refusal
from eaglekit.report.json_text import compact
from eaglekit.target.captured import Capture, CapturedText

DESCRIPTION = "eaglekit"
"""The metadata key of the description; its value is JSON under `schemas/capture.json`."""
SCHEMA = "eaglekit/capture/1"

STORED = {torch.float32: "F32", torch.bfloat16: "BF16"}
"""Dtypes that states are kept in."""


def write_capture(capture: Capture, path: Path, *, overwrite: bool = False) -> int:
    """Write `capture` to `path`, whole or not at all; its size in bytes.

    Raises `Refusal` when states are not finite, when the file exists and `overwrite` is not given, or for what the
    system says.
    """
    findings = [finding for text in capture.texts for finding in not_finite(text)]
    if findings:
        raise Refusal(*findings)
    refuse_taken(path, overwrite=overwrite)
    entries = {entry.name: entry for entry in _entries(capture)}
    metadata = {DESCRIPTION: compact(describe(capture)), "format": "pt"}
    with _beside(path, overwrite=overwrite) as descriptor, open(descriptor, "wb", closefd=False) as stream:
        stream.write(safetensors_header(entries.values(), metadata))
        for entry in file_order(entries.values()):
            for text in capture.texts:
                stream.write(_rows(text, entry.name).view(torch.uint8).numpy().data)
        stream.flush()
        return stream.tell()


def refuse_taken(path: Path, *, overwrite: bool) -> None:
    """Raise `Refusal` for a name that is taken or a folder that is not there: before hours of work, not after."""
    with writing_to(str(path)):
        refuse_folder(path.parent)
    if os.path.lexists(path) and not (overwrite and _is_capture(path)):
        raise Refusal(_exists(path, overwrite=overwrite))


def _is_capture(path: Path) -> bool:
    """Whether there is a capture: nothing else is ever replaced, such as the prompts or the target's weights."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            header = parse_header(lambda start, end: os.pread(file.fileno(), end - start, start), size_bytes, str(path))
    except (OSError, Refusal):
        return False
    return DESCRIPTION in header.metadata


def describe(capture: Capture) -> dict[str, object]:
    """The description of a capture, as it stands in the metadata."""
    return {
        "schema": SCHEMA,
        "boundaries": list(capture.boundaries),
        "num_layers": capture.num_layers,
        "hidden_size": capture.hidden_size,
        "vocab_size": capture.vocab_size,
        "target": dict(capture.target),
        "texts": [
            {
                "identity": captured.text.identity,
                "category": captured.text.category,
                "length": len(captured.text.tokens),
                "prompt_length": captured.text.prompt_length,
            }
            for captured in capture.texts
        ],
    }


def shapes(num_tokens: int, num_boundaries: int, hidden_size: int) -> dict[str, tuple[int, ...]]:
    """Tensor -> shape in a file of so many tokens."""
    return {
        "tokens": (num_tokens,),
        "argmax": (num_tokens,),
        "states": (num_tokens, num_boundaries, hidden_size),
        "final": (num_tokens, hidden_size),
    }


def not_finite(text: CapturedText) -> Iterator[Finding]:
    """A finding for each kind of state of a text that has infinities or NaN."""
    for kind, values in (("states", text.states), ("final states", text.final)):
        if not bool(torch.isfinite(values).all()):
            yield Finding(
                "capture-not-finite",
                f"the {kind} of text {text.text.identity!r} hold infinities or NaN",
                place=text.text.identity,
                got=f"{int((~torch.isfinite(values)).sum())} of {values.numel()} values",
                expected="finite numbers",
                hint="capture again in float32; if they stay, the target's weights are damaged",
            )


def _entries(capture: Capture) -> Iterator[Entry]:
    kept: Sequence[CapturedText] = capture.texts
    count = sum(len(text.text.tokens) for text in kept)
    dtype = STORED[kept[0].final.dtype]
    for name, shape in shapes(count, len(capture.boundaries), capture.hidden_size).items():
        yield Entry(name, "I64" if name in ("tokens", "argmax") else dtype, shape)


def _rows(text: CapturedText, name: str) -> Tensor:
    match name:
        case "tokens":
            return torch.tensor(text.text.tokens, dtype=torch.int64)
        case "argmax":
            return text.argmax.contiguous()
        case "states":
            return text.states.contiguous()
        case _:
            return text.final.contiguous()


@contextmanager
def _beside(path: Path, *, overwrite: bool) -> Iterator[int]:
    """A descriptor of a hidden new file beside `path`; leaving without an error syncs it and gives it the name."""
    with writing_to(str(path)), staged_file(path, replacing=overwrite) as descriptor:
        yield descriptor


def _exists(path: Path, *, overwrite: bool) -> Finding:
    return Finding(
        "capture-exists",
        f"{path} exists, and is no capture" if overwrite else f"{path} exists",
        place=str(path),
        hint="give another name: --overwrite replaces captures only"
        if overwrite
        else "give another name, or --overwrite to replace it",
    )
