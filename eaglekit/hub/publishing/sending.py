"""`send`: the contents of large files, before any commit. The Hub keeps them by digest, so nothing is sent twice."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eaglekit.hub.model import LocalFile, Outline, regular
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.words import Doing
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import refuse_if

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd

SMALL_BYTES = 8 << 20
"""Up to this size a file is held in memory from its check to its commit, so that nothing can change it in between."""

Tell = Callable[[int], None]
"""Hears of bytes that were sent."""


@dataclass(slots=True)
class Journal:
    """How far a push has come, for whoever interrupts it."""

    stage: str = "looking"
    created: bool = False
    """The repository was made by this push."""
    sent: list[str] = field(default_factory=list)
    """Files whose contents the Hub has."""
    uncertain: bool = False
    """The commit was asked for, and nothing was heard of it yet."""
    remarks: list[Finding] = field(default_factory=list)
    """What the Hub said beside its answers."""
    commit: str | None = None


def prepared(planned: Outline, tell: Tell) -> list[CommitOperationAdd]:
    """One operation for each file that is sent. Raises `Refusal` when a file is not what was planned."""
    operations: list[CommitOperationAdd] = []
    findings: list[Finding] = []
    for file in planned.sends:
        try:
            operations.append(_operation(file, tell))
        except Refusal as refusal:
            findings += refusal.findings
        except OSError as error:
            findings.append(_changed(file.name, error.strerror or type(error).__name__, f"{file.size_bytes} bytes"))
    refuse_if(findings)
    return operations


def send(operations: list[CommitOperationAdd], planned: Outline, client: HubClient, journal: Journal) -> None:
    """Send what the Hub wants to have before the commit, one file after the other: an interruption ends it at once."""
    small = [operation for operation in operations if isinstance(operation.path_or_fileobj, bytes)]
    large = [operation for operation in operations if operation not in small]
    for group in [small, *([operation] for operation in large)]:
        if not group:
            continue
        name = group[0].path_in_repo if len(group) == 1 else "small files"
        journal.stage = f"sending {name}"
        client.write(Doing.SEND, lambda: _preupload(group, planned, client), file=name)  # noqa: B023 - called at once
        journal.sent += [operation.path_in_repo for operation in group]
    digests = {file.name: file.sha256 for file in planned.sends}
    findings = []
    for operation in operations:
        if getattr(operation, "_should_ignore", False):
            findings.append(_ignored(operation.path_in_repo, client))
        found = operation.upload_info.sha256.hex()
        if found != digests[operation.path_in_repo]:
            findings.append(_changed(operation.path_in_repo, found, digests[operation.path_in_repo]))
    refuse_if(findings)


def _preupload(group: list[CommitOperationAdd], planned: Outline, client: HubClient) -> None:
    client.api.preupload_lfs_files(
        client.repo,
        group,
        revision=planned.wishes.revision,
        create_pr=planned.wishes.create_pr,
        free_memory=False,
    )


def _operation(file: LocalFile, tell: Tell) -> CommitOperationAdd:
    from huggingface_hub import CommitOperationAdd

    if isinstance(file.content, bytes) or (file.size_bytes <= SMALL_BYTES and not file.name.endswith(".safetensors")):
        checked = LocalFile.made(file.name, file.read())
        if checked.sha256 != file.sha256:
            raise Refusal(_changed(file.name, checked.sha256, file.sha256))
        tell(file.size_bytes)
        return CommitOperationAdd(file.name, checked.read())
    if not file.content.is_file() or file.content.stat().st_size != file.size_bytes:
        raise Refusal(_changed(file.name, "another size", f"{file.size_bytes} bytes"))
    return _watched(tell)(file.name, file.content)


def _watched(tell: Tell) -> type[CommitOperationAdd]:
    """An operation whose reading for a transfer is told. (By xet, files are read outside Python, untold.)"""
    from huggingface_hub import CommitOperationAdd

    class Watched(CommitOperationAdd):
        @contextmanager
        def as_file(self, with_tqdm: bool = False) -> Iterator[Any]:
            with _Stream(Path(str(self.path_or_fileobj)), tell) as stream:
                yield stream

    return Watched


class _Stream(io.FileIO):
    """A file that tells how far it has been read. What is read again after a failure is not told again."""

    def __init__(self, path: Path, tell: Tell) -> None:
        super().__init__(path, "r", opener=regular)
        self._tell, self._furthest = tell, 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece: bytes = super().read(-1 if size is None else size) or b""
        if (here := self.tell()) > self._furthest:
            self._tell(here - self._furthest)
            self._furthest = here
        return piece


def _changed(name: str, got: str, expected: str) -> Finding:
    return Finding(
        "push-file-changed",
        f"{name} is not what it was when the plan was made",
        place=name,
        got=got,
        expected=expected,
        hint="nothing was published; let what writes to the folder end, then run the command again",
    )


def _ignored(name: str, client: HubClient) -> Finding:
    return Finding(
        "push-ignored",
        f"the .gitignore of {client.repo} leaves out {name}",
        place=f"{client.repo}: {name}",
        expected="a repository that takes every file of the push",
        hint="nothing was published; change .gitignore on the Hub, then run the command again",
    )
