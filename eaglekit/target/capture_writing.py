"""A `Capture` as one safetensors file: rows of all texts one after the other, and a description in the metadata.

T tokens of all texts, n of one, B captured boundaries, G the target's hidden size.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from eaglekit.checkpoint.disk_errors import is_there, refuse_folder, writing_to
from eaglekit.checkpoint.header import parse_header
from eaglekit.checkpoint.layout import Entry, file_order, safetensors_header
from eaglekit.checkpoint.staged_file import staged_file
from eaglekit.report import Finding, Refusal
from eaglekit.report.json_text import compact
from eaglekit.report.model import refuse_if
from eaglekit.target.captured import Capture, CapturedText
from eaglekit.target.texts import Text

DESCRIPTION = "eaglekit"
"""The metadata key of the description; its value is JSON under `schemas/capture.json`."""
SCHEMA = "eaglekit/capture/1"

STORED = {torch.float32: "F32", torch.bfloat16: "BF16"}
"""Dtypes that states are kept in."""


@dataclass(frozen=True)
class Outline:
    """What a capture file says of itself, known before there is a state to put into it."""

    boundaries: tuple[int, ...]
    num_layers: int
    hidden_size: int
    vocab_size: int
    target: Mapping[str, str]
    texts: Sequence[Text]
    """In the order of the rows."""
    dtype: torch.dtype
    """Of the states, one of `STORED`."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The tensors, in the order of their bytes."""
        count = sum(len(text.tokens) for text in self.texts)
        wanted = shapes(count, len(self.boundaries), self.hidden_size)
        floats = STORED[self.dtype]
        return file_order(
            Entry(name, "I64" if name in ("tokens", "argmax") else floats, shape) for name, shape in wanted.items()
        )


def outline(capture: Capture) -> Outline:
    """What the file of a capture says of itself."""
    return Outline(
        capture.boundaries,
        capture.num_layers,
        capture.hidden_size,
        capture.vocab_size,
        capture.target,
        [captured.text for captured in capture.texts],
        capture.texts[0].final.dtype,
    )


def write_capture(capture: Capture, path: Path, *, overwrite: bool = False) -> int:
    """Write `capture` to `path`, whole or not at all; its size in bytes.

    Raises `Refusal` when states are not finite, when the file exists and `overwrite` is not given, or for what the
    system says.
    """
    with growing(outline(capture), path, overwrite=overwrite) as add:
        for captured in capture.texts:
            add(captured)
    return path.stat().st_size


@contextmanager
def growing(outline: Outline, path: Path, *, overwrite: bool = False) -> Iterator[Callable[[CapturedText], None]]:
    """A file that takes the texts of `outline` one by one, in their order; it has its name when the context is left.

    Raises `Refusal` as `write_capture` does; then, and after any other error inside, there is no file.
    """
    refuse_taken(path, overwrite=overwrite)
    header = safetensors_header(outline.entries, {DESCRIPTION: compact(describe(outline)), "format": "pt"})
    places, place = {}, len(header)
    for entry in outline.entries:
        places[entry.name] = place
        place += entry.size_bytes
    findings: list[Finding] = []
    waiting = iter(outline.texts)
    with _beside(path, overwrite=overwrite) as descriptor:

        def add(captured: CapturedText) -> None:
            assert captured.text == next(waiting)  # noqa: S101 - rows are in the order that the header states
            findings.extend(not_finite(captured))
            for name in places:
                rows = _rows(captured, name).reshape(-1).view(torch.uint8).numpy().data
                with writing_to(str(path)):
                    places[name] += _write(descriptor, rows, places[name])

        with writing_to(str(path)):
            _write(descriptor, memoryview(header), 0)
        yield add
        refuse_if(findings)
        assert next(waiting, None) is None  # noqa: S101 - a text without rows would be a hole of zeros


def _write(descriptor: int, data: memoryview, place: int) -> int:
    """All of `data` at an offset of a file; how much it was."""
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], place + done)
    return done


def refuse_taken(path: Path, *, overwrite: bool) -> None:
    """Raise `Refusal` for a name that is taken or a folder that is not there: before hours of work, not after."""
    with writing_to(str(path)):
        refuse_folder(path.parent)
        taken = is_there(path)
    if taken and not (overwrite and _is_capture(path)):
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


def describe(capture: Outline) -> dict[str, object]:
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
                "identity": text.identity,
                "category": text.category,
                "length": len(text.tokens),
                "prompt_length": text.prompt_length,
            }
            for text in capture.texts
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
    with ExitStack() as held:
        with writing_to(str(path)):
            descriptor = held.enter_context(staged_file(path, replacing=overwrite))
        yield descriptor
        with writing_to(str(path)):
            held.close()


def _exists(path: Path, *, overwrite: bool) -> Finding:
    return Finding(
        "capture-exists",
        f"{path} exists, and is no capture" if overwrite else f"{path} exists",
        place=str(path),
        hint="give another name: --overwrite replaces captures only"
        if overwrite
        else "give another name, or --overwrite to replace it",
    )
