"""What went wrong on the way to the Hub, as a finding. The text of a foreign exception is never passed on whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from eaglekit.checkpoint.hub_id import HubId
from eaglekit.report import Finding

STATUS_CODES: Mapping[int, str] = {
    401: "hub-repository-not-found",
    403: "hub-access-denied",
    404: "hub-repository-not-found",
    408: "hub-unreachable",
    429: "hub-rate-limited",
}
"""HTTP status -> code, where the Hub sent no X-Error-Code. Others: 5xx is `hub-server-error`, the rest is wrong."""

TOKEN_COMPLAINTS = ("invalid credentials", "is expired")
"""What a 401 says when the token, not the repository, is the matter."""

WORDS: Mapping[str, tuple[str, str]] = {
    "hub-repository-not-found": ("{host} shows no model {repo} to {reader}", "{login}"),
    "hub-repository-gated": (
        "{repo} is gated and its files are closed to {reader}",
        "accept the terms on {endpoint}/{repo}, then run the command again with the token of that account",
    ),
    "hub-repository-disabled": ("{host} has closed {repo}", "use a copy that you already have and trust"),
    "hub-revision-not-found": (
        "{repo} has no revision {revision}",
        "look at the branches and tags on {endpoint}/{repo}/tree/main; a pull request is written refs/pr/NUMBER",
    ),
    "hub-file-not-found": ("{host} lists {file} in {id} and does not serve it", "run the command again later"),
    "hub-access-denied": ("{host} does not let {reader} read {repo}", "make a token that may read {repo}"),
    "hub-token-rejected": (
        "{host} does not accept the token",
        "run `hf auth login` again; HF_TOKEN in the environment wins over the token saved there",
    ),
    "hub-offline": (
        "offline mode is on, so that {id} cannot be looked up",
        "unset HF_HUB_OFFLINE, or give a folder{cached}",
    ),
    "hub-unreachable": (
        "{host} cannot be reached",
        "check the connection, HTTPS_PROXY and HF_ENDPOINT, or give a folder{cached}",
    ),
    "hub-rate-limited": ("{host} asks {reader} to slow down", "wait some minutes, then run the command again"),
    "hub-server-error": ("{host} failed while {id} was read", "run the command again later"),
    "hub-answer-wrong": ("{host} gave an answer that does not fit the question about {id}", "unset HF_ENDPOINT"),
    "hub-download-failed": ("{file} of {id} could not be written to the cache", "check HF_HOME: space and owner"),
}
"""Code -> (message, hint), filled with what was asked."""

SECRETS = re.compile(r"hf_\w+|(?<=://)[^/\s@]+@|\?\S+|Bearer\s+\S+")
"""Tokens, credentials inside an address, the query of a signed address."""

REASON_LIMIT = 200
"""Characters of a server's own words that are passed on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked which Hub for what."""

    id: HubId
    endpoint: str
    token: str
    """Empty when none is sent. Only ever compared with text, to take it out."""

    @property
    def host(self) -> str:
        """The endpoint as messages name it, without credentials."""
        return urlsplit(self.endpoint).netloc.rpartition("@")[2] or "the Hub"


def hub_finding(error: Exception, asked: Asked, file: str = "") -> Finding:
    """The finding for an exception of huggingface_hub or its HTTP library, raised while `asked` was being read."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    if isinstance(error, LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        return hub_finding(error.__cause__, asked, file)
    response = getattr(error, "response", None)
    code = _code(error, response, asked, file)
    message, hint = WORDS[code]
    fields = _fields(asked, file)
    return Finding(
        code,
        message.format_map(fields),
        place=f"{asked.id}: {file}" if file else str(asked.id),
        got=_reason(error, response, asked.token),
        hint=hint.format_map(fields),
    )


def _code(error: Exception, response: Any, asked: Asked, file: str) -> str:
    from huggingface_hub import errors

    from eaglekit.checkpoint.hub_client import httpx

    if response is not None and response.status_code == 401 and not isinstance(error, errors.GatedRepoError):
        said = response.headers.get("X-Error-Message", "").lower()
        if any(complaint in said for complaint in TOKEN_COMPLAINTS):
            return "hub-token-rejected"
    kinds: tuple[tuple[type[Exception], str], ...] = (
        (errors.GatedRepoError, "hub-repository-gated"),
        (errors.RepositoryNotFoundError, "hub-repository-not-found"),
        (errors.DisabledRepoError, "hub-repository-disabled"),
        (errors.RevisionNotFoundError, "hub-revision-not-found"),
        (errors.RemoteEntryNotFoundError, "hub-file-not-found"),
        (errors.OfflineModeIsEnabled, "hub-offline"),
    )
    code = next((code for kind, code in kinds if isinstance(error, kind)), "")
    if code or response is None:
        late: tuple[tuple[type[Exception], str], ...] = (
            (httpx.TransportError, "hub-unreachable"),
            (httpx.InvalidURL, "hub-unreachable"),
            (httpx.HTTPError, "hub-answer-wrong"),
            (errors.FileMetadataError, "hub-answer-wrong"),
            (ConnectionError, "hub-unreachable"),
            (ImportError, "hub-unreachable"),  # a proxy of a kind that needs another package
            (ValueError, "hub-answer-wrong"),
        )
        # Without a file, nothing was to be written: it is a certificate that cannot be read, say.
        other = "hub-download-failed" if file else "hub-unreachable"
        return code or next((code for kind, code in late if isinstance(error, kind)), other)
    elsewhere = response.url.host != urlsplit(asked.endpoint).hostname
    if response.status_code >= 500 or (elsewhere and response.status_code in {401, 403, 404}):
        return "hub-server-error"
    return STATUS_CODES.get(response.status_code, "hub-answer-wrong")


def _fields(asked: Asked, file: str) -> Mapping[str, str]:
    account = "see with `hf auth whoami` who asked" if asked.token else "if it is private, run `hf auth login`"
    return {
        "host": asked.host,
        "endpoint": f"{urlsplit(asked.endpoint).scheme}://{asked.host}",
        "id": str(asked.id),
        "repo": asked.id.repo,
        "revision": asked.id.revision or "main",
        "reader": "this account" if asked.token else "a reader without a token",
        "login": f"check the spelling; {account}; a folder is written ./{asked.id.repo}",
        "file": file or "a file",
        "cached": _cached(asked.id),
    }


def _cached(hub_id: HubId) -> str:
    """Words that lead to the snapshot of `hub_id` in the Hugging Face cache, or nothing when there is none."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(hub_id.repo, "config.json", revision=hub_id.revision)
    return f"; the cache has {Path(path).parent}" if isinstance(path, str) else ""


def _reason(error: Exception, response: Any, token: str) -> str:
    """Status and the server's own words, or the transport's, with everything secret taken out."""
    if response is not None:
        words = getattr(error, "server_message", None) or ""
        return clean(f"HTTP {response.status_code} {words}", token)
    return clean(f"{type(error).__name__}: {error}", token)


def clean(text: str, token: str) -> str:
    """`text` on one line, cut to `REASON_LIMIT`, without `token` and whatever else may open a door."""
    if token:
        text = text.replace(token, "***")
    return " ".join(SECRETS.sub("***", text).split())[:REASON_LIMIT]
