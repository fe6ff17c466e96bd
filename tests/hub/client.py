"""A client of the loopback Hub in its own process: huggingface_hub reads its environment once, when it is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eaglekit.hub.loopback.server import Hub

ROOT = Path(__file__).resolve().parents[2]

PRELUDE = """
import json, sys, traceback
from eaglekit.report import Refusal

def tell(value):
    print(json.dumps(value), flush=True)

def pause():
    print("pause", flush=True)
    sys.stdin.readline()

def refusal(action):
    try:
        action()
    except Refusal as refused:
        traceback.print_exc()
        return [finding.as_json() for finding in refused.findings]
    return []
"""
"""What a snippet may use: `tell` a value to the test, `pause` while the test does something, collect a `refusal`."""


@dataclass(slots=True)
class Client:
    """Runs Python snippets or commands whose Hub is `hub`."""

    hub: Hub
    home: Path
    """HF_HOME: nothing of the developer's own is read or written."""
    token: str = ""
    more: dict[str, str] = field(default_factory=dict)
    """Further environment variables."""

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING", "COLUMNS"))}
        return {
            **kept,
            "HF_ENDPOINT": self.hub.endpoint,
            "HF_HOME": str(self.home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            **({"HF_TOKEN": self.token} if self.token else {}),
            **self.more,
        }

    def run(self, snippet: str, *, during: Callable[[], object] = lambda: None) -> Answers:
        """What `snippet` told, and everything it printed. `during` is called at each pause."""
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + snippet],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            lines = []
            for line in process.stdout:
                if line == "pause\n":
                    during()
                    process.stdin.write("\n")
                    process.stdin.flush()
                else:
                    lines.append(line)
            printed = process.stderr.read()
        assert process.returncode == 0, printed
        return Answers([json.loads(line) for line in lines], "".join(lines) + printed)

    def hf(self, *words: object) -> subprocess.CompletedProcess[str]:
        """What the stock `hf` command of this environment did with these words."""
        command = Path(sys.executable).with_name("hf")
        return subprocess.run(
            [str(command), *map(str, words)],
            env={**self.environment, "NO_COLOR": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@dataclass(slots=True)
class Answers:
    """What a snippet told the test."""

    values: list[Any]
    printed: str
    """All of stdout and stderr, tracebacks included."""

    @property
    def only(self) -> Any:
        (value,) = self.values
        return value

    @property
    def codes(self) -> list[str]:
        """The finding codes, when what was told is a refusal."""
        return [finding["code"] for finding in self.only]
