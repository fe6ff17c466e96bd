"""`Address`: asking a server for JSON or text, with limits, no redirects, and no word about the key it is given."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from eaglekit.report import Finding, Refusal
from eaglekit.serving.words import fit_to_print, one_line

KEY_VARIABLE = "VLLM_API_KEY"
LOOK_S = 20.0
"""For what a server knows by heart."""
ANSWER_S = 3600.0
"""For an answer: a long one of a large model on a busy server."""
MOST_BYTES = 32 << 20
THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the key to somebody else."""

    def redirect_request(self, *given: Any, **named: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is."""

    root: str
    """Without a final slash and without /v1."""

    def get(self, path: str, *, timeout_s: float = LOOK_S) -> bytes:
        """What a path answers. Raises `Refusal`."""
        return _ask(Request(self.root + path, headers=key_headers()), path, timeout_s)  # noqa: S310 - the scheme was checked

    def post(self, path: str, document: Any, *, timeout_s: float = ANSWER_S) -> Any:
        """The JSON that a path answers to JSON. Raises `Refusal`."""
        headers = {**key_headers(), "Content-Type": "application/json"}
        body = json.dumps(document).encode()
        return parsed(_ask(Request(self.root + path, body, headers, method="POST"), path, timeout_s), path)  # noqa: S310


def parse_address(url: str) -> Address:
    """The server at `url`. Raises `Refusal` for what is no address of one."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
        fits = fits and parts.port != 0 and url.isascii() and url.isprintable() and " " not in url
        secret = parts.username is not None or parts.password is not None
    except ValueError:
        fits, secret = False, False
    if secret:
        raise Refusal(_no_address("the address holds a user or a password", f"the key in {KEY_VARIABLE}"))
    if not fits:
        raise Refusal(_no_address("this is no address of a server", "http://HOST:PORT"))
    return Address(re.sub(r"(?:/v1)?/*$", "", url))


def parsed(data: bytes, path: str) -> Any:
    """`data` as JSON. Raises `Refusal`."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Refusal(_unusable(path, "no JSON", "JSON")) from None


def unusable(path: str, got: str, expected: str) -> Refusal:
    """The refusal of an answer that is not what it should be."""
    return Refusal(_unusable(path, got, expected))


def key_headers() -> dict[str, str]:
    """The header with the key, where there is one."""
    key = os.environ.get(KEY_VARIABLE)
    return {"Authorization": f"Bearer {key}"} if key else {}


def _ask(request: Request, path: str, timeout_s: float) -> bytes:
    try:
        with _opener(request.host).open(request, timeout=timeout_s) as answer:
            data: bytes = answer.read(MOST_BYTES + 1)
    except HTTPError as error:
        with error:
            words = told_by_server(_safely(error))
        raise Refusal(refused(path, error.code, words)) from None
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise Refusal(
            silent(path, f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__)
        ) from None
    if len(data) > MOST_BYTES:
        raise Refusal(_unusable(path, f"more than {MOST_BYTES:,} bytes", "an answer of a usual size"))
    return data


def _opener(host: str) -> OpenerDirector:
    """No proxy stands between this machine and itself, whatever the environment says of the network."""
    here = (urlsplit(f"//{host}").hostname or "") in THIS_MACHINE
    return build_opener(_NoRedirects, *([ProxyHandler({})] if here else []))


def _safely(error: HTTPError) -> str:
    """What a server says of an error, as far as it can be read."""
    try:
        return error.read(2000).decode(errors="replace")
    except (OSError, HTTPException):
        return ""


def told_by_server(text: str) -> str:
    """What a server says, on one line and fit for a report: servers repeat the key that they were given."""
    return fit_to_print(one_line([without_key(text)]))


def without_key(text: str) -> str:
    """`text` without the key."""
    key = os.environ.get(KEY_VARIABLE)
    return text.replace(key, "***") if key else text


def _no_address(message: str, expected: str) -> Finding:
    return Finding(
        "endpoint-address", message, place="--endpoint", expected=expected,
        hint="give the address that clients of the server use, with or without /v1",
    )  # fmt: skip


def silent(path: str, reason: str) -> Finding:
    """The finding of a server that does not answer."""
    return Finding(
        "endpoint-silent",
        f"the server does not answer {path}: {told_by_server(reason)}",
        place="--endpoint",
        got="no answer",
        expected="a vLLM server",
        hint="look whether it runs, and whether this machine may reach it",
    )


def refused(path: str, code: int, words: str) -> Finding:
    """The finding of an answer with another status than 200, and what the server says of it."""
    if code in (401, 403):
        hint = f"put its key into the environment variable {KEY_VARIABLE}"
    elif 300 <= code < 400:
        hint = "give the address that it leads to: redirects are not followed, they would take the key along"
    else:
        hint = "its own log says more"
    return Finding(
        "endpoint-refused",
        f"the server answers {path} with {code}" + (f": {words}" if words else ""),
        place="--endpoint",
        got=str(code),
        expected="200",
        hint=hint,
    )


def _unusable(path: str, got: str, expected: str) -> Finding:
    return Finding(
        "endpoint-unusable",
        f"the answer to {path} is {got}",
        place="--endpoint",
        got=got,
        expected=expected,
        hint="--endpoint measures vLLM's own server: its /metrics, /v1/models and /v1/completions",
    )
