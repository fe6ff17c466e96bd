"""How long, and how much, a Hub is listened to, and what is told of it: no pause of hours, no answer without end,
nothing unpacked, no password out of an address.

huggingface_hub sleeps for as long as a server asks, and waits for ever on a connection that has died.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from eaglekit.checkpoint.hub_errors import SECRETS

if TYPE_CHECKING:
    from eaglekit.checkpoint.hub_client import httpx

PAUSE_LIMIT_S = 900.0
"""The longest pause a server may ask for before it counts as unreachable."""
SILENCE_LIMIT_S = 300.0
"""How long nothing may come, where a request does not say."""
ANSWER_LIMIT_S = 60.0
"""How long an answer of the API may arrive, once it has begun."""
ANSWER_LIMIT_BYTES = 128 << 20
"""How long it may be; a page of a listing has 300 kB."""
ANSWERS = ("/api/", "/info/lfs/")
"""In the path of what is answered with JSON; everything else is files, as large as they are."""
RATE_LIMIT = re.compile(r"\br=0\b.*\bt=(\d{1,6})")
"""The Hub's own header beside Retry-After: nothing remaining, seconds to wait."""


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait; None when it names none."""
    if found := RATE_LIMIT.search(headers.get("ratelimit", "")):
        return float(found[1]) + 1
    value = headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdecimal() else None


@cache
def be_patient() -> None:
    """Let every connection of huggingface_hub in this process keep to these limits."""
    from eaglekit.checkpoint.hub_client import default_client_factory, httpx, set_client_factory

    def patient() -> httpx.Client:
        client = default_client_factory()
        client.timeout = httpx.Timeout(SILENCE_LIMIT_S, connect=30.0)
        # What is not packed cannot be a small answer that unpacks to gigabytes.
        client.headers["accept-encoding"] = "identity"
        client.event_hooks["response"].append(_look_at)
        return client

    set_client_factory(patient)
    for handler in logging.getLogger("huggingface_hub").handlers:
        handler.addFilter(_hide)


def _hide(record: logging.LogRecord) -> bool:
    """Take out of a line of huggingface_hub's log what opens a door: it names addresses as they are."""
    record.msg, record.args = SECRETS.sub("***", record.getMessage()), None
    return True


def _look_at(response: httpx.Response) -> None:
    """Raise for an answer that asks for too much, and bound the body of one that is JSON."""
    from eaglekit.checkpoint.hub_client import httpx

    pause = asked_pause(response.headers)
    if response.status_code >= 400 and pause is not None and pause > PAUSE_LIMIT_S:
        said = f"it asks for a pause of more than {PAUSE_LIMIT_S:g} s"
        raise httpx.HTTPStatusError(said, request=response.request, response=response)
    if not any(part in response.request.url.path for part in ANSWERS):
        return
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise httpx.DecodingError(f"an answer encoded as {encoding[:20]}", request=response.request)

    class Bounded(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            end, size_bytes = time.monotonic() + ANSWER_LIMIT_S, 0
            for piece in self._stream:
                size_bytes += len(piece)
                if size_bytes > ANSWER_LIMIT_BYTES or time.monotonic() > end:
                    # A timeout would be asked again; this is no accident.
                    raise httpx.DecodingError("an answer that does not end", request=response.request)
                yield piece

        def close(self) -> None:
            self._stream.close()

    assert isinstance(response.stream, httpx.SyncByteStream)  # noqa: S101 - the client is no asynchronous one
    response.stream = Bounded(response.stream)
