"""What is wrong with the publisher's own words, where a card cannot be made yet for other reasons."""

from __future__ import annotations

from collections.abc import Collection

from eaglekit.hub.card.licences import licence_of, unwritten
from eaglekit.hub.card.making import CardWishes, stated_in
from eaglekit.hub.card.matter import base_model_of
from eaglekit.hub.local.gathering import collected
from eaglekit.hub.local.report_reading import read_validation
from eaglekit.report import Finding, Refusal, Report


def word_findings(
    wishes: CardWishes, base: str | None, names: Collection[str], data: bytes | None, *, asks_licence: bool = False
) -> list[Finding]:
    """What speaks against licence and target as they are stated, so that it is told along with everything else.

    `base` is the card that the new one will be merged with, `names` are the files of the folder, and `data` is its
    report, passing or not. Without a readable report nobody knows yet whether a target must be stated.
    """
    findings: list[Finding] = []
    if not (asks_licence and wishes.licence is None):
        findings += _licence(wishes, base, names)
    report = _readable(data)
    if report is not None or wishes.base_model is not None:
        collected(findings, lambda: base_model_of(report or Report("validate", ""), wishes.base_model))
    return findings


def _licence(wishes: CardWishes, base: str | None, names: Collection[str]) -> list[Finding]:
    try:
        words = (wishes.licence, wishes.licence_name, wishes.licence_link)
        licence = licence_of(words[0], name=words[1], link=words[2], card=stated_in(base))
    except Refusal as refusal:
        return list(refusal.findings)
    return unwritten(licence, names)


def _readable(data: bytes | None) -> Report | None:
    """The report as far as it can be read; what is wrong with it is told where it is judged."""
    try:
        return read_validation(data) if data is not None else None
    except Refusal:
        return None
