"""Arguments that contradict each other, told in the words of whoever gave them; and whose refusal a refusal is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from eaglekit.report import Refusal

OPTION = re.compile(r"--([a-z][a-z-]*[a-z])")
ARGUMENTS = {
    "for": "engines", "from": "dialect", "set": "settings", "drop": "drops", "as": "published",
    "with-prompts": "prompts", "no-figure": "figure", "engine-arg": "engine_arguments",
}  # fmt: skip
"""Option -> the argument in Python, where it is not the same word."""


class Misuse(ValueError):  # noqa: N818 - as Refusal
    """Arguments that cannot be meant together, or a value that an argument cannot have. Nothing was done."""

    def __init__(self, options: str) -> None:
        self.options = options
        """The sentence in the words of the command line."""
        super().__init__(OPTION.sub(lambda found: argument(found[1]), options))


def argument(option: str) -> str:
    """The argument of a Python function that stands for an option, given without its dashes."""
    return ARGUMENTS.get(option, option.replace("-", "_"))


@contextmanager
def refusing(command: str, subject: str) -> Iterator[None]:
    """Inside, a `Refusal` carries the report that the command of this name would print."""
    try:
        yield
    except Refusal as refusal:
        refusal.report = replace(refusal.report, command=command, subject=refusal.report.subject or subject)
        raise
