"""Writes a card: the front matter set key by key, the body between the markers, everything else untouched."""

from __future__ import annotations

from eaglekit.hub.card.body import body
from eaglekit.hub.card.checking import check_card
from eaglekit.hub.card.front_matter import parse
from eaglekit.hub.card.matter import CardMatter
from eaglekit.hub.card.merging import split
from eaglekit.hub.card.metadata import conflicts, metadata
from eaglekit.report import Finding, Refusal
from eaglekit.report.model import refuse_if


def write_card(matter: CardMatter, base: str | None) -> str:
    """The README.md that says what the report says; the same matter and base give the same text.

    `base` is an existing README.md with its line ends as they are (`read_text` would change them), or None. Raises
    `Refusal` when it contradicts what is known, has no one place for the card, or would make a card the Hub refuses.
    """
    findings: list[Finding] = []
    parts = split(None)
    front = parse("")
    try:
        parts = split(base)
        front = parse(parts.metadata)
    except Refusal as refusal:
        findings += refusal.findings
    existing = front.values()
    values = metadata(matter, existing)
    refuse_if([*findings, *conflicts(values, existing)])
    card = parts.joined(front.with_values(values), body(matter))
    refuse_if(check_card(card))
    return card
