"""From a prompt file to its JSON objects, one a line or one an array element; says what is no such file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from eaglekit.checkpoint.json_document import read_array, read_object
from eaglekit.report import Finding, Refusal

LINE_LIMIT = 16 << 20
"""Longest line read, in bytes: about four million tokens, more than any target takes."""
ARRAY_LIMIT = 256 << 20
"""Largest JSON array read, in bytes: it has to be in memory whole, lines need not."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a prompt file, and where it stands."""

    place: str
    """`prompts.jsonl:12` for line 12, `prompts.json[11]` for element 11 of an array."""
    position: str
    """`line-12` or `row-11`: the name of a text whose row gives none."""
    value: Mapping[str, Any]


BROKEN_LINES = 10
"""A file that begins with so many lines without an object is no JSONL; what is wrong with each says nothing more."""

PARQUET_HINT = (
    "export it once where pandas and pyarrow are: python -c \"import pandas; pandas.read_parquet('{name}')"
    ".to_json('{stem}.jsonl', orient='records', lines=True)\""
)
FOREIGN = {
    b"PAR1": ("prompts-parquet", "a Parquet file", PARQUET_HINT),
    b"ARROW1": ("prompts-parquet", "an Arrow file", PARQUET_HINT.replace("read_parquet", "read_feather")),
    b"\xff\xfe": ("json-encoding", "UTF-16 text", "save it as UTF-8 without a byte order mark"),
    b"\xfe\xff": ("json-encoding", "UTF-16 text", "save it as UTF-8 without a byte order mark"),
    b"\x1f\x8b": ("prompts-compressed", "compressed with gzip", "gunzip it first"),
    b"\x28\xb5\x2f\xfd": ("prompts-compressed", "compressed with zstd", "unzstd it first"),
    b"PK\x03\x04": ("prompts-compressed", "a zip archive", "unpack it first"),
}
"""First bytes -> finding code, what the file is, what to do."""

HINTS = {
    "json-not-an-object": "each line, or each element of one array, is an object such as "
    '{"messages": [...]}, {"prompt": "...", "response": "..."} or {"prompt_token_ids": [...]}',
    "json-invalid": "each line is one JSON object of its own; an object that spans lines belongs into one array",
    "json-number": "write token ids as plain integers; NaN and Infinity are not JSON",
    "json-encoding": "save the file as UTF-8 without a byte order mark",
    "json-too-deep": "no prompt looks like this: look at what wrote the line",
}
"""What to do about a line that is no plain JSON object, where the finding was made for configs."""


UNREADABLE = {
    "it is a folder": "give the file itself, not its folder",
    "it is no regular file": "write it to a file first",
}
"""What to do about a path that is no file."""


def read_rows(path: Path, findings: list[Finding]) -> Iterator[Row]:
    """The objects of the file, in order. What is no object goes to `findings`; raises `Refusal` for a foreign file."""
    if path.exists() and not path.is_file():
        raise Refusal(_unreadable(path, "it is a folder" if path.is_dir() else "it is no regular file"))
    try:
        file = path.open("rb")
    except OSError as error:
        raise Refusal(_unreadable(path, error.strerror or type(error).__name__)) from None
    with file:
        start = file.read(4096)
        file.seek(0)
        for magic, (code, kind, hint) in FOREIGN.items():
            if start.startswith(magic):
                raise Refusal(_foreign(path, code, kind, hint))
        if start.lstrip().startswith(b"["):
            yield from _elements(path, file, findings)
        else:
            yield from _lines(path, file, findings)


def _elements(path: Path, file: BinaryIO, findings: list[Finding]) -> Iterator[Row]:
    data = file.read(ARRAY_LIMIT + 1)
    if len(data) > ARRAY_LIMIT:
        raise Refusal(_too_large(path.name, "array", len(data), ARRAY_LIMIT))
    try:
        values = read_array(data, path.name, limit_bytes=ARRAY_LIMIT)
    except Refusal as refusal:
        findings.extend(_for_prompts(refusal))
        return
    for index, value in enumerate(values):
        if isinstance(value, dict):
            yield Row(f"{path.name}[{index}]", f"row-{index}", value)
        else:
            findings.append(_no_object(f"{path.name}[{index}]", value))


def _lines(path: Path, file: BinaryIO, findings: list[Finding]) -> Iterator[Row]:
    number = good = 0
    while line := file.readline(LINE_LIMIT + 1):
        number += 1
        place = f"{path.name}:{number}"
        if len(line) > LINE_LIMIT:
            # Reading on would parse the rest of a line as if it were one.
            raise Refusal(*findings, _too_large(place, "line", len(line), LINE_LIMIT))
        if not line.strip():
            continue
        try:
            value = read_object(line, place, limit_bytes=LINE_LIMIT)
        except Refusal as refusal:
            findings.extend(_for_prompts(refusal))
            if not good and number >= BROKEN_LINES:
                raise Refusal(_no_lines(path, findings[0], number)) from None
            continue
        good += 1
        yield Row(place, f"line-{number}", value)


def _no_lines(path: Path, first: Finding, count: int) -> Finding:
    """The finding for a file that is something else: one, not one a line."""
    return replace(first, message=f"none of the first {count} lines of {path.name} is a JSON object", place=path.name)


def _for_prompts(refusal: Refusal) -> list[Finding]:
    return [replace(finding, hint=HINTS.get(finding.code, finding.hint)) for finding in refusal.findings]


def _no_object(place: str, value: object) -> Finding:
    return Finding(
        "json-not-an-object",
        f"{place} holds {value!r:.60}, not an object",
        place=place,
        got=type(value).__name__,
        expected="object",
        hint=HINTS["json-not-an-object"],
    )


def _unreadable(path: Path, reason: str) -> Finding:
    return Finding(
        "prompts-unreadable",
        f"the prompt file {path} cannot be read: {reason}",
        place=str(path),
        got=reason,
        expected="a readable JSONL or JSON file",
        hint=UNREADABLE.get(reason, "check the path, and that you may read the file"),
    )


def _foreign(path: Path, code: str, kind: str, hint: str) -> Finding:
    return Finding(
        code,
        f"{path.name} is {kind}, which is not read here",
        place=str(path),
        got=kind,
        expected="JSONL or a JSON array, as plain text",
        hint=hint.format(name=path.name, stem=path.stem),
    )


def _too_large(place: str, what: str, size_bytes: int, limit_bytes: int) -> Finding:
    return Finding(
        "prompts-too-long",
        f"{place} is {'a line' if what == 'line' else 'an array'} of more than {limit_bytes} bytes",
        place=place,
        got=f"at least {size_bytes} bytes",
        expected=f"at most {limit_bytes} bytes",
        hint="split the prompt: no target takes millions of tokens"
        if what == "line"
        else "write one object a line (JSONL): lines are read one by one",
    )
