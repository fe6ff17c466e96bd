"""The folder that is to be published, looked at offline: what is in it, and everything that speaks against it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.checkpoint.copying import Written
from eaglekit.checkpoint.disk_errors import unreadable
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.lookup import last_change
from eaglekit.checkpoint.opening import open_source
from eaglekit.hub.local.allowed import MADE, is_allowed, judge
from eaglekit.hub.local.contents import config_findings, manifest_findings, read_manifest, read_provenance
from eaglekit.hub.local.scan import limit_of, scan_texts, too_large, without_secrets
from eaglekit.hub.model import CARD, REPORT, LocalFile
from eaglekit.report import Finding, Refusal
from eaglekit.report.progress import Bar, silent

PIECE_BYTES = 4 << 20
UNREADABLE_LIMIT = 1 << 30
"""Bytes of weights up to which they are compared with their digest although no checkpoint could be made of them."""
MOST_THREADS = 8
OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True)
class Folder:
    """A converted folder, as far as it could be read: the findings that come with it say what was wrong."""

    checkpoint: Checkpoint
    files: tuple[LocalFile, ...]
    """What is published of it, sorted by name: config, weights, index, tokenizer, licence, provenance."""
    beside: Mapping[str, LocalFile]
    """Name -> what an earlier push or a pull has left: card, report, figure, prompts, signature, manifest."""
    manifest: Mapping[str, Written]
    """Empty when it is missing or cannot be read."""
    provenance: Mapping[str, Any]
    """Empty when it is missing or invalid."""

    @property
    def card_text(self) -> str | None:
        """README.md, when there is one that is text."""
        try:
            return self.beside[CARD].read().decode("utf-8") if CARD in self.beside else None
        except UnicodeDecodeError:
            return None

    @property
    def report_data(self) -> bytes | None:
        """report.json, when there is one."""
        return self.beside[REPORT].read() if REPORT in self.beside else None


def inspect_folder(path: Path, label: str | None = None, *, bar: Bar = silent) -> tuple[Folder | None, list[Finding]]:
    """The folder at `path`, and everything that speaks against publishing it: names, links, digests, config, secrets.

    None when its checkpoint cannot be opened. Every file is read once; nothing is sent, nothing is written.
    """
    label = str(path) if label is None else label
    findings: list[Finding] = []
    source, checkpoint = None, None
    try:
        source = LocalFolder(path, label)
        checkpoint = open_source(source)
    except Refusal as refusal:
        findings += refusal.findings
    try:
        names, regular = _entries(path, findings)
    except OSError:
        # No folder, or none that may be read: `LocalFolder` has said so.
        return None, findings
    if source is not None:
        regular = {_escaped(name): source.local_path(name) for name in source.files() if "/" not in name}
    weights = checkpoint.weight_files if checkpoint is not None else [n for n in names if n.endswith(".safetensors")]
    findings += judge(names, weights)
    wanted = {name: file for name, file in regular.items() if is_allowed(name, weights)}
    wanted = dict(_worth_reading(wanted, findings, readable=checkpoint is not None))
    files = {file.name: file for file in _hashed(wanted, findings, bar)}
    manifest = read_manifest(files, findings, label)
    findings += manifest_findings(manifest, files, names, weights)
    provenance = read_provenance(files, findings, label)
    if checkpoint is not None:
        findings += config_findings(checkpoint, provenance, names)
    findings += scan_texts(files.values())
    findings = [without_secrets(finding) for finding in dict.fromkeys(findings)]
    if checkpoint is None:
        return None, findings
    ours = tuple(file for name, file in sorted(files.items()) if name not in MADE)
    beside = {name: file for name, file in files.items() if name in MADE}
    return Folder(checkpoint, ours, beside, manifest, provenance), findings


def _entries(path: Path, findings: list[Finding]) -> tuple[list[str], dict[str, Path]]:
    """The names of all files and links, and the plain files among them; a folder inside is a finding.

    Raises `OSError` for what cannot be listed.
    """
    names, regular = [], {}
    with os.scandir(path) as entries:
        for entry in entries:
            name = _escaped(entry.name)
            if entry.is_dir(follow_symlinks=False):
                findings.append(_subfolder(name))
                continue
            names.append(name)
            if entry.is_file(follow_symlinks=False):
                regular[name] = Path(entry.path)
    return sorted(names), dict(sorted(regular.items()))


def _worth_reading(files: Mapping[str, Path], findings: list[Finding], *, readable: bool) -> Iterator[tuple[str, Path]]:
    """The files without those that have a finding already, and would take hours: a file of holes can have any size."""
    for name, file in files.items():
        size_bytes, is_weights = _size(file), name.endswith(".safetensors")
        if not is_weights and size_bytes > limit_of(name):
            findings.append(too_large(name, size_bytes))
        elif not is_weights or readable or size_bytes <= UNREADABLE_LIMIT:
            yield name, file


def _escaped(name: str) -> str:
    """The name as it can be told: the bytes of one that is no UTF-8 are spelled out, which no rule of names allows."""
    return name.encode("utf-8", "backslashreplace").decode()


def _hashed(files: Mapping[str, Path], findings: list[Finding], bar: Bar) -> list[LocalFile]:
    """Every file with its digest, several at a time; a file that cannot be read is a finding instead."""
    sizes = {name: _size(file) for name, file in files.items()}
    lock = threading.Lock()
    largest_first = sorted(files, key=lambda name: (-sizes[name], name))
    with bar("digest", sum(sizes.values()), "bytes") as tell, ThreadPoolExecutor(_threads(len(files))) as threads:

        def told(done: int) -> None:
            with lock:
                tell(done)

        made = list(threads.map(lambda name: _digest(name, files[name], told), largest_first))
    findings += [item for item in made if isinstance(item, Finding)]
    return sorted((item for item in made if isinstance(item, LocalFile)), key=lambda file: file.name)


def _threads(count: int) -> int:
    return max(1, min(MOST_THREADS, os.cpu_count() or 1, count))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _digest(name: str, file: Path, tell: Callable[[int], None]) -> LocalFile | Finding:
    digest, size = hashlib.sha256(), 0
    try:
        before = last_change(file)
        with os.fdopen(os.open(file, OPEN_FLAGS), "rb", buffering=0) as stream:
            while piece := stream.read(PIECE_BYTES):
                digest.update(piece)
                size += len(piece)
                tell(len(piece))
        after = last_change(file)
    except OSError as error:
        return unreadable(name, error)
    if before != after:
        return _changed(name)
    return LocalFile(name, file, size, digest.hexdigest())


def _changed(name: str) -> Finding:
    return Finding(
        "source-changed",
        f"{name} was changed while it was read",
        place=name,
        expected="the same file from beginning to end",
        hint="make sure that nothing writes to the folder, then run the command again",
    )


def _subfolder(name: str) -> Finding:
    return Finding(
        "publish-subfolder",
        f"{name} is a folder inside the folder",
        place=f"{name}/",
        got="a folder",
        expected="files only",
        hint="move it out: `hf download` leaves .cache behind, git leaves .git, trainers leave their state",
    )
