"""A headless Chromium, spoken to over its debugging pipe: no package is needed for it."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "google-chrome-stable")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
    "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 60
"""Seconds that an answer may take."""
TALLEST = 8000
"""CSS pixels of a page on a picture: there are limits to what a browser draws at once."""
IN, OUT = 3, 4
"""Where Chromium reads what it is told, and writes what it has to say."""


class BrowserError(Exception):
    """Chromium is not there, went away, or refused what it was asked."""


def program() -> str:
    """The path of a Chromium: what EAGLEKIT_CHROMIUM says, else the first on PATH."""
    asked = os.environ.get("EAGLEKIT_CHROMIUM", "")
    for name in [asked] if asked else NAMES:
        found = shutil.which(name)
        if found:
            return found
    told = f"EAGLEKIT_CHROMIUM is {asked!r}, which is no program" if asked else f"none of {', '.join(NAMES)} is on PATH"
    raise BrowserError(f"there is no Chromium: {told}. Install one, or name its program in EAGLEKIT_CHROMIUM.")


@dataclass
class Page:
    """A page as a person sees it, and everything the browser said about it."""

    browser: Browser
    session: str
    requests: list[str] = field(default_factory=list)
    """Every address that was asked for, the page's own first."""
    said: list[str] = field(default_factory=list)
    """Console messages, exceptions, broken policies."""

    def ask(self, method: str, **values: Any) -> dict[str, Any]:
        """The answer of the page to one call of the protocol."""
        return self.browser.ask(method, self.session, **values)

    def run(self, expression: str) -> Any:
        """What a JavaScript expression gives, as JSON."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """The page from its top down to `TALLEST`, as a PNG."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], TALLEST), "scale": 1}
        picture = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(picture["data"]))

    def print(self, file: Path) -> None:
        """The page on A4 paper, as a PDF."""
        printed = self.ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=False)
        file.write_bytes(base64.b64decode(printed["data"]))

    def heard(self, method: str, values: Mapping[str, Any]) -> None:
        """Keep what an event tells."""
        if method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.said.append(json.dumps(values))

    def close(self) -> None:
        """Close the tab."""
        self.ask("Page.close")


class Browser:
    """A Chromium with a profile of its own, which is ended on leaving."""

    def __init__(self, folder: Path) -> None:
        path = program()
        to_read, to_write, other_read, other_write = (
            high for pipe in (os.pipe(), os.pipe()) for high in map(_high, pipe)
        )
        nowhere = (
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        )
        self.process = os.posix_spawn(
            path,
            [path, *OPTIONS, f"--user-data-dir={folder}", "about:blank"],
            os.environ,
            file_actions=[*nowhere, (os.POSIX_SPAWN_DUP2, to_read, IN), (os.POSIX_SPAWN_DUP2, other_write, OUT)],
            setpgroup=0,
        )
        os.close(to_read)
        os.close(other_write)
        self.tell, self.listen = to_write, other_read
        self.rest = b""
        self.number = 0
        self.pages: dict[str, Page] = {}
        self.loaded: set[str] = set()

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.tell)
        os.close(self.listen)

    def open(self, file: Path, *, width: int, height: int, dark: bool = False, media: str = "screen") -> Page:
        """The page of a file, loaded, in a window of that size; below 600 pixels it is a phone's."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for room in ("Page", "Network", "Runtime", "Log"):
            page.ask(f"{room}.enable")
        phone = width < 600
        page.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.loaded.discard(session)
        page.ask("Page.navigate", url=file.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while session not in self.loaded:
            self._hear(end)
        return page

    def ask(self, method: str, session: str | None = None, **values: Any) -> dict[str, Any]:
        """The answer to one call of the protocol; events that come before it go to their pages."""
        self.number += 1
        call = {"id": self.number, "method": method, "params": values}
        message = json.dumps(call | ({"sessionId": session} if session else {})).encode() + b"\0"
        while message:
            message = message[os.write(self.tell, message) :]
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._hear(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _hear(self, end: float) -> dict[str, Any]:
        """The next message."""
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.listen], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self.listen, 1 << 20) if ready else b""
            if not piece:
                raise BrowserError("Chromium went away" if ready else f"Chromium said nothing for {PATIENCE} seconds")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        session = message.get("sessionId", "")
        if session in self.pages and "method" in message:
            self.pages[session].heard(message["method"], message["params"])
            if message["method"] == "Page.loadEventFired":
                self.loaded.add(session)
        return message


def _high(number: int) -> int:
    """The same pipe under a number that the program's own two cannot meet."""
    high = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return high
