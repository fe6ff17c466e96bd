"""`HubClient`: the one connection a push has. Reads are asked again, writes only where the Hub said it did nothing."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from eaglekit import __version__
from eaglekit.checkpoint.hub_errors import SECRETS
from eaglekit.checkpoint.hub_http import HubConnection
from eaglekit.checkpoint.hub_id import HubId
from eaglekit.checkpoint.hub_patience import PAUSE_LIMIT_S, asked_pause
from eaglekit.checkpoint.remote import HubFolder
from eaglekit.hub.model import Account
from eaglekit.hub.remote.words import Circumstance, Doing, push_finding, status_of
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Answer = TypeVar("Answer")
Say = Callable[[str], None]
"""Hears a line of speech for whoever waits."""

READ_TRIES = 4
BUSY_TRIES = 8
"""How often a request that met 429 is sent: the Hub did nothing with it."""
TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})


class HubClient:
    """huggingface_hub's `HfApi` for one repository. Every foreign error becomes a `Refusal` that holds no token."""

    def __init__(
        self,
        repo: str,
        *,
        endpoint: str | None = None,
        token: str | None = None,
        say: Say = lambda text: None,
        rehearses: bool = False,
    ) -> None:
        hub_id = HubId(repo)
        connection = HubConnection(hub_id, endpoint, token=token)
        self.repo = repo
        self.asked = connection.asked
        self.connection = connection
        """For byte ranges."""
        self.account: Account | None = None
        self.say = say
        self.rehearses = rehearses
        """It speaks to a Hub of one's own, which has nothing but what is pushed."""
        if not self.asked.token:
            raise Refusal(_no_token(hub_id, self.asked.host))
        self.api = _api(self.asked.endpoint, token)
        self._token = token
        _one_voice(say, self.asked.token)

    def read(self, doing: Doing, function: Callable[[], Answer], *, missing: Answer | None = None) -> Answer:
        """What `function` brings back; asked again while the Hub is busy or failing.

        `missing` is the answer where the Hub says 404. Raises `Refusal`.
        """
        for attempt in range(BUSY_TRIES):
            try:
                return self.raw(function)
            except foreign_errors() as error:
                status = status_of(error)
                if status == 404 and missing is not None:
                    return missing
                busy = status == 429 or (attempt + 1 < READ_TRIES and _transient(error, status))
                if not busy or attempt + 1 == BUSY_TRIES or not self.pause(error, attempt):
                    raise self.refusal(error, doing) from None
        raise AssertionError("the last try either answers or refuses")

    def write(self, doing: Doing, function: Callable[[], Answer], *, file: str = "") -> Answer:
        """What `function` brings back; repeated only while the Hub says that it did not take the request (429).

        Raises `Refusal`.
        """
        try:
            return self.attempt(function)
        except foreign_errors() as error:
            raise self.refusal(error, doing, file) from None

    def attempt(self, function: Callable[[], Answer]) -> Answer:
        """As `write`, with the foreign error raised as it is: for whoever must look at what it left behind."""
        for attempt in range(BUSY_TRIES):
            try:
                return self.raw(function)
            except foreign_errors() as error:
                if status_of(error) != 429 or attempt + 1 == BUSY_TRIES or not self.pause(error, attempt):
                    raise
        raise AssertionError("the last try either answers or raises")

    def raw(self, function: Callable[[], Answer]) -> Answer:
        """One call, with the warnings of huggingface_hub kept off the terminal."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()

    def refusal(self, error: Exception, doing: Doing, file: str = "") -> Refusal:
        """The refusal that a foreign error amounts to."""
        return Refusal(push_finding(error, Circumstance(self.asked, self.account, doing, file)))

    def pause(self, error: Exception, attempt: int) -> bool:
        """Wait as the server asks, or a little longer each time; False when it asks for more than anybody waits."""
        seconds = _asked_pause(error)
        seconds = min(2.0**attempt, 30.0) if seconds is None else seconds
        if seconds > PAUSE_LIMIT_S:
            return False
        status = status_of(error)
        self.say(f"{self.asked.host} {f'answered {status}' if status else 'did not answer'}: waiting {seconds:g} s")
        time.sleep(seconds)
        return True

    def other(self, repo: str, commit: str) -> HubFolder:
        """One commit of another repository on the same Hub, with the same token. Raises `Refusal`."""
        return HubFolder(repo, commit, endpoint=self.asked.endpoint, token=self._token)

    def url(self, path: str = "") -> str:
        """A page of the repository, without credentials that the endpoint may hold."""
        scheme, _, rest = self.asked.endpoint.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}/{self.repo}{path}"


def foreign_errors() -> tuple[type[Exception], ...]:
    """What huggingface_hub, hf_xet and their HTTP library raise, also over an answer of a wrong shape."""
    from huggingface_hub.errors import OIDCError

    from eaglekit.checkpoint.hub_client import httpx

    transport = (OSError, httpx.HTTPError, httpx.InvalidURL, RuntimeError, ValueError, OIDCError, ImportError)
    # They take an answer for what it should be: `answer.get` of a list, the first of none.
    return (*transport, LookupError, TypeError, AttributeError)


def _api(endpoint: str, token: str | None) -> HfApi:
    from huggingface_hub import HfApi

    from eaglekit.checkpoint.hub_client import disable_progress_bars

    disable_progress_bars()
    # True means: the token huggingface_hub finds, also where sending it unasked is switched off. It is asked for at
    # every request, so that one that expires during a long upload is renewed.
    return HfApi(endpoint=endpoint, token=token or True, library_name="eaglekit", library_version=__version__)


def _transient(error: Exception, status: int | None) -> bool:
    from huggingface_hub.errors import OfflineModeIsEnabled

    from eaglekit.checkpoint.hub_client import httpx

    if status is not None:
        return status in TRANSIENT
    return isinstance(error, httpx.TransportError | ConnectionError) and not isinstance(error, OfflineModeIsEnabled)


def _asked_pause(error: BaseException | None) -> float | None:
    """Seconds that the answer behind `error` asks to wait; None when it names none."""
    while error is not None and getattr(error, "response", None) is None:
        error = error.__cause__
    return asked_pause(getattr(getattr(error, "response", None), "headers", {}))


def _no_token(hub_id: HubId, host: str) -> Finding:
    return Finding(
        "push-no-token",
        f"there is no token for {host}",
        place=str(hub_id),
        expected="a token that may write",
        hint="run `hf auth login`, or set HF_TOKEN in the environment",
    )


class _Voice(logging.Handler):
    """Says what huggingface_hub logs, with everything secret taken out."""

    def __init__(self, say: Say, token: str) -> None:
        super().__init__()
        self.say, self.token = say, token

    def emit(self, record: logging.LogRecord) -> None:
        """Say one record."""
        with suppress(ValueError, TypeError):  # a message that does not fit its own arguments
            self.say(SECRETS.sub("***", record.getMessage().replace(self.token, "***")))


def _one_voice(say: Say, token: str) -> None:
    """Send huggingface_hub's log through `say`."""
    for name in ("huggingface_hub", "hf_xet"):
        logger = logging.getLogger(name)
        logger.handlers = [_Voice(say, token)]
        logger.propagate = False
