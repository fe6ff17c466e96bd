"""What a converted folder says about itself, held against what is in it: manifest, provenance, config."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.copying import Written
from eaglekit.checkpoint.json_document import read_object
from eaglekit.dialects.given import SETTINGS
from eaglekit.dialects.reading import read
from eaglekit.dialects.tables import DIALECTS
from eaglekit.hub.local.allowed import CONFIG, INDEX, MADE
from eaglekit.hub.model import LocalFile
from eaglekit.plan.manifest import MANIFEST, parse_manifest
from eaglekit.plan.provenance import PROVENANCE
from eaglekit.report import Finding, Refusal, Severity
from eaglekit.report.schemas import problems

MANIFEST_LIMIT = 1 << 20
"""Largest manifest read, in bytes: a file takes about 150."""
SHOWN = 10
"""Problems that are told of one document."""
AGAIN = "convert again: eaglekit convert SRC DST"
CONVERT_WITH = "convert again, with --set KEY=VALUE for what should be different, and validate the result"


def read_manifest(files: Mapping[str, LocalFile], findings: list[Finding], label: str = "") -> dict[str, Written]:
    """The manifest of the folder; empty, with a finding that calls it `label`, when there is none to be read."""
    if MANIFEST not in files:
        findings.append(
            Finding(
                "manifest-missing",
                f"{label or 'the folder'} has no {MANIFEST}",
                place=_within(label, MANIFEST),
                expected="the manifest of the conversion",
                hint="publish a folder that eaglekit convert wrote, without --no-manifest",
            )
        )
        return {}
    try:
        return _parsed(files[MANIFEST])
    except (ValueError, OSError) as error:
        why = "it is no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        findings.append(Finding("manifest-invalid", f"{MANIFEST} cannot be read: {why}", place=MANIFEST, hint=AGAIN))
        return {}


def _within(label: str, name: str) -> str:
    return f"{label.rstrip('/')}/{name}" if label else name


def _parsed(file: LocalFile) -> dict[str, Written]:
    if file.size_bytes > MANIFEST_LIMIT:
        raise ValueError(f"it has {file.size_bytes} bytes, at most {MANIFEST_LIMIT} are read")
    listed = parse_manifest(file.read().decode("utf-8"))
    document = {name: {"size_bytes": one.size_bytes, "sha256": one.sha256} for name, one in listed.items()}
    wrong = problems(document, "manifest")
    if wrong:
        raise ValueError(wrong[0])
    return listed


def manifest_findings(
    manifest: Mapping[str, Written], files: Mapping[str, LocalFile], names: Collection[str], weights: Iterable[str]
) -> Iterator[Finding]:
    """Where manifest and folder disagree. `names` is everything that lies in the folder, whether it was read or not."""
    for name, listed in manifest.items():
        file = files.get(name)
        if file is None:
            # A file that lies there and was not read has a finding already, of why not.
            if name not in names:
                yield _gone(name)
        elif (file.size_bytes, file.sha256) != (listed.size_bytes, listed.sha256):
            yield _differs(file, listed)
    if not manifest:
        return
    for name in sorted({CONFIG, INDEX, PROVENANCE, *weights} - MADE):
        if name in files and name not in manifest:
            yield Finding(
                "manifest-unlisted",
                f"{name} is not in {MANIFEST}",
                place=name,
                got="not listed",
                expected="listed with size and digest",
                hint="remove it, or convert again",
            )


def _gone(name: str) -> Finding:
    return Finding(
        "manifest-file-missing",
        f"{name} is in {MANIFEST} and not in the folder",
        place=name,
        got="absent",
        expected="the file of the conversion",
        hint="copy the folder again, or convert again",
    )


def _differs(file: LocalFile, listed: Written) -> Finding:
    same_size = file.size_bytes == listed.size_bytes
    return Finding(
        "manifest-mismatch",
        f"{file.name} is not the file that {MANIFEST} lists",
        place=file.name,
        got=f"sha256 {file.sha256}" if same_size else f"{file.size_bytes} bytes",
        expected=f"sha256 {listed.sha256}" if same_size else f"{listed.size_bytes} bytes",
        hint=CONVERT_WITH if file.name == CONFIG else "copy the folder again, or convert again",
    )


def read_provenance(files: Mapping[str, LocalFile], findings: list[Finding], label: str = "") -> dict[str, Any]:
    """provenance.json of the folder; empty, with findings, when it is missing or breaks its schema."""
    if PROVENANCE not in files:
        findings.append(
            Finding(
                "provenance-missing",
                f"{label or 'the folder'} has no {PROVENANCE}",
                place=_within(label, PROVENANCE),
                expected="a folder that eaglekit convert wrote",
                hint=AGAIN,
            )
        )
        return {}
    try:
        document = read_object(files[PROVENANCE].read(), PROVENANCE)
    except Refusal as refusal:
        findings += [_no_provenance(finding.message) for finding in refusal.findings[:SHOWN]]
        return {}
    except OSError as error:
        findings.append(_no_provenance(error.strerror or str(error)))
        return {}
    wrong = problems(document, "provenance")
    if not wrong and not _is_written(document["to"]):
        wrong = [f"to: {document['to'][:80]!r} is no layout that eaglekit writes"]
    findings += [_no_provenance(text) for text in wrong[:SHOWN]]
    return {} if wrong else document


def _is_written(dialect: str) -> bool:
    return dialect in DIALECTS and DIALECTS[dialect].writable


def _no_provenance(why: str) -> Finding:
    return Finding("provenance-invalid", f"{PROVENANCE} is not eaglekit's own: {why}", place=PROVENANCE, hint=AGAIN)


def config_findings(checkpoint: Checkpoint, provenance: Mapping[str, Any], names: Collection[str]) -> Iterator[Finding]:
    """What is wrong with the config: its layout's schema, how it is read, and code that it names."""
    if provenance:
        for text in problems(dict(checkpoint.config), f"config.{provenance['to']}")[:SHOWN]:
            yield Finding(
                "publish-config-invalid",
                f"{CONFIG} breaks the schema of layout {provenance['to']}: {text}",
                place=CONFIG,
                expected=f"a config that schemas/config.{provenance['to']}.json allows",
                hint=_mended(text),
            )
    yield from _auto_map(checkpoint.config, names)
    try:
        found = read(checkpoint).findings
    except Refusal as refusal:
        found = refusal.findings
    yield from (finding for finding in found if finding.severity is Severity.ERROR)


def _mended(text: str) -> str:
    """What helps against a break of the schema: an option where there is one for the key it names."""
    named = next((name for name in SETTINGS if text.startswith(f"{name}:") or f"'{name}'" in text), None)
    if named is not None:
        return f"convert again, with --set {named}=VALUE, and validate the result"
    return (
        f"leave {CONFIG} as eaglekit convert wrote it: take the change back, or convert again and validate the result"
    )


def _auto_map(config: Mapping[str, Any], names: Collection[str]) -> Iterator[Finding]:
    """A finding for everything that `auto_map` names, at any depth: code is not published."""
    pending: list[tuple[str, Any]] = [("", config)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping):
            for key, part in value.items():
                if key == "auto_map":
                    yield from (_code(f"{path}{key}", text, names) for text in sorted(set(_texts(part))))
                else:
                    pending.append((f"{path}{key}.", part))
        elif isinstance(value, list):
            pending += [(path, part) for part in value]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _code(place: str, text: str, names: Collection[str]) -> Finding:
    repo, _, rest = text.rpartition("--")
    module = f"{rest.rpartition('.')[0].replace('.', '/') or rest}.py"
    where = f"of {repo}" if repo else "which lies here and is not published" if module in names else "which is not here"
    return Finding(
        "auto-map-missing",
        f"{CONFIG} names the code {module}, {where}",
        place=f"{CONFIG}: {place}",
        got=text,
        expected="no auto_map",
        hint="remove auto_map where the checkpoint was made, then convert it: no engine needs the code",
    )
