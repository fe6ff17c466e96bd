"""What an engine says, fit for a report: without secrets, without folders of this machine, the last words first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

SECRET_NAME = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|_KEY|_KEY_ID|_PAT)$", re.IGNORECASE)
"""Ends of the names of variables that no engine needs and no log should hold."""
SECRET = re.compile(r"\b(?:hf_|sk-|ghp_|xox[abp]-)[\w-]{8,}|(?<=Bearer )\S+")
PATH = re.compile(r"(?<![\w.:/])/(?:[^\s/:'\"()\[\],]+/)+([^\s/:'\"()\[\],]+)")
"""An absolute path; what is left of it is its last name."""
PACKAGE = re.compile(r"[^\s'\"(]*/(?:site|dist)-packages/")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PREFIX = re.compile(r"^(?:\([\w ]+(?:pid=\d+)?\)\s*)?(?:(?:DEBUG|INFO|WARNING|ERROR)\s+[\d-]+ [\d:]+\s+\[[^\]]*\]\s*)?")
"""What vLLM's logger puts in front of a line: the process, the level, the moment and the place."""
RAISED = re.compile(r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b\s*(?::|$)")
SECOND_HAND = ("Engine core initialization failed", "WorkerProc initialization failed", "Worker failed with error")
"""Errors that only say that another process had one."""
LONGEST = 600
"""Characters of an engine's words that a finding repeats."""


def without_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment variables whose names do not speak of a secret."""
    return {name: value for name, value in variables.items() if not SECRET_NAME.search(name)}


def fit_to_print(text: str, names: Mapping[str, str] | None = None) -> str:
    """`text` without secrets, with every path of `names` (path -> name) and every other absolute one called by name."""
    for path in sorted(names or {}, key=len, reverse=True):
        text = text.replace(path, (names or {})[path])
    # Long enough for what is kept, short enough that patterns take no time.
    text = text[: 8 * LONGEST]
    text = PATH.sub(r"\1", PACKAGE.sub("", COLOUR.sub("", SECRET.sub("***", text))))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def last_words(log: str) -> str:
    """The exception that a log ends with, the cause rather than what it led to; else its last line."""
    lines = [PREFIX.sub("", COLOUR.sub("", line)).strip() for line in log.splitlines()]
    raised = [line for line in lines if RAISED.match(line)]
    own = [line for line in raised if not any(words in line for words in SECOND_HAND)]
    told = own or raised or [line for line in lines if line]
    return told[-1] if told else ""


def one_line(parts: Iterable[str]) -> str:
    """Lines as one, without the empty ones."""
    return " ".join(" ".join(part.split()) for part in parts if part.strip())
