"""Whether a card is one that the Hub takes, and that says what a drafter's card must: without asking the Hub."""

from __future__ import annotations

import re
from typing import Any

from eaglekit.hub.card.front_matter import parse
from eaglekit.hub.card.licences import licence_findings
from eaglekit.hub.card.merging import MOST_CHARACTERS, front_matter_of
from eaglekit.report import Finding, Refusal
from eaglekit.report.schemas import problems


def check_card(text: str, place: str = "README.md") -> list[Finding]:
    """Everything that is wrong with a card's front matter, each with its key; empty for a card that is right."""
    if len(text) > MOST_CHARACTERS:
        return [_wrong(place, f"the card is {len(text):,} characters long", "document", f"at most {MOST_CHARACTERS:,}")]
    try:
        values = parse(front_matter_of(text, place), place).values()
    except Refusal as refusal:
        return list(refusal.findings)
    if not values:
        return [_wrong(place, "the card has no front matter", "document", "YAML between two --- lines at the top")]
    return [*_schema_findings(values, place), *_licence(values, place)]


def _schema_findings(values: dict[str, Any], place: str) -> list[Finding]:
    found = []
    for line in problems(values, "card"):
        key, _, reason = line.partition(": ")
        # A missing key is named in the reason, which the schema reports at the document.
        missing = re.match(r'"([^"]+)" is a required property', reason)
        name = missing[1] if missing and key == "document" else key
        what = f"{name} is missing" if missing and key == "document" else f"{name}: {reason}"
        found.append(_wrong(place, what, name, "see schemas/card.json"))
    return found


def _licence(values: dict[str, Any], place: str) -> list[Finding]:
    """What is wrong with the licence beyond its type."""
    stated = [values.get(key) for key in ("license", "license_name", "license_link")]
    if not isinstance(stated[0], str):
        return []
    name, link = (None if value is None else str(value) for value in stated[1:])
    return licence_findings(stated[0], name, link, f"{place}: license")


def _wrong(place: str, what: str, key: str, expected: str) -> Finding:
    return Finding(
        "card-metadata",
        f"{place}: {what}",
        place=f"{place}: {key}",
        got=what,
        expected=expected,
        hint="mend it between the two `---` lines at the top; a key without a value is left out",
    )
