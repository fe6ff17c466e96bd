"""What stands between a card's markers, beside what the repository's own files make of it: the same, or edited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import Any

from eaglekit import __version__
from eaglekit.checkpoint import Checkpoint, Source
from eaglekit.checkpoint.hub_id import is_repo
from eaglekit.hub.card.body import body
from eaglekit.hub.card.claims import CARD_LIMIT
from eaglekit.hub.card.licences import Licence
from eaglekit.hub.card.making import served, stated_in
from eaglekit.hub.card.matter import COMMIT, BaseModel, CardMatter, base_model_of
from eaglekit.hub.card.merging import Block, written_in
from eaglekit.hub.local.contents import read_provenance
from eaglekit.hub.local.evidence import other_facts
from eaglekit.hub.local.signature_reading import way_of
from eaglekit.hub.model import CARD, FIGURE, PROMPTS, SIGNATURE, LocalFile
from eaglekit.plan.provenance import PROVENANCE
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.model import printable

LINE_LENGTH = 200
"""Characters of a line that a finding shows."""


@dataclass(frozen=True, slots=True)
class CardText:
    """What became of a card's text."""

    told: str
    """In some words; also why it was not compared."""
    findings: tuple[Finding, ...] = ()


def read_card_text(data: bytes, source: Source, drafter: Checkpoint, report: Report, report_sha256: str) -> CardText:
    """The text that eaglekit writes into a card, written again from `source` and compared line by line.

    Only the version that wrote it writes the same text. What it cannot know, it takes from the front matter: who the
    drafter is, and what the publisher says of the target.
    """
    try:
        text = data.decode("utf-8")
        ours = stated_in(text).get("eaglekit")
    except (UnicodeDecodeError, Refusal):
        return CardText("not compared: its front matter cannot be read")
    if not isinstance(ours, Mapping):
        return CardText("not compared: its front matter does not say that eaglekit wrote it")
    version = ours.get("version")
    if version != __version__:
        return CardText(f"not compared: written by eaglekit {_short(version)}, and this is {__version__}")
    matter = _matter(ours, source, drafter, report, report_sha256)
    if isinstance(matter, str):
        return CardText(f"not compared: {matter}")
    try:
        block = written_in(text)
    except Refusal as refusal:
        return CardText("it has no place for it", (_without_markers(refusal.findings[0]),))
    differences = [_difference(block, body(each).strip().splitlines()) for each in _states(matter)]
    if None in differences:
        return CardText("what its report makes it")
    farthest = max((found for found in differences if found is not None), key=lambda found: found.line)
    return CardText("edited", (farthest.finding(),))


def _matter(
    ours: Mapping[str, Any], source: Source, drafter: Checkpoint, report: Report, report_sha256: str
) -> CardMatter | str:
    """What the card was made of, or why that cannot be told."""
    base, repo = _base_model(ours, report), ours.get("repo")
    if base is None:
        return "its front matter names no target"
    if repo is not None and not (isinstance(repo, str) and is_repo(repo)):
        return "its front matter names no repository of its own"
    if other_facts(report, drafter):
        return "the report says something else of the drafter than its files do"
    files = source.files()
    kept = {name: LocalFile.made(name, source.read(name, 0, files[name])) for name in SMALL if _readable(files, name)}
    matter = CardMatter(
        report,
        report_sha256,
        base,
        Licence("other"),  # stands in the front matter alone
        repo,
        read_provenance(kept, []) or None,
        drafter.config,
        has_prompts=PROMPTS in files,
        has_figure=FIGURE in files,
        signed=way_of(kept[SIGNATURE].read()) if SIGNATURE in kept else None,
    )
    return served(matter, drafter)


SMALL = (PROVENANCE, SIGNATURE)


def _readable(files: Mapping[str, int], name: str) -> bool:
    return name in files and files[name] <= CARD_LIMIT


def _base_model(ours: Mapping[str, Any], report: Report) -> BaseModel | None:
    """The target as the report has it, or as the front matter states it."""
    place = ours.get("target")
    place = place if isinstance(place, Mapping) else {}
    repo, commit = place.get("repo"), place.get("commit")
    if not (isinstance(repo, str) and is_repo(repo) and isinstance(commit, str) and COMMIT.fullmatch(commit)):
        return None
    try:
        base = base_model_of(report, f"{repo}@{commit}")
    except Refusal:
        return None
    return replace(base, compared=base.stated and place.get("compared") is True)


def _states(matter: CardMatter) -> Iterator[CardMatter]:
    """The matter as it is, and as it was before something that lies there was added: no text need mention it."""
    figures, prompt_files = dict.fromkeys((matter.has_figure, False)), dict.fromkeys((matter.has_prompts, False))
    for figure, prompts, signed in product(figures, prompt_files, dict.fromkeys((matter.signed, None))):
        yield replace(matter, has_figure=figure, has_prompts=prompts, signed=signed)


@dataclass(frozen=True, slots=True)
class _Difference:
    """The first line that is another."""

    line: int
    """Of the card, counted from 1."""
    got: str | None
    expected: str | None

    def finding(self) -> Finding:
        """The difference as it is told."""
        return Finding(
            "verify-card-edited",
            f"line {self.line} of the card is not what its report makes it",
            place=f"{CARD}: line {self.line}",
            got="no more lines" if self.got is None else _short(self.got),
            expected="no more lines" if self.expected is None else _short(self.expected),
            hint="believe report.json, whose claims are repeated here, and tell the owner: words of one's own belong "
            "above or below the markers",
        )


def _difference(block: Block, expected: list[str]) -> _Difference | None:
    for index, (here, there) in enumerate(zip_longest(block.lines, expected)):
        if here != there:
            return _Difference(block.first + index, here, there)
    return None


def _without_markers(finding: Finding) -> Finding:
    return Finding(
        "verify-card-edited",
        f"the card has no text of eaglekit's, and its front matter says that it has: {finding.got}",
        place=CARD,
        got=finding.got,
        expected="the text between the markers",
        hint="believe report.json, and tell the owner: eaglekit push writes it again",
    )


def _short(value: Any) -> str:
    text = printable(str(value))
    return text if len(text) <= LINE_LENGTH else f"{text[: LINE_LENGTH - 3]}..."
