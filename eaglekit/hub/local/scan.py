"""Secrets and places of this machine in what is to be published: texts, decoded JSON, metadata of weights.

JSON is decoded first, so that escapes hide nothing. A vocabulary holds any short string, paths among them: in
tokenizers, and in prompts that people wrote, only secrets are looked for, and only of unmistakable kinds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from eaglekit.checkpoint.gguf_header import parse_gguf
from eaglekit.checkpoint.header import parse_header
from eaglekit.checkpoint.machine_paths import MODEL_KEYS, paths_in, places_in
from eaglekit.hub.local.patterns import mask, masked, secrets_in
from eaglekit.hub.model import CARD, FIGURE, PROMPTS, SIGNATURE, LocalFile
from eaglekit.report import Finding, Refusal

TEXT_LIMIT = 256 << 20
"""Largest text searched, in bytes: ten times the largest tokenizer."""
CARD_LIMIT = 16 << 20
"""Of a README.md; as much as is read of the one on the Hub."""
FINDINGS_SHOWN = 20
"""Of one file: who wrote one path wrote a thousand."""
BINARY = ("tokenizer.model", FIGURE, SIGNATURE)
"""Bytes that are no text; searched as they are."""
VOCABULARY = ("tokenizer.json", "vocab.json", "added_tokens.json", "merges.txt", PROMPTS)
NAME_IT = "name the target by its Hub id: eaglekit convert SRC DST --set target_name=ORG/NAME"

Hit = tuple[str, str, str, str]
"""Where in the file, its key, what kind of secret or empty for a path, and the text."""


def scan_texts(files: Iterable[LocalFile]) -> list[Finding]:
    """What in these files must not be published, at most 20 findings of each. Never shows a secret.

    Weights are searched in the metadata and names of their headers only.
    """
    return [finding for file in files for finding in _scan(file)]


def without_secrets(finding: Finding) -> Finding:
    """The finding with every secret in its texts masked: what quotes a file may quote one."""
    return replace(
        finding,
        message=masked(finding.message),
        place=masked(finding.place),
        got=masked(finding.got),
        expected=masked(finding.expected),
        hint=masked(finding.hint),
    )


def _scan(file: LocalFile) -> list[Finding]:
    if file.name.endswith(".safetensors"):
        return _shown(file.name, _in_header(file))
    if file.name.endswith(".gguf"):
        return _shown(file.name, _in_gguf(file))
    if file.size_bytes > limit_of(file.name):
        return [too_large(file.name, file.size_bytes)]
    try:
        data = file.read()
    except OSError:
        # Gone or locked since it was hashed: sending it will say so.
        return []
    if file.name in BINARY:
        return _shown(file.name, _in_lines(data.decode("latin-1"), sure=True))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [_no_text(file.name, f"{data[error.start]:02X} at byte {error.start}")]
    if "\0" in text:
        return [_no_text(file.name, f"a NUL at byte {data.index(0)}")]
    if any(fnmatchcase(file.name, pattern) for pattern in VOCABULARY):
        return _shown(file.name, _in_lines(text, sure=True))
    return _shown(file.name, _in_json(text) if file.name.endswith(".json") else _in_lines(text))


# Soft hyphens, joiners, marks of byte order: they come along with what is copied from a page, and show nothing.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_ESCAPE = re.compile(r"\\+(?:u00|x)([2-7][0-9A-Fa-f])")


def _readable(text: str) -> str:
    """The text as its reader has it: escapes of ASCII written out, what cannot be seen taken away; same lines."""
    if "\\u00" in text or "\\x" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _in_lines(text: str, *, sure: bool = False) -> Iterator[Hit]:
    text = _readable(text)
    spans = [(start, end, kind) for kind, start, end in secrets_in(text, sure=sure)]
    if not sure:
        spans += [(start, end, "") for start, end in places_in(text)]
    line, counted = 1, 0
    for start, end, kind in sorted(spans):
        line, counted = line + text.count("\n", counted, start), start
        yield f"line {line}", "", kind, text[start:end]


def _in_json(text: str) -> Iterator[Hit]:
    try:
        # Objects as tuples of pairs: of a key that stands twice, both values are looked at.
        document = json.loads(text, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        yield from _in_lines(text)
        return
    yield from _in_value(document)


def _in_value(document: Any) -> Iterator[Hit]:
    pending: list[tuple[str, str, Any]] = [("", "", document)]
    # A document of a million objects has few names.
    spelled: dict[str, str] = {}
    while pending:
        path, key, value = pending.pop()
        if isinstance(value, str):
            yield from ((path, key, kind, text) for kind, text in _in_string(key, value))
        elif isinstance(value, list):
            pending += ((f"{path}[{index}]", key, part) for index, part in reversed(list(enumerate(value))))
        elif isinstance(value, tuple):
            for name, part in reversed(value):
                if name not in spelled:
                    spelled[name] = masked(name)
                    yield from ((path, "", kind, text) for kind, text in _in_string("", name))
                pending.append((f"{path}.{spelled[name]}".removeprefix("."), name, part))


def _in_string(key: str, value: str) -> Iterator[tuple[str, str]]:
    """Kind and text of everything in one string. Its key tells what the value alone would not: `api_key`."""
    named = f"{key}={_readable(value)}"
    secrets = [(start, end, kind) for kind, start, end in secrets_in(named) if start > len(key)]
    yield from ((kind, named[start:end]) for start, end, kind in sorted(secrets))
    paths = places_in(value) if secrets else paths_in(key, value)
    yield from (("", value[start:end]) for start, end in sorted(paths))


def _in_header(file: LocalFile) -> Iterator[Hit]:
    """Metadata and tensor names of a weights file. One that cannot be read is told by whoever opens the folder."""
    try:
        header = parse_header(_reader(file), file.size_bytes, file.name)
    except (Refusal, OSError):
        return
    yield from (
        (f"__metadata__.{path}", key, kind, text) for path, key, kind, text in _metadata(header.metadata.items())
    )
    for name in header.tensors:
        yield from (("a tensor's name", "", kind, text) for kind, text in _in_string("", name))


def _in_gguf(file: LocalFile) -> Iterator[Hit]:
    """Metadata and tensor names of a GGUF file. Long lists, a vocabulary for one, are not looked through."""
    try:
        header = parse_gguf(_reader(file), file.size_bytes, file.name)
    except (Refusal, OSError):
        return
    yield from _in_json(json.dumps(header.config))
    for name in header.tensors:
        yield from (("a tensor's name", "", kind, text) for kind, text in _in_string("", name))


def _metadata(pairs: Iterable[tuple[str, str]]) -> Iterator[Hit]:
    """Values of metadata are strings, and often JSON in them."""
    for key, value in pairs:
        inner = list(_in_json(value)) if value[:1] in ("{", "[") else []
        yield from ((f"{masked(key)}.{path}", name, kind, text) for path, name, kind, text in inner)
        if not inner:
            yield from _in_value(((key, value),))


def _reader(file: LocalFile) -> Callable[[int, int], bytes]:
    def read(start: int, end: int) -> bytes:
        if isinstance(file.content, bytes):
            return file.content[start:end]
        with file.content.open("rb") as stream:
            stream.seek(start)
            return stream.read(end - start)

    return read


def _shown(file: str, hits: Iterable[Hit]) -> list[Finding]:
    """A finding per hit, the last one saying that there are more."""
    some = list(islice(dict.fromkeys(hits), FINDINGS_SHOWN + 1))
    findings = [_secret(file, hit) if hit[2] else _path(file, hit) for hit in some[:FINDINGS_SHOWN]]
    if len(some) > FINDINGS_SHOWN:
        findings[-1] = replace(findings[-1], message=f"{findings[-1].message}; there are more in this file")
    return findings


def _secret(file: str, hit: Hit) -> Finding:
    where, _, kind, text = hit
    return Finding(
        "secret-found",
        f"{file} holds {kind}",
        place=f"{file}: {where}",
        got=mask(text),
        expected="no secret",
        hint="revoke it where it was issued, then remove it from the file",
    )


def _path(file: str, hit: Hit) -> Finding:
    where, key, _, text = hit
    shown = masked(text.rstrip("."))
    about_target = key in MODEL_KEYS and file != CARD
    return Finding(
        "local-path-found",
        f"{file} names {shown!r}, a place on a machine",
        place=f"{file}: {where}",
        got=shown,
        expected="a Hub id, ORG/NAME" if about_target else "no path of a machine",
        hint=NAME_IT if about_target else "write the name alone, without its folder",
    )


def _no_text(file: str, got: str) -> Finding:
    return Finding(
        "publish-not-text",
        f"{file} is no text",
        place=file,
        got=got,
        expected="UTF-8",
        hint="save it as UTF-8, or move it out of the folder",
    )


def limit_of(name: str) -> int:
    """Bytes of a text of this name that are read."""
    return CARD_LIMIT if name == CARD else TEXT_LIMIT


def too_large(name: str, size_bytes: int) -> Finding:
    """The finding for a text that nobody reads."""
    return Finding(
        "publish-not-text",
        f"{name} has {size_bytes} bytes, too many for a text to be searched",
        place=name,
        got=f"{size_bytes} bytes",
        expected=f"at most {limit_of(name)} bytes",
        hint="move it out of the folder",
    )
