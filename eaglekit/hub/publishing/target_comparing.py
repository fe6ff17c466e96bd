"""Whether the Hub's files at the commit that the publisher names are the target that was measured with."""

from __future__ import annotations

from dataclasses import dataclass

from eaglekit.checkpoint.lookup import library_identity, open_library
from eaglekit.hub.card import BaseModel, records_comparison
from eaglekit.hub.local.evidence import Evidence
from eaglekit.hub.remote.client import HubClient
from eaglekit.report import Finding, Refusal


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of it."""

    same: bool = False
    """The files have the digest of the report: found now, or by an earlier push whose card says so."""
    findings: tuple[Finding, ...] = ()


def compared(base: BaseModel, proof: Evidence, client: HubClient, cards: tuple[str | None, ...]) -> Comparison:
    """The digest of the target in the report beside that of the Hub's files. Reads config, listing and headers.

    `cards` are those that stand in the folder and on the Hub: what one of them records is not lost when the target
    cannot be looked at, so that the same push makes the same card.
    """
    if not base.stated:
        return Comparison()
    if client.rehearses:
        return Comparison(any(records_comparison(card, base) for card in cards))
    covers = (proof.report.result.get("target") or {}).get("digest_covers")
    client.say(f"comparing the target's config and headers with {base.repo} at {base.commit[:12]}")
    try:
        there = library_identity(open_library(client.other(base.repo, base.commit)))
    except Refusal as refusal:
        return _unknown(base, client, cards, refusal.findings[0].message)
    if covers != there["digest_covers"]:
        return _unknown(base, client, cards, f"the report's digest covers {covers}")
    if there["digest"] == base.digest:
        return Comparison(same=True)
    return Comparison(findings=(_other(base, client, str(there["digest"])),))


def _unknown(base: BaseModel, client: HubClient, cards: tuple[str | None, ...], why: str) -> Comparison:
    recorded = any(records_comparison(card, base) for card in cards)
    rest = "the card keeps that it was, by an earlier push" if recorded else "the card says that it is your word"
    note = Finding(
        "base-model-unchecked",
        f"the target could not be compared with {base.repo} at {base.commit[:12]} on {client.asked.host}; {rest}",
        place=f"--base-model {base.repo}@{base.commit}",
        got=why,
        expected=base.digest,
        hint="nothing has to be done; `eaglekit verify` compares it for everybody who has the target",
    )
    return Comparison(recorded, (note,))


def _other(base: BaseModel, client: HubClient, got: str) -> Finding:
    return Finding(
        "base-model-other",
        f"{base.repo} at {base.commit[:12]} on {client.asked.host} is not the target that was measured with",
        place=f"--base-model {base.repo}@{base.commit}",
        got=got,
        expected=base.digest,
        hint="give the repository and commit whose files lie in the folder, or validate again with "
        f"--target {base.repo}@{base.commit}",
    )
