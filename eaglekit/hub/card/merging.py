"""A card as text: front matter, what people wrote, and between two markers what eaglekit writes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from eaglekit.hub.card.front_matter import FENCE
from eaglekit.report import Finding, Refusal

BEGIN = "<!-- eaglekit: begin -->"
END = "<!-- eaglekit: end -->"
MOST_CHARACTERS = 4 << 20
"""Longest README.md that is taken: no reader shows more."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_CODE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class CardText:
    """The parts of a README.md."""

    newline: str
    """What ends most of its lines."""
    metadata: str
    """The YAML, with `\\n`."""
    before: str
    """What people wrote above the markers, byte for byte."""
    after: str
    """And below them."""

    def joined(self, metadata: str, body: str) -> str:
        """The whole card with this YAML and, between the markers, this body."""
        top = f"{FENCE}\n{metadata}{FENCE}\n"
        block = f"{BEGIN}\n{body.strip()}\n{END}\n"
        before = self.before or self.newline
        return self._ended(top) + before + self._ended(block) + self.after

    def _ended(self, text: str) -> str:
        return text.replace("\n", self.newline)


def split(text: str | None, place: str = "README.md") -> CardText:
    """The parts of an existing card, or of one that is to be begun.

    Raises `Refusal` when there is no one place for what eaglekit writes: it never writes over what people wrote.
    """
    if text is None or not text.strip().strip("\ufeff"):
        return CardText("\n", "", "", "")
    if len(text) > MOST_CHARACTERS:
        raise Refusal(_unusable(place, f"it is {len(text):,} characters long", "take it away, or shorten it"))
    # A byte order mark in front of `---` hides the front matter from every reader.
    lines = _LINES.findall(text.removeprefix("\ufeff"))
    newline = "\r\n" if sum(line.endswith("\r\n") for line in lines) * 2 > len(lines) else "\n"
    metadata, rest = _front_matter(lines, place)
    if not "".join(rest).strip():
        # Front matter alone is what the Hub makes of a licence that was chosen; there is nothing to write over.
        return CardText(newline, metadata, "", "")
    begin, end = _block(rest, place)
    return CardText(newline, metadata, "".join(rest[:begin]), "".join(rest[end + 1 :]))


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between the markers."""

    first: int
    """Number of its first line in the card, counted from 1."""
    lines: tuple[str, ...]
    """Without what ends them."""


def written_in(text: str, place: str = "README.md") -> Block:
    """What eaglekit wrote into a card. Raises `Refusal` when there is no one place for it."""
    lines = _LINES.findall(text.removeprefix("\ufeff"))
    _, rest = _front_matter(lines, place)
    begin, end = _block(rest, place)
    above = len(lines) - len(rest)
    return Block(above + begin + 2, tuple(line.rstrip("\r\n") for line in rest[begin + 1 : end]))


def front_matter_of(text: str, place: str = "README.md") -> str:
    """The YAML of a card, with `\\n`; empty when it has none. Raises `Refusal` when it is never closed."""
    return _front_matter(_LINES.findall(text.removeprefix("\ufeff")), place)[0]


def _front_matter(lines: list[str], place: str) -> tuple[str, list[str]]:
    """The YAML, and the lines behind it."""
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if not lines or lines[first].rstrip() != FENCE:
        return "", lines
    for index in range(first + 1, len(lines)):
        if lines[index].rstrip() == FENCE:
            return "".join(line.rstrip("\r\n") + "\n" for line in lines[first + 1 : index]), lines[index + 1 :]
    raise Refusal(_unusable(place, "its front matter is opened with --- and never closed", "close it with a --- line"))


def _block(lines: list[str], place: str) -> tuple[int, int]:
    """The indices of the two marker lines."""
    seen: dict[str, list[int]] = {BEGIN: [], END: []}
    hidden, fence = 0, ""
    for index, line in enumerate(lines):
        bare = line.rstrip()
        if bare in seen:
            if fence:
                hidden += 1
            else:
                seen[bare].append(index)
        fence = _fence_after(fence, bare)
    begins, ends = seen[BEGIN], seen[END]
    if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
        return begins[0], ends[0]
    raise Refusal(_unusable(place, _what_is_wrong(begins, ends, hidden), _HINT))


_HINT = f"put the two lines {BEGIN} and {END} where the card is to stand; everything else stays as it is"


def _what_is_wrong(begins: list[int], ends: list[int], hidden: int) -> str:
    if hidden and not (begins and ends):
        return "the markers stand inside a block of code, where they are text"
    if not begins and not ends:
        return "it has no markers, so there is no place that eaglekit may write to"
    if len(begins) > 1 or len(ends) > 1:
        return f"it has {len(begins)} begin markers and {len(ends)} end markers, so that the place is not clear"
    if not begins or not ends:
        return f"it has {BEGIN if begins else END} without {END if begins else BEGIN}"
    return "its end marker stands above its begin marker"


def _fence_after(fence: str, line: str) -> str:
    """The code fence that is open behind this line; empty when none is."""
    found = _CODE.fullmatch(line)
    if found is None:
        return fence
    mark, rest = found["fence"], found["rest"]
    if not fence:
        return "" if mark[0] == "`" and "`" in rest else mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip()
    return "" if closes else fence


def _unusable(place: str, what: str, hint: str) -> Finding:
    return Finding(
        "card-markers",
        f"{place} is kept as it is: {what}",
        place=place,
        got=what,
        expected="one begin marker, and one end marker below it",
        hint=hint,
    )
