"""What went wrong on the way to the Hub while publishing, as a finding. Foreign text is never passed on whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from eaglekit.checkpoint.hub_errors import Asked, clean
from eaglekit.hub.model import Account
from eaglekit.report import Finding


class Doing(str, Enum):
    """What was being done; stands in sentences between an account and a repository."""

    ACCOUNT = "ask who owns the token for"
    LOOK = "look at"
    CREATE = "make"
    BRANCH = "make a branch in"
    CARD = "have the card checked for"
    SEND = "send files to"
    COMMIT = "commit to"
    PROPOSE = "open a pull request in"
    TAG = "tag"
    COLLECT = "put into a collection"


@dataclass(frozen=True, slots=True)
class Circumstance:
    """Where and for whom something failed."""

    asked: Asked
    account: Account | None
    doing: Doing
    file: str = ""


NOTHING_SENT = "nothing was published; run the same command again, which sends only what is missing"
STATUS_CODES: Mapping[int, str] = {
    401: "hub-token-rejected",
    403: "push-not-allowed",
    408: "hub-unreachable",
    409: "push-rival-commit",
    412: "push-rival-commit",
    429: "hub-rate-limited",
}
"""HTTP status -> code. Others: 5xx is `hub-server-error`, 4xx is `push-refused`."""
WORDS: Mapping[str, tuple[str, str]] = {
    "hub-token-rejected": (
        "{host} does not accept the token",
        "run `hf auth login` again; HF_TOKEN in the environment wins over the token saved there",
    ),
    "push-not-allowed": ("{account} may not {doing} {repo}{place}", "{rights}"),
    "hub-unreachable": (
        "{host} could not be reached to {doing} {repo}",
        "check the connection, HTTPS_PROXY and HF_ENDPOINT; {again}",
    ),
    "push-rival-commit": ("{repo} has changed since the plan was made", "{again}"),
    "hub-rate-limited": ("{host} asks {account} to slow down, and the pauses it asked for did not suffice", "{again}"),
    "hub-server-error": ("{host} failed to {doing} {repo}{place}", "{again}"),
    "push-refused": ("{host} refuses to {doing} {repo}{place}", "do what its words say; nothing was published"),
    "hub-repository-disabled": ("{host} has closed {repo}", "push to another repository"),
    "hub-repository-not-found": ("{host} shows no model {repo} to {account}", "check the spelling; {rights}"),
    "hub-revision-not-found": ("{repo} does not have the revision any more", "{again}"),
    "hub-answer-wrong": (
        "{host} gave an answer to `{doing} {repo}` that does not fit",
        "unset HF_ENDPOINT if that is a mirror",
    ),
    "hub-offline": ("offline mode is on, so that nothing can be published", "unset HF_HUB_OFFLINE"),
    "push-without-xet": (
        "{host} gave no address for the xet protocol, by which {file} was to be sent",
        "set HF_HUB_DISABLE_XET=1 in the environment, then {again}",
    ),
    "push-upload-failed": ("{file} could not be sent to {repo}", "{again}"),
    "push-card-refused": ("{host} does not accept the front matter of README.md", "correct what is named"),
}
"""Code -> (message, hint), filled with the circumstances."""
PROMISED = "X-Error-Message"


def push_finding(error: Exception, at: Circumstance) -> Finding:
    """The finding for an exception of huggingface_hub, hf_xet or their HTTP library."""
    cause = error.__cause__
    if isinstance(error, RuntimeError) and isinstance(cause, Exception) and getattr(error, "response", None) is None:
        # An LFS transfer that failed after its retries: the reason is the cause.
        return push_finding(cause, at)
    response = getattr(error, "response", None)
    code = _code(error, response, at)
    fields = _fields(at)
    message, hint = WORDS[code]
    return Finding(
        code,
        message.format_map(fields),
        place=f"{at.asked.id}: {at.file}" if at.file else str(at.asked.id),
        got=_reason(error, response, at),
        hint=hint.format_map(fields),
    )


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status behind an error, also when it is only the cause of one; None when there was no answer."""
    while error is not None:
        response = getattr(error, "response", None)
        if response is not None:
            return int(response.status_code)
        error = error.__cause__
    return None


def _code(error: Exception, response: Any, at: Circumstance) -> str:
    from huggingface_hub import errors

    from eaglekit.checkpoint.hub_client import httpx

    kinds: tuple[tuple[type[Exception], str], ...] = (
        (errors.OfflineModeIsEnabled, "hub-offline"),
        (errors.DisabledRepoError, "hub-repository-disabled"),
        (errors.GatedRepoError, "push-not-allowed"),
        (errors.RevisionNotFoundError, "hub-revision-not-found"),
    )
    if code := next((code for kind, code in kinds if isinstance(error, kind)), ""):
        return code
    if response is not None:
        return _code_of_status(error, response, at)
    if isinstance(error, ConnectionError) and "xet-write-token" in str(error):
        return "push-without-xet"
    if isinstance(error, ValueError) and "Invalid metadata in README.md" in str(error):
        return "push-card-refused"
    late: tuple[tuple[type[Exception], str], ...] = (
        (httpx.TransportError, "hub-unreachable"),
        (httpx.InvalidURL, "hub-unreachable"),
        (ConnectionError, "hub-unreachable"),
        (TimeoutError, "hub-unreachable"),
        (ImportError, "hub-unreachable"),
        *(() if at.doing is Doing.SEND or isinstance(error, httpx.HTTPError) else ((OSError, "hub-unreachable"),)),
    )
    other = "push-upload-failed" if at.doing is Doing.SEND else "hub-answer-wrong"
    return next((code for kind, code in late if isinstance(error, kind)), other)


def _code_of_status(error: Exception, response: Any, at: Circumstance) -> str:
    from huggingface_hub.errors import RepositoryNotFoundError

    status = response.status_code
    if response.url.host != urlsplit(at.asked.endpoint).hostname and status < 500:
        # The storage behind the Hub: an address that has run out, not a right that is missing.
        return "push-upload-failed"
    if status == 401 and isinstance(error, RepositoryNotFoundError) and "Invalid cred" not in str(error):
        return "hub-repository-not-found"
    if status == 404:
        return "hub-repository-not-found" if isinstance(error, RepositoryNotFoundError) else "hub-answer-wrong"
    if status == 403 and at.doing is Doing.COMMIT and response.headers.get(PROMISED) is None:
        # `403 Forbidden: None` is also what a request that is too large gets.
        return "push-refused"
    return STATUS_CODES.get(status, "hub-server-error" if status >= 500 else "push-refused")


def _fields(at: Circumstance) -> Mapping[str, str]:
    return {
        "host": at.asked.host,
        "repo": at.asked.id.repo,
        "place": f" ({at.file})" if at.file else "",
        "file": at.file or "a file",
        "doing": at.doing.value,
        "account": f"the account {at.account.name!r}" if at.account else "this account",
        "rights": rights(at.account, at.asked.id.repo),
        "again": NOTHING_SENT if at.doing in SENDING else "run the same command again",
    }


SENDING = (Doing.CREATE, Doing.BRANCH, Doing.CARD, Doing.SEND, Doing.COMMIT, Doing.PROPOSE)


def rights(account: Account | None, repo: str) -> str:
    """One sentence of advice: where the account may write, and what would help."""
    if account is None:
        return "see with `hf auth whoami` whose token it is"
    owner = repo.partition("/")[0]
    where = f"may write in {', '.join(account.places)}" if account.places else "may only read"
    advice = f"make one that may write in {owner}, or propose the change with --create-pr"
    return f"its token ({account.role}) {where}; {advice}"


def _reason(error: Exception, response: Any, at: Circumstance) -> str:
    """Status and the server's own words, or the error's, with everything secret taken out."""
    if response is None:
        return clean(f"{type(error).__name__}: {error}", at.asked.token)
    words = getattr(error, "server_message", None) or ""
    if response.status_code == 403 and not words:
        words = "without a reason; also what the Hub answers to a request that is too large"
    return clean(f"HTTP {response.status_code} {words}", at.asked.token)
