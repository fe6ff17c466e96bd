"""Reading a capture file: everything about it is checked when it is opened, texts are loaded when they are used.

T tokens of all texts, n of one, B captured boundaries, G the target's hidden size.
"""

import os
import stat
import weakref
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, overload

import torch

from eaglekit.checkpoint import Tensor
from eaglekit.checkpoint.disk_errors import unreadable
from eaglekit.checkpoint.header import Header, parse_header
from eaglekit.checkpoint.json_document import read_object
from eaglekit.drafter.aux_layers import check as check_boundaries
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import refuse_if
from eaglekit.report.schemas import problems
from eaglekit.target.capture_writing import DESCRIPTION, STORED, not_finite, shapes
from eaglekit.target.captured import Capture, CapturedText
from eaglekit.target.text_checks import text_findings
from eaglekit.target.texts import Text

DTYPES = {"I64": torch.int64, **{name: dtype for dtype, name in STORED.items()}}
DESCRIPTION_LIMIT = 64 << 20
PIECE_BYTES = 8 << 20


class Texts(Sequence[CapturedText]):
    """The texts of a capture file; each is read when it is asked for."""

    def __init__(
        self,
        descriptor: int,
        file: str,
        tensors: Mapping[str, Tensor],
        known: Sequence[Text],
        starts: Sequence[int],
    ) -> None:
        self._descriptor, self._file, self._tensors, self._known, self._starts = (
            descriptor,
            file,
            tensors,
            known,
            starts,
        )
        weakref.finalize(self, os.close, descriptor)

    def __len__(self) -> int:
        return len(self._known)

    @overload
    def __getitem__(self, index: int) -> CapturedText: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[CapturedText]: ...
    def __getitem__(self, index: int | slice) -> CapturedText | Sequence[CapturedText]:
        if isinstance(index, slice):
            descriptor = os.dup(self._descriptor)
            return Texts(descriptor, self._file, self._tensors, self._known[index], self._starts[index])
        first = self._starts[index]
        last = first + len(self._known[index].tokens)
        rows = {name: self._rows(name, first, last) for name in ("states", "final", "argmax")}
        return CapturedText(self._known[index], **rows)

    def _rows(self, name: str, first: int, last: int) -> torch.Tensor:
        tensor = self._tensors[name]
        return _read_rows(self._descriptor, self._file, tensor, first, last)


def read_capture(path: Path) -> Capture:
    """The capture in the file `path`. Raises `Refusal` with everything that is wrong with it.

    All its bytes are looked at once, in pieces; afterwards each text is read when it is used.
    """
    file = str(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise Refusal(unreadable(file, error)) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refusal(_invalid(file, "it is no regular file"))
        header = parse_header(lambda start, end: os.pread(descriptor, end - start, start), status.st_size, file)
        description = _description(header, file)
        lengths = [text["length"] for text in description["texts"]]
        _check_tensors(header.tensors, description, sum(lengths), file)
        known = _known(descriptor, file, header.tensors, description)
        _check_values(descriptor, file, header.tensors, description, known)
    except BaseException:
        os.close(descriptor)
        raise
    return Capture(
        boundaries=tuple(description["boundaries"]),
        num_layers=description["num_layers"],
        hidden_size=description["hidden_size"],
        vocab_size=description["vocab_size"],
        target=description["target"],
        texts=Texts(descriptor, file, header.tensors, known, _starts(known)[:-1]),
    )


def _description(header: Header, file: str) -> dict[str, Any]:
    if DESCRIPTION not in header.metadata:
        raise Refusal(_invalid(file, "it has no description of a capture in its metadata"))
    text = header.metadata[DESCRIPTION]
    document = read_object(text.encode("utf-8", "surrogatepass"), f"{file} metadata", limit_bytes=DESCRIPTION_LIMIT)
    wrong = problems(document, "capture")
    if wrong:
        raise Refusal(
            *(_invalid(file, f"its description is not one of a capture: {problem}") for problem in wrong[:20])
        )
    findings = check_boundaries(document["boundaries"], target_layers=document["num_layers"], num_aux_states=None)
    refuse_if(findings)
    return document


def _check_tensors(tensors: Mapping[str, Tensor], description: Mapping[str, Any], num_tokens: int, file: str) -> None:
    """Raise `Refusal` unless the file holds exactly the tensors that its description promises."""
    wrong = []
    wanted = shapes(num_tokens, len(description["boundaries"]), description["hidden_size"])
    floats = description["target"]["dtype"]
    for name, shape in wanted.items():
        integers = name in ("tokens", "argmax")
        dtypes = ("I64",) if integers else tuple(name for dtype, name in STORED.items() if str(dtype)[6:] == floats)
        tensor = tensors.get(name)
        got = f"{tensor.dtype} {list(tensor.shape)}" if tensor is not None else "absent"
        if tensor is None or tensor.shape != shape or tensor.dtype not in dtypes:
            wrong.append((name, got, f"{dtypes[0] if dtypes else floats} {list(shape)}"))
    wrong += [(name, "present", "absent") for name in sorted(tensors.keys() - wanted.keys())]
    if wrong:
        names, got, expected = (", ".join(column) for column in zip(*wrong[:8], strict=True))
        raise Refusal(_invalid(file, f"its tensors are not as described: {names}", got, expected))


def _starts(texts: Sequence[Text]) -> list[int]:
    """First row of every text, and one past the last row of all."""
    return [0, *accumulate(len(text.tokens) for text in texts)]


def _known(descriptor: int, file: str, tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> list[Text]:
    """The texts without their states. Raises `Refusal` for ids the vocabulary does not have."""
    ids = _read_rows(descriptor, file, tensors["tokens"], 0, tensors["tokens"].shape[0])
    texts, start = [], 0
    for entry in description["texts"]:
        tokens = tuple(ids[start : start + entry["length"]].tolist())
        texts.append(Text(entry["identity"], entry["category"], tokens, entry["prompt_length"]))
        start += entry["length"]
    refuse_if(text_findings(texts, description["vocab_size"]))
    return texts


def _check_values(
    descriptor: int, file: str, tensors: Mapping[str, Tensor], description: Mapping[str, Any], texts: Sequence[Text]
) -> None:
    """Raise `Refusal` for an argmax outside of the vocabulary and for states that are not finite."""
    starts = _starts(texts)
    findings: list[Finding] = []
    for number, text in enumerate(texts):
        first, last = starts[number], starts[number + 1]
        best = _read_rows(descriptor, file, tensors["argmax"], first, last)
        outside = best[(best < 0) | (best >= description["vocab_size"])]
        if len(outside):
            expected = f"0 to {description['vocab_size'] - 1}"
            findings.append(
                _invalid(file, f"an argmax of text {text.identity!r} is no token", str(int(outside[0])), expected)
            )
        findings += _not_finite(descriptor, file, tensors, text, first, last)
    refuse_if(findings)


def _not_finite(
    descriptor: int, file: str, tensors: Mapping[str, Tensor], text: Text, first: int, last: int
) -> Iterator[Finding]:
    """At most one finding per kind of state, in constant memory."""
    widest = max(1, tensors["states"].size_bytes // tensors["states"].shape[0])
    step = max(1, PIECE_BYTES // widest)
    told: set[str] = set()
    for start in range(first, last, step):
        stop = min(start + step, last)
        rows = {name: _read_rows(descriptor, file, tensors[name], start, stop) for name in ("states", "final")}
        piece = CapturedText(text, argmax=torch.zeros(stop - start, dtype=torch.int64), **rows)
        for finding in not_finite(piece):
            if finding.message not in told:
                told.add(finding.message)
                yield finding


def _read_rows(descriptor: int, file: str, tensor: Tensor, first: int, last: int) -> torch.Tensor:
    """Rows [first, last) of a tensor, in new memory."""
    width = tensor.size_bytes // max(1, tensor.shape[0])
    data = torch.empty((last - first) * width, dtype=torch.uint8)
    view, done = memoryview(data.numpy().data), 0
    while done < len(view):
        try:
            count = os.preadv(descriptor, [view[done:]], tensor.start + first * width + done)
        except OSError as error:
            raise Refusal(unreadable(file, error)) from error
        if not count:
            raise Refusal(_invalid(file, "it became shorter while it was read"))
        done += count
    rows = data.view(DTYPES[tensor.dtype]) if len(data) else torch.empty(0, dtype=DTYPES[tensor.dtype])
    return rows.view(last - first, *tensor.shape[1:])


def _invalid(file: str, what: str, got: str = "", expected: str = "") -> Finding:
    return Finding(
        "capture-invalid",
        f"{file} is no capture that can be used: {what}",
        place=file,
        got=got,
        expected=expected,
        hint="make it again with `eaglekit capture`",
    )
