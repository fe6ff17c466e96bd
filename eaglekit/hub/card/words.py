"""Values as they may stand in Markdown: nothing in them is markup, and every number is rounded by one rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from eaglekit.report.model import Measurement, printable

LONGEST = 400
"""Longest value that is shown, in characters; the report beside the card has the rest."""
# A character reference is never structure (CommonMark 6.2), also inside tables, where a backslash is read twice.
_MARKUP = re.compile(r"[\\`*\[\]|~$<>&@#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<=:)/(?=/)|(?<=www)\.", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z0-9\[-][A-Za-z0-9 ./:=,+_\[\]()-]*", re.ASCII)


def words(value: Any) -> str:
    """A value as inline text: one line, shown as it is."""
    return _inert(_line(value))


def prose(value: Any) -> str:
    """A sentence as inline text, with what stands in backticks as code."""
    # Every second piece stands between two backticks; a last one without its partner is a character as any other.
    pieces = re.split(r"`([^`]+)`", _line(value))
    return "".join(code(piece) if index % 2 else _inert(piece) for index, piece in enumerate(pieces))


def code(value: Any) -> str:
    """A value as inline code, in text and in tables."""
    line = _line(value)
    return f"`{line}`" if _PLAIN.fullmatch(line) and "://" not in line else f"<code>{words(line)}</code>"


def fenced(text: str, language: str) -> str:
    """A text as a code block, whatever it holds."""
    # A line that began with `<` could be one of the markers that end what eaglekit writes.
    lines = [f" {line}" if line.startswith("<!--") else line for line in printable(text).splitlines()]
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, numbers: int = 0) -> str:
    """Cells, already safe, as a table; the last `numbers` columns stand to the right."""
    words_first = len(columns) - numbers
    rule = ["---" if index < words_first else "---:" for index, _ in enumerate(columns)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, tuple(rule), *rows))


def length(value: float) -> str:
    """Tokens, sizes and factors: two decimals, which is more than an interval ever leaves standing."""
    return f"{value:.2f}"


def share(value: float) -> str:
    """A share as a percentage with one decimal."""
    return percentage(100 * value)


def percentage(value: float) -> str:
    """A percentage with one decimal."""
    return f"{value:.1f} %"


def figure_of(measurement: Measurement) -> str:
    """The value of a measurement, by its unit."""
    return share(measurement.value) if measurement.unit == "share" else length(measurement.value)


def between(measurement: Measurement) -> str:
    """The 95 % interval of a measurement, or nothing."""
    if measurement.low is None or measurement.high is None:
        return ""
    if measurement.unit == "share":
        return f"{100 * measurement.low:.1f} – {share(measurement.high)}"
    return f"{length(measurement.low)} – {length(measurement.high)}"


def with_interval(measurement: Measurement) -> str:
    """Value and interval in one cell."""
    ends = between(measurement)
    return f"{figure_of(measurement)} ({ends})" if ends else figure_of(measurement)


def listed(values: Any) -> str:
    """Numbers or names with commas and an `and`."""
    names = [str(value) for value in values]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _inert(line: str) -> str:
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", line)


def _line(value: Any) -> str:
    line = printable(" ".join(str(value).split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
