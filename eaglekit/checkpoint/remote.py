"""`HubFolder`: one commit of a Hub repository as a `Source`. Headers are read over the network; weights stay there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from eaglekit import __version__
from eaglekit.checkpoint.folder import LocalFolder
from eaglekit.checkpoint.hub_http import HubConnection, RemoteFile
from eaglekit.checkpoint.hub_id import HubId, is_local, is_repo, parse_hub_id
from eaglekit.checkpoint.model import Source
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from eaglekit.checkpoint.hub_client import tqdm

READ_AHEAD_BYTES = 128 << 10
"""Fetched with the first read of a file: a drafter's header is some kilobytes, so that one request serves it all."""
COMMIT = re.compile(r"[0-9a-f]{40}")

Progress = Callable[[str, int, int], None]
"""Called with a file, its bytes that have arrived, and its size in bytes."""


def find_source(text: str) -> Source:
    """The folder or Hub repository that the user means by `text`. A folder that exists wins.

    Raises `Refusal` when there is neither, and whatever the Hub may answer.
    """
    return LocalFolder(Path(text).expanduser(), text) if is_local(text) else _hub_folder(text)


def _hub_folder(text: str) -> HubFolder:
    hub_id = parse_hub_id(text)
    return HubFolder(hub_id.repo, hub_id.revision)


class HubFolder:
    """A `Source` over one commit. The constructor asks the Hub which one; nothing pushed later changes what is read."""

    __slots__ = ("_connection", "_endpoint", "_files", "_heads", "commit", "label", "repo")

    def __init__(
        self, repo: str, revision: str | None = None, *, endpoint: str | None = None, token: str | None = None
    ) -> None:
        hub_id = HubId(repo, revision)
        self.label = str(hub_id)
        self._endpoint = endpoint
        self._connection = HubConnection(hub_id, endpoint, token=token)
        self.repo, self.commit = self._resolve(hub_id)
        self._files: Mapping[str, int] | None = None
        self._heads: dict[str, bytes] = {}

    def identity(self) -> Mapping[str, str]:
        """Kind `hub`, the repository and the full commit."""
        return {"kind": "hub", "repo": self.repo, "commit": self.commit}

    def files(self) -> Mapping[str, int]:
        """Every file of the commit outside hidden folders: POSIX path -> size in bytes, sorted. Listed once."""
        if self._files is None:
            self._files = dict(sorted(self._list().items()))
        return self._files

    def read(self, file: str, start: int, end: int) -> bytes:
        """The bytes [start, end) of `file`. Raises `Refusal` when it is absent, shorter or not delivered."""
        size = self._size(file)
        if not 0 <= start <= end <= size:
            raise Refusal(_shorter(file, size, end))
        head = b""
        if start < min(READ_AHEAD_BYTES, size):
            head = self._head(file, size)[start:end]
            start += len(head)
        return head + self._fetch(file, start, end, size) if start < end else head

    def local_path(self, file: str) -> Path | None:
        """None: the file is not on this machine."""
        return None

    def download(self, files: Sequence[str], *, progress: Progress | None = None) -> LocalFolder:
        """The same commit as a folder of the Hugging Face cache in which at least `files` lie, each complete.

        What the cache has is not fetched again; `progress` hears of the rest.
        """
        from huggingface_hub import hf_hub_download

        snapshot = Path()
        for file in files:
            size = self._size(file)
            with self._connection.refusing(file):
                path = Path(
                    hf_hub_download(
                        self.repo,
                        file,
                        revision=self.commit,
                        endpoint=self._endpoint,
                        tqdm_class=_reporter(file, size, progress),
                        library_name="eaglekit",
                        library_version=__version__,
                    )
                )
                found = path.stat().st_size
            if found != size:
                raise Refusal(self._damaged(file, found, size))
            snapshot = path.parents[file.count("/")]
        return LocalFolder(snapshot, self.label)

    def _resolve(self, hub_id: HubId) -> tuple[str, str]:
        """The repository under its present name (the Hub redirects old ones), and the commit."""
        document, _ = self._connection.json(f"{hub_id.repo}/revision/{quote(hub_id.revision or 'main', safe='')}")
        answer = document if isinstance(document, dict) else {}
        repo, commit = answer.get("id", hub_id.repo), answer.get("sha")
        if not (isinstance(repo, str) and is_repo(repo)):
            raise Refusal(self._connection.wrong("", f"the name {repo!r}", hub_id.repo))
        if not (isinstance(commit, str) and COMMIT.fullmatch(commit)):
            raise Refusal(self._connection.wrong("", f"commit {commit!r}", "a commit of 40 hexadecimal digits"))
        return repo, commit

    def _list(self) -> dict[str, int]:
        files: dict[str, int] = {}
        for page in self._connection.pages(f"{self.repo}/tree/{self.commit}", "recursive=true&expand=false"):
            files.update(item for item in map(self._listed, page) if item is not None)
        return files

    def _listed(self, item: Any) -> tuple[str, int] | None:
        """(path, size) of one entry of the listing; None for a folder and for what a hidden folder holds."""
        if not isinstance(item, dict) or not isinstance(path := item.get("path"), str):
            raise Refusal(self._connection.wrong("", "an entry without a path", "a file or a folder"))
        large = item.get("lfs")
        size = large.get("size") if isinstance(large, dict) else item.get("size")
        parts = path.split("/")
        if "" in parts or ".." in parts or "." in parts or "\\" in path or not path.isprintable():
            raise Refusal(self._connection.wrong("", f"the path {path!r}", "a path inside the repository"))
        if item.get("type") != "file" or any(part.startswith(".") for part in parts[:-1]):
            return None
        if type(size) is not int or size < 0:
            raise Refusal(self._connection.wrong(path, f"size {size!r}", "a size in bytes"))
        return path, size

    def _head(self, file: str, size: int) -> bytes:
        if file not in self._heads:
            self._heads[file] = self._fetch(file, 0, min(READ_AHEAD_BYTES, size), size)
        return self._heads[file]

    def _fetch(self, file: str, start: int, end: int, size: int) -> bytes:
        return self._connection.read(RemoteFile(self.repo, self.commit, file, size), start, end)

    def _size(self, file: str) -> int:
        try:
            return self.files()[file]
        except KeyError:
            raise Refusal(
                Finding("file-missing", f"{self.label} has no file {file}", place=file, expected="a file")
            ) from None

    def _damaged(self, file: str, found: int, size: int) -> Finding:
        return Finding(
            "hub-cache-damaged",
            f"the cached copy of {file} from {self.label} is {found} bytes; the Hub lists {size}",
            place=f"{self.label}: {file}",
            got=f"{found} bytes",
            expected=f"{size} bytes",
            hint=f"run `hf cache verify {self.repo}`, then `hf download {self.repo} {file} --force-download`",
        )


def _shorter(file: str, size: int, end: int) -> Finding:
    return Finding(
        "file-truncated",
        f"{file} is {size} bytes, and its header describes more",
        place=file,
        got=f"{size} bytes",
        expected=f"at least {end} bytes",
        hint="the file was damaged before it was published: ask its owner to upload it again",
    )


def _reporter(file: str, size_bytes: int, progress: Progress | None) -> type[tqdm]:
    """A bar for huggingface_hub that draws nothing and tells `progress`; eaglekit has one voice."""
    from eaglekit.checkpoint.hub_client import tqdm

    class Reporter(tqdm):
        def __init__(self, *positional: Any, **named: Any) -> None:
            super().__init__(*positional, **{**named, "disable": True})  # type: ignore[no-untyped-call]
            self.arrived = int(named.get("initial") or 0)

        def update(self, n: float | None = 1) -> bool | None:
            self.arrived += int(n or 0)
            if progress is not None:
                progress(file, self.arrived, size_bytes)
            return None

    return Reporter
