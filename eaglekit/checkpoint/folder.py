"""`LocalFolder`: the regular files of one folder on this machine, and byte ranges of them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eaglekit.checkpoint.disk_errors import unreadable
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import refuse_if

DEPTH_LIMIT = 8
FILES_LIMIT = 10_000
"""More files than any checkpoint has; a home folder given by mistake is told early."""
HUB_SNAPSHOT = re.compile(r"models--(?P<repo>[^/]+)/snapshots/(?P<commit>[0-9a-f]{40})\Z")
OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
"""O_NONBLOCK: a fifo put in place of a file after the listing must not hang us."""
KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISDIR, "a folder behind a link"),
)


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    size_bytes: int


class LocalFolder:
    """A `Source` over one folder, or over one `.gguf` file. The constructor refuses what must not be opened.

    Hidden folders (`.git`, `.cache`) are no part of a checkpoint and are not entered. A link is followed only inside
    the folder, or into the blobs of the Hugging Face cache when the folder is a snapshot of that cache.
    """

    __slots__ = ("_files", "_snapshot", "label", "root")

    def __init__(self, path: Path, label: str | None = None) -> None:
        self.label = str(path) if label is None else label
        # A GGUF drafter is one file, and lies among others: it is opened as a folder that holds nothing else.
        alone = path.name if path.suffix == ".gguf" and path.is_file() else None
        self.root = _folder(path if alone is None else path.parent, self.label)
        self._snapshot = HUB_SNAPSHOT.search(self.root.as_posix())
        findings: list[Finding] = []
        listed = self._list(findings) if alone is None else self._alone(alone, findings)
        self._files: Mapping[str, _File] = dict(sorted(listed))
        refuse_if(findings)

    def identity(self) -> Mapping[str, str]:
        """Kind `local`, or `hub` with repo and commit when the folder is a snapshot of the Hugging Face cache."""
        if self._snapshot is None:
            return {"kind": "local"}
        return {
            "kind": "hub",
            "repo": self._snapshot["repo"].replace("--", "/"),
            "commit": self._snapshot["commit"],
        }

    def files(self) -> Mapping[str, int]:
        """Every regular file outside hidden folders: POSIX path -> size in bytes, sorted."""
        return {name: file.size_bytes for name, file in self._files.items()}

    def read(self, file: str, start: int, end: int) -> bytes:
        """The bytes [start, end) of `file`. Raises `Refusal` when the file is absent, unreadable or shorter."""
        descriptor = self.open(file)
        try:
            pieces = list(_pieces(descriptor, start, end))
        except OSError as error:
            raise Refusal(unreadable(file, error)) from error
        finally:
            os.close(descriptor)
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if len(data) != end - start:
            raise Refusal(
                Finding(
                    "file-truncated",
                    f"{file} ended at byte {start + len(data)} while bytes {start} to {end} were read",
                    place=file,
                    got=f"{start + len(data)} bytes",
                    expected=f"at least {end} bytes",
                    hint="make sure that nothing writes to the folder, then run the command again",
                )
            )
        return data

    def local_path(self, file: str) -> Path:
        """Where the bytes of `file` lie, links resolved. Raises `Refusal` when the folder has no such file."""
        return self._entry(file).path

    def open(self, file: str) -> int:
        """A read-only descriptor of `file`, proved to be a regular file; the caller closes it."""
        path = self._entry(file).path
        try:
            descriptor = os.open(path, OPEN_FLAGS)
        except OSError as error:
            raise Refusal(unreadable(file, error)) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Refusal(_special(file, "no regular file any more"))
        return descriptor

    def _entry(self, file: str) -> _File:
        try:
            return self._files[file]
        except KeyError:
            raise Refusal(
                Finding("file-missing", f"{self.label} has no file {file}", place=file, expected="a regular file")
            ) from None

    def _list(self, findings: list[Finding]) -> Iterator[tuple[str, _File]]:
        pending, count = [(self.root, "", 1)], 0
        while pending:
            folder, prefix, depth = pending.pop()
            for entry in _scan(folder, prefix, findings):
                name = prefix + entry.name
                count += 1
                if count > FILES_LIMIT or depth > DEPTH_LIMIT:
                    findings.append(_too_large(self.label))
                    return
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith("."):
                        pending.append((Path(entry.path), f"{name}/", depth + 1))
                elif (file := self._file(Path(entry.path), name, findings)) is not None:
                    yield name, file

    def _alone(self, name: str, findings: list[Finding]) -> Iterator[tuple[str, _File]]:
        file = self._file(self.root / name, name, findings)
        if file is not None:
            yield name, file

    def _file(self, path: Path, name: str, findings: list[Finding]) -> _File | None:
        try:
            real = path.resolve(strict=True)
            state = real.lstat()
        except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before Python 3.13
            findings.append(_broken_link(name, error))
            return None
        if not self._may_read(real):
            findings.append(_leaves(name, self.label))
            return None
        if not stat.S_ISREG(state.st_mode):
            kind = next((word for test, word in KINDS if test(state.st_mode)), "no regular file")
            findings.append(_special(name, kind))
            return None
        return _File(real, state.st_size)

    def _may_read(self, real: Path) -> bool:
        if real.is_relative_to(self.root):
            return True
        return self._snapshot is not None and real.parent == self.root.parent.parent / "blobs"


def _folder(path: Path, label: str) -> Path:
    try:
        root = path.resolve(strict=True)
        mode = root.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise Refusal(_missing(label, error)) from error
    if not stat.S_ISDIR(mode):
        raise Refusal(
            Finding(
                "not-a-folder",
                f"{label} is a file, not a folder",
                place=label,
                got="a file",
                expected="a folder with config.json and weights",
                hint="give the folder that the file lies in",
            )
        )
    return root


def _missing(label: str, error: OSError | RuntimeError) -> Finding:
    if isinstance(error, PermissionError):
        return unreadable(label, error)
    looks_like_id = re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+(@[\w./-]+)?", label)
    return Finding(
        "folder-missing",
        f"there is no folder {label}",
        place=label,
        expected="a folder with config.json and weights",
        hint=f"if {label} is a Hub id, check its spelling, or download it first: `hf download {label.split('@')[0]}`"
        if looks_like_id
        else "check the path",
    )


def _scan(folder: Path, prefix: str, findings: list[Finding]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        findings.append(unreadable(prefix or str(folder), error))
        return []


def _pieces(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    # One pread returns at most about 2 GiB on Linux.
    while True:
        piece = os.pread(descriptor, end - start, start) if end > start else b""
        yield piece
        start += len(piece)
        if not piece or start >= end:
            return


def _special(file: str, kind: str) -> Finding:
    return Finding(
        "special-file",
        f"{file} is {kind}",
        place=file,
        got=kind,
        expected="a regular file",
        hint="remove it from the folder: eaglekit opens regular files only",
    )


def _leaves(file: str, label: str) -> Finding:
    return Finding(
        "link-leaves-folder",
        f"{file} is a link to a place outside {label}",
        place=file,
        expected="a file of the folder itself",
        hint="replace the link by the file (`cp --dereference`), if that file is meant to be part of the checkpoint",
    )


def _broken_link(file: str, error: OSError | RuntimeError) -> Finding:
    return Finding(
        "broken-link",
        f"{file} is a link that leads nowhere: {getattr(error, 'strerror', None) or 'a loop of links'}",
        place=file,
        hint="in a Hugging Face cache this is an unfinished download: run `hf download` again",
    )


def _too_large(label: str) -> Finding:
    return Finding(
        "folder-too-large",
        f"{label} has more than {FILES_LIMIT} entries or folders nested deeper than {DEPTH_LIMIT}",
        place=label,
        expected="the folder of one checkpoint",
        hint="give the folder that holds config.json itself",
    )
