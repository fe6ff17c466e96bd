"""`HubConnection`: JSON answers and byte ranges of one repository, over huggingface_hub's own session and retries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from eaglekit import __version__
from eaglekit.checkpoint.hub_errors import Asked, clean, hub_finding
from eaglekit.checkpoint.hub_id import HubId
from eaglekit.checkpoint.hub_patience import be_patient
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from eaglekit.checkpoint.hub_client import httpx

RETRIES = 3
FIRST_PAUSE_S = 0.5
"""Doubled with every retry; a server's Retry-After goes before it."""
RESUMES = 4
"""How often one read is taken up again after the connection broke off."""
SKIP_LIMIT_BYTES = 1 << 20
"""What is thrown away at most to get at a range on a server that sends files from the start."""
MOST_PAGES = 1_000
"""Of one listing; the Hub puts a thousand files on each."""
CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of one commit, as the listing describes it."""

    repo: str
    commit: str
    path: str
    size_bytes: int


class HubConnection:
    """What eaglekit asks of the Hub about one id. Every failure becomes a `Refusal` that holds no secret."""

    def __init__(self, hub_id: HubId, endpoint: str | None = None, *, token: str | None = None) -> None:
        """`token` stands in place of the one that huggingface_hub finds in the environment or its store."""
        try:
            from huggingface_hub import constants
        except ValueError as error:
            raise Refusal(_malformed_setting(hub_id, str(error))) from None
        endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
        if not _is_address(endpoint):
            raise Refusal(_malformed_endpoint(hub_id))
        be_patient()
        self._headers = _headers(hub_id, token)
        token = self._headers.get("authorization", "").removeprefix("Bearer ")
        self.asked = Asked(hub_id, endpoint, token)
        self._patience: dict[str, Any] = {
            "timeout": constants.HF_HUB_DOWNLOAD_TIMEOUT,
            "max_retries": RETRIES,
            "base_wait_time": FIRST_PAUSE_S,
            # httpx takes Authorization off when a redirect leaves the origin; huggingface_hub relies on it as well.
            "follow_redirects": True,
        }
        if constants.HF_HUB_DOWNLOAD_TIMEOUT <= 0:
            raise Refusal(_malformed_setting(hub_id, f"HF_HUB_DOWNLOAD_TIMEOUT={constants.HF_HUB_DOWNLOAD_TIMEOUT}"))
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise Refusal(_unusable_token(hub_id, "holds spaces or characters other than printable ASCII"))

    def json(self, path: str, query: str = "") -> tuple[Any, str]:
        """The JSON document at `path` of the API, and the query of the next page or an empty text."""
        from eaglekit.checkpoint.hub_client import hf_raise_for_status, http_backoff

        url = f"{self.asked.endpoint}/api/models/{path}" + (f"?{query}" if query else "")
        with self.refusing():
            response = http_backoff("GET", url, headers=self._headers, **self._patience)
            hf_raise_for_status(response)
        try:
            document = response.json()
        except (ValueError, RecursionError):
            raise Refusal(self.wrong("", response.headers.get("Content-Type", "no type"), "JSON")) from None
        following = response.links.get("next", {}).get("url", "")
        try:
            # Only the query of the next page is used: the token goes to no other address.
            return document, urlsplit(following).query
        except ValueError:
            raise Refusal(self.wrong("", f"the next page at {following}", "an address")) from None

    def pages(self, path: str, query: str = "") -> Iterator[list[Any]]:
        """Every page of a listing, asked for as it is needed. One that does not end is refused."""
        seen = set[str]()
        for _ in range(MOST_PAGES):
            page, query = self.json(path, query)
            if not isinstance(page, list):
                raise Refusal(self.wrong("", type(page).__name__, "a listing"))
            yield page
            if not query or query in seen:
                return
            seen.add(query)
        raise Refusal(self.wrong("", f"{MOST_PAGES} pages and more", "a listing that ends"))

    def read(self, file: RemoteFile, start: int, end: int) -> bytes:
        """The bytes [start, end) of `file`. No more than these are transferred."""
        from huggingface_hub import hf_hub_url

        url = hf_hub_url(file.repo, file.path, revision=file.commit, endpoint=self.asked.endpoint)
        data = bytearray()
        for _ in range(RESUMES + 1):
            with self.refusing(file.path), self._answer(url, start + len(data), end) as response:
                skip = self._offset_in_body(response, file, start + len(data), end)
                _fill(data, response, skip, end - start)
            if len(data) == end - start:
                return bytes(data)
        raise Refusal(
            Finding(
                "hub-transfer-broken",
                f"the connection to {self.asked.host} broke off {RESUMES + 1} times while {file.path} was read",
                place=f"{self.asked.id}: {file.path}",
                got=f"{len(data)} bytes",
                expected=f"{end - start} bytes from byte {start}",
                hint=f"run the command again, or `hf download {self.asked.id.repo}` and give the folder",
            )
        )

    @contextmanager
    def refusing(self, file: str = "") -> Iterator[None]:
        """Inside, every error of the Hub's client becomes a `Refusal`; the foreign error is not chained to it."""
        from eaglekit.checkpoint.hub_client import httpx

        try:
            yield
        except (OSError, httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
            raise Refusal(hub_finding(error, self.asked, file)) from None

    def wrong(self, file: str, got: str, expected: str) -> Finding:
        """The finding for an answer that does not fit."""
        about = f"{file} of {self.asked.id}" if file else str(self.asked.id)
        return Finding(
            "hub-answer-wrong",
            f"{self.asked.host} gave a wrong answer about {about}",
            place=f"{self.asked.id}: {file}" if file else str(self.asked.id),
            got=clean(got, self.asked.token),
            expected=expected,
            hint="unset HF_ENDPOINT if that is a mirror, or download the model and give the folder",
        )

    @contextmanager
    def _answer(self, url: str, start: int, end: int) -> Iterator[httpx.Response]:
        from eaglekit.checkpoint.hub_client import hf_raise_for_status, http_stream_backoff

        headers = {**self._headers, "Accept-Encoding": "identity", "Range": f"bytes={start}-{end - 1}"}
        with http_stream_backoff("GET", url, headers=headers, **self._patience) as response:
            hf_raise_for_status(response)
            yield response

    def _offset_in_body(self, response: httpx.Response, file: RemoteFile, start: int, end: int) -> int:
        """How many bytes of the answer's body come before byte `start` of the file; an answer that lies is refused."""
        commits = {step.headers.get("X-Repo-Commit", file.commit) for step in (*response.history, response)}
        if others := commits - {file.commit}:
            raise Refusal(self.wrong(file.path, f"commit {', '.join(sorted(others))}", f"commit {file.commit}"))
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise Refusal(self.wrong(file.path, f"bytes encoded as {encoding}", "plain bytes"))
        if response.status_code == 200:
            length = response.headers.get("Content-Length", str(file.size_bytes))
            if length != str(file.size_bytes):
                raise Refusal(
                    self.wrong(file.path, f"a file of {length} bytes", f"the {file.size_bytes} bytes of the listing")
                )
            if start > SKIP_LIMIT_BYTES:
                raise Refusal(self._range_ignored(file.path, start))
            return start
        answered = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        fits = answered and int(answered[1]) == start <= int(answered[2]) < end
        if not (answered and fits and answered[3] in {"*", str(file.size_bytes)}):
            got = f"HTTP {response.status_code}, {response.headers.get('Content-Range', 'no Content-Range')}"
            raise Refusal(self.wrong(file.path, got, f"bytes {start}-{end - 1}/{file.size_bytes}"))
        return 0

    def _range_ignored(self, file: str, start: int) -> Finding:
        return Finding(
            "hub-range-ignored",
            f"{self.asked.host} sends {file} from its first byte where bytes from {start} on were asked for",
            place=f"{self.asked.id}: {file}",
            got="HTTP 200, the whole file",
            expected="HTTP 206, the range",
            hint=f"run `hf download {self.asked.id.repo}` and give the folder",
        )


def _fill(data: bytearray, response: httpx.Response, skip: int, size_bytes: int) -> None:
    """Append the body from byte `skip` on until `data` has `size_bytes`, or the connection breaks off."""
    from eaglekit.checkpoint.hub_client import httpx

    try:
        for piece in response.iter_raw():
            data += piece[skip : skip + size_bytes - len(data)]
            skip = max(0, skip - len(piece))
            if len(data) == size_bytes:
                return
    except httpx.TransportError:
        # Must not reach http_stream_backoff: it would start a second answer inside a `with` that is ending.
        return


def _headers(hub_id: HubId, token: str | None) -> dict[str, str]:
    from eaglekit.checkpoint.hub_client import build_hf_headers

    try:
        return build_hf_headers(token=token, library_name="eaglekit", library_version=__version__)
    except (OSError, UnicodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Refusal(_unusable_token(hub_id, f"cannot be read from its file: {words}")) from None


def _unusable_token(hub_id: HubId, problem: str) -> Finding:
    return Finding(
        "hub-token-unusable",
        f"the token for the Hub {problem}",
        place=str(hub_id),
        expected="the token as the Hub showed it",
        hint="set HF_TOKEN again, or run `hf auth login`",
    )


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        host = (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and host != b"" and parts.port != 0
    except ValueError:  # UnicodeError is one too
        return False


def _malformed_setting(hub_id: HubId, problem: str) -> Finding:
    return Finding(
        "hub-unreachable",
        "huggingface_hub cannot work with its settings in the environment",
        place=str(hub_id),
        got=clean(problem, ""),
        hint="look at the variables that begin with HF_ (HF_ENDPOINT, HF_HUB_DOWNLOAD_TIMEOUT) and unset them",
    )


def _malformed_endpoint(hub_id: HubId) -> Finding:
    return Finding(
        "hub-unreachable",
        "HF_ENDPOINT is no address",
        place=str(hub_id),
        expected="https://HOST",
        hint="unset HF_ENDPOINT, or correct it",
    )
