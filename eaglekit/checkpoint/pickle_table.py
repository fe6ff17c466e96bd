"""`pytorch_model.bin` without torch: name, dtype, shape and byte range of every tensor, and nothing executed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import pickle_child
from eaglekit.checkpoint.header import Header, shortened
from eaglekit.checkpoint.model import ITEM_BITS, Source, Tensor
from eaglekit.checkpoint.torch_archive import Archive, read_archive
from eaglekit.report import Finding, Refusal

TIMEOUT_S = 60
"""Wall-clock limit of the child, which has 10 s of CPU; a drafter's table takes milliseconds."""
KEPT_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What an interpreter may need to start. Tokens and everything else stay outside the child."""


def read_table(source: Source, file: str) -> Header:
    """The tensors of a `torch.save` archive as byte ranges of `file`; `metadata` is empty.

    Raises `Refusal` for every file that is more than a flat dictionary of tensors.
    """
    archive = read_archive(source, file)
    answer = _ask_child(archive.pickle, file)
    if "refused" in answer:
        raise Refusal(*shortened([_refusal(file, code, subject) for code, subject in answer["refused"]]))
    findings: list[Finding] = []
    tensors = dict(_tensors(answer["tensors"], archive, file, findings))
    if findings:
        raise Refusal(*shortened(findings))
    return Header(tensors, {}, hashlib.sha256(archive.pickle).hexdigest())


def _ask_child(pickle: bytes, file: str) -> Mapping[str, Any]:
    environment = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as answer:
        question.write(pickle)
        question.seek(0)
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter on our own file
                [sys.executable, "-I", "-S", str(Path(pickle_child.__file__))],
                stdin=question, stdout=answer, stderr=subprocess.DEVNULL,
                env=environment, cwd="/", timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Refusal(_refusal(file, "pickle-malformed", f"reading took more than {TIMEOUT_S} s")) from None
        if done.returncode:
            raise Refusal(
                _refusal(file, "pickle-malformed", f"the reading process ended with status {done.returncode}")
            )
        answer.seek(0)
        text = answer.read(pickle_child.OUTPUT_BYTES)
    document = _parsed(text)
    if not _is_answer(document):
        raise Refusal(_refusal(file, "pickle-malformed", "the reading process gave no proper answer"))
    return document  # type: ignore[no-any-return]


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_answer(document: Any) -> bool:
    """Whether the child's answer has the agreed form: its input may have taken the child over."""
    if not isinstance(document, dict):
        return False
    refused, tensors = document.get("refused"), document.get("tensors")
    if refused is not None:
        return isinstance(refused, list) and all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(isinstance(text, str) for text in pair)
            and pair[0] in REFUSALS
            for pair in refused
        )
    return isinstance(tensors, list) and all(
        isinstance(row, list) and len(row) == 8 and all(isinstance(text, str) for text in row[:4]) for row in tensors
    )


def _tensors(
    rows: list[list[Any]], archive: Archive, file: str, findings: list[Finding]
) -> Iterator[tuple[str, Tensor]]:
    for row in rows:
        name = row[0]
        problem = _row_problem(row, archive)
        if problem:
            findings.append(
                Finding(
                    "pickle-storage",
                    f"{name!r} in {file} {problem}",
                    place=f"{file}: {name}",
                    hint="save the state dict again: this table does not describe the bytes beside it",
                )
            )
            continue
        _, dtype, key, _, _, offset, shape, strides = row
        item = ITEM_BITS[dtype] // 8
        start = archive.storages[key][0] + offset * item
        contiguous = _is_contiguous(shape, strides)
        length = prod(shape) * item if contiguous else _reach(shape, strides) * item
        yield (
            name,
            Tensor(name, dtype, tuple(shape), file, start, start + length, None if contiguous else tuple(strides)),
        )


def _row_problem(row: list[Any], archive: Archive) -> str | None:
    """What is wrong with one row the child sent: it is believed in nothing."""
    _, dtype, key, storage_dtype, count, offset, shape, strides = row
    if dtype not in ITEM_BITS or not isinstance(shape, list) or not isinstance(strides, list):
        return "has no dtype, shape and strides that can be used"
    if not all(type(number) is int and number >= 0 for number in (count, offset, *shape, *strides)):
        return f"has sizes that are not non-negative integers: shape {shape}, strides {strides}, offset {offset}"
    if len(shape) != len(strides):
        return f"has {len(shape)} axes and {len(strides)} strides"
    if key not in archive.storages:
        return f"lies in the storage {key!r}, which the archive does not hold"
    item = ITEM_BITS[dtype] // 8
    stored, said = archive.storages[key][1] - archive.storages[key][0], count * (item if storage_dtype else 1)
    if stored != said:
        return f"lies in a storage of {stored} bytes that is said to have {said}"
    if prod(shape) == 0:
        return None if offset * item <= stored else "starts behind its storage"
    if (offset + _reach(shape, strides)) * item > stored:
        return f"reaches to byte {(offset + _reach(shape, strides)) * item} of a storage of {stored} bytes"
    if prod(shape) * item > stored:
        return f"has more elements than its storage of {stored} bytes: an expanded view"
    return None


def _reach(shape: list[int], strides: list[int]) -> int:
    """Elements of storage from the first to the last one the view touches, inclusive."""
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _is_contiguous(shape: list[int], strides: list[int]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return prod(shape) == 0
        expected *= size
    return True


def _refusal(file: str, code: str, subject: str) -> Finding:
    message, got, expected, hint = REFUSALS[code](subject)
    return Finding(code, f"{file} {message}", place=file, got=got, expected=expected, hint=hint)


Wording = Callable[[str], tuple[str, str, str, str]]
REFUSALS: Mapping[str, Wording] = {
    "pickle-global": lambda name: (
        f"asks for {name}, which is no tensor; nothing was executed",
        name,
        "tensors only",
        "if you trust its producer, load it with torch there, save the state dict alone as safetensors, and use that",
    ),
    "pickle-malformed": lambda reason: (
        f"has a data.pkl that cannot be read as a table of tensors: {reason}",
        reason,
        "a dictionary of tensors",
        "download or save the file again",
    ),
    "pickle-not-a-dictionary": lambda kind: (
        f"holds a {kind} instead of a dictionary",
        kind,
        "a dictionary: tensor name -> tensor",
        "save `model.state_dict()`",
    ),
    "pickle-nested": lambda key: (
        f"holds its tensors one level down, under the key {key!r}",
        key,
        "tensors at the top level",
        f"save the inner dictionary alone: it is value[{key!r}] of the file, and eaglekit does not choose for you",
    ),
    "pickle-value": lambda subject: (
        f"holds something besides tensors: {subject}",
        subject,
        "tensors only",
        "save the state dict without optimizer state, counters and settings",
    ),
}
"""Code the child may answer with -> message, got, expected, hint."""
