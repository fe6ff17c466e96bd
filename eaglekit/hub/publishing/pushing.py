"""A push in order: everything that speaks against it, told together; then the commit; then the look at every byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from eaglekit.hub.card import base_model_of, word_findings
from eaglekit.hub.local.evidence import Evidence, evidence
from eaglekit.hub.local.folder import Folder, inspect_folder
from eaglekit.hub.local.gathering import collected
from eaglekit.hub.local.report_reading import report_bytes
from eaglekit.hub.local.signing import exposed
from eaglekit.hub.model import CARD, REPORT, SIGNATURE, Outline, RemoteState, Wishes
from eaglekit.hub.publishing.aftermath import Published
from eaglekit.hub.publishing.assembling import Asked, Assembled, assemble
from eaglekit.hub.publishing.checking import check
from eaglekit.hub.publishing.collecting import collect, holds
from eaglekit.hub.publishing.committing import commit
from eaglekit.hub.publishing.outline import objections, outline
from eaglekit.hub.publishing.sending import Journal
from eaglekit.hub.publishing.tagging import TAG_FAILED, tag
from eaglekit.hub.publishing.target_comparing import Comparison, compared
from eaglekit.hub.publishing.telling import outcome, plan
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.looking import look, remote_bytes, remote_text
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.model import refuse_if
from eaglekit.report.progress import Bar, silent

Connect = Callable[[], HubClient]
Afterwards = Callable[[Outline, Published, HubClient], list[Finding]]
"""Something that is done with a commit that has been checked."""
AFTERWARDS: tuple[Afterwards, ...] = (tag, collect)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A push that nothing speaks against, and everything that is shown of it."""

    planned: Outline
    assembled: Assembled
    client: HubClient
    warnings: tuple[Finding, ...] = ()
    journal: Journal = field(default_factory=Journal)

    @property
    def report(self) -> Report:
        """The plan, as it is shown before anything is sent."""
        return plan(self.planned, self.assembled, self.client).with_findings(self.warnings)


def prepare(
    path: Path, report: Path | None, asked: Asked, wishes: Wishes, connect: Connect, *, bar: Bar = silent
) -> Prepared:
    """The whole preflight. Sends questions and nothing else; raises `Refusal` with everything that was found."""
    findings: list[Finding] = []
    folder, found = inspect_folder(path, bar=bar)
    findings += [*found, *exposed(asked.sign, path)]
    data = collected(findings, lambda: _report_data(report, folder))
    proof = None
    if folder is not None and (data is not None or report is None):
        proof, found = evidence(data, folder, str(path / REPORT if report is None else report))
        findings += found
    client = collected(findings, connect)
    state = collected(findings, lambda: look(client, wishes)) if client is not None else None
    state = _with_collection(findings, client, state, wishes)
    card = collected(findings, lambda: _card(folder, client, state))
    signature = collected(findings, lambda: _signature(client, state))
    assembled = None
    if folder is not None and proof is not None and card is not None:
        text = card.text
        comparison = collected(findings, lambda: _comparison(client, state, proof, asked, text)) or Comparison()
        findings += comparison.findings
        asked = replace(asked, card=replace(asked.card, compared=comparison.same))
        assembled = collected(findings, lambda: assemble(folder, proof, asked, text, signature or None))
    else:
        findings += _words(folder, asked, card, data)
    if client is None or state is None or card is None or assembled is None:
        refuse_if(findings)
        raise AssertionError("what could not be made is a finding")
    planned = outline(assembled.files, state, wishes)
    findings += objections(planned, merged_card=card.remote)
    refuse_if(findings)
    return Prepared(planned, assembled, client, tuple(dict.fromkeys(findings)))


def publish(prepared: Prepared, *, bar: Bar = silent) -> Report:
    """The push itself, checked byte by byte. Raises `Refusal` as long as nothing was published; afterwards what is
    wrong is in the report.
    """
    client, journal = prepared.client, prepared.journal
    assembled = prepared.assembled.complete(client.repo.rpartition("/")[2])
    planned = outline(assembled.files, prepared.planned.state, prepared.planned.wishes)
    total = sum(file.size_bytes for file in planned.sends)
    with bar(f"send to {client.repo}", total, "bytes") as tell:
        published = commit(planned, client, journal, tell)
    journal.stage = "looking at every file of the commit"
    findings = check(planned, published.commit, client)
    sound = not findings
    if sound:
        journal.stage = "what comes after the commit"
        for step in AFTERWARDS:
            findings += step(planned, published, client)
    tagged = sound and not any(finding.code == TAG_FAILED for finding in findings)
    report = outcome(planned, assembled, published, client, tagged=tagged)
    return replace(report, findings=(*prepared.warnings, *journal.remarks, *findings))


@dataclass(frozen=True, slots=True)
class _Card:
    """The card that the new one is merged with."""

    text: str | None
    remote: bool = False
    """It stands at the commit that the plan stands on."""


def _card(folder: Folder | None, client: HubClient | None, state: RemoteState | None) -> _Card:
    """The card of the folder, or the one on the Hub."""
    if folder is not None and folder.card_text is not None:
        return _Card(folder.card_text)
    if client is not None and state is not None and CARD in state.entries:
        return _Card(remote_text(client, state, CARD), remote=True)
    return _Card(None)


def _words(folder: Folder | None, asked: Asked, card: _Card | None, data: bytes | None) -> list[Finding]:
    """What is wrong with licence and target as they are stated, where it did not come to a card."""
    text = card.text if card is not None else folder.card_text if folder is not None else None
    names = [file.name for file in folder.files] if folder is not None else []
    return word_findings(asked.card, text, names, data, asks_licence=asked.ask_licence is not None)


def _signature(client: HubClient | None, state: RemoteState | None) -> bytes:
    """The model.sig that is published; empty when there is none."""
    if client is None or state is None or SIGNATURE not in state.entries:
        return b""
    return remote_bytes(client, state, SIGNATURE)


def _with_collection(
    findings: list[Finding], client: HubClient | None, state: RemoteState | None, wishes: Wishes
) -> RemoteState | None:
    """The state with what is known of the collection, which is looked at also where the repository is not fit."""
    slug, account = wishes.collection, client.account if client is not None else None
    if client is None or account is None or slug is None:
        return state
    found = collected(findings, lambda: holds(client, account, slug))
    return replace(state, collected=bool(found)) if state is not None else None


def _comparison(
    client: HubClient | None, state: RemoteState | None, proof: Evidence, asked: Asked, card: str | None
) -> Comparison:
    """The stated target beside the Hub's files; what is wrong with the statement itself, `assemble` tells."""
    if client is None or client.account is None:
        return Comparison()
    try:
        base = base_model_of(proof.report, asked.card.base_model)
    except Refusal:
        return Comparison()
    there = remote_text(client, state, CARD) if state is not None and CARD in state.entries else None
    return compared(base, proof, client, (card, there))


def _report_data(report: Path | None, folder: Folder | None) -> bytes | None:
    if report is None:
        return folder.report_data if folder is not None else None
    return report_bytes(report)
