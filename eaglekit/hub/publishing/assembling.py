"""`assemble`: everything that a push puts into the repository, made from the folder, the report and what is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from eaglekit.hub.card import BaseModel, CardMatter, CardWishes, Licence, card_matter, figure, stated_in, write_card
from eaglekit.hub.local.evidence import Evidence
from eaglekit.hub.local.folder import Folder
from eaglekit.hub.local.gathering import collected
from eaglekit.hub.local.manifesting import full_manifest
from eaglekit.hub.local.scan import scan_texts
from eaglekit.hub.local.signature_reading import Way, is_about, way_of
from eaglekit.hub.local.signing import Signer, signed
from eaglekit.hub.model import CARD, PROMPTS, REPORT, SIGNATURE, LocalFile
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.model import refuse_if

AskLicence = Callable[[], str]
"""Asks a person for the id of a licence."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the publisher says, beside where to."""

    card: CardWishes = field(default_factory=CardWishes)
    prompts: Path | None = None
    with_figure: bool = True
    ask_licence: AskLicence | None = None
    """Called when nothing states a licence; None where nobody can be asked."""
    sign: Signer | None = None
    """Who signs; None for nobody."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """What will stand in the repository, and what it says."""

    files: tuple[LocalFile, ...]
    manifest: LocalFile
    base_model: BaseModel
    licence: Licence
    report: Report
    signs_later: Signer | None = None
    """Who signs once it is certain that everything is published; until then, model.sig among `files` is a place."""

    def complete(self, name: str) -> Assembled:
        """The same with the signature made, if it was not yet. Raises `Refusal`."""
        if self.signs_later is None:
            return self
        rest = [file for file in self.files if file.name != SIGNATURE]
        files = (*rest, signed(rest, self.signs_later, name=name))
        return replace(self, files=tuple(sorted(files, key=lambda file: file.name)), signs_later=None)


def assemble(
    folder: Folder, proof: Evidence, asked: Asked, base: str | None, signature: bytes | None = None
) -> Assembled:
    """Every file of the push. The same input makes the same bytes. Raises `Refusal` with all that stands against it.

    `base` is the card that stands in the folder or on the Hub, `signature` the model.sig that is published, or None.
    """
    findings: list[Finding] = []
    report = LocalFile.made(REPORT, proof.data)
    prompts = collected(findings, lambda: _prompts(asked.prompts, proof))
    picture = collected(findings, lambda: figure(proof.report) if asked.with_figure else None)
    way = asked.sign.way if asked.sign is not None else way_of(signature)
    wishes = replace(asked.card, has_prompts=prompts is not None, has_figure=picture is not None, signed=way)
    matter = collected(findings, lambda: _matter(folder, proof, wishes, asked.ask_licence, base))
    card = collected(findings, lambda: write_card(matter, base)) if matter is not None else None
    refuse_if(findings)
    assert matter is not None  # noqa: S101 - or a finding
    assert card is not None  # noqa: S101
    made = [file for file in (report, prompts, picture) if file is not None]
    readme = LocalFile.made(CARD, card.encode())
    refuse_if(scan_texts([readme, *made]))
    manifest = full_manifest([*folder.files, *made])
    files = [*folder.files, *made, readme, manifest]
    files += _signatures(files, asked, signature)
    placed = tuple(sorted(files, key=lambda file: file.name))
    later = asked.sign if any(file.sha256 == UNSIGNED for file in files) else None
    return Assembled(placed, manifest, matter.base_model, matter.licence, proof.report, later)


UNSIGNED = ""
"""In place of the digest of a signature that is yet to be made."""


def _signatures(files: Sequence[LocalFile], asked: Asked, before: bytes | None) -> list[LocalFile]:
    """The signature, or its place: sigstore records in public, which nobody has agreed to yet."""
    if asked.sign is None:
        # The published one stays on the Hub. With other files beside it, it would look like a forgery.
        refuse_if([] if before is None or is_about(before, files) else [_stale()])
        return []
    if asked.sign.way is Way.KEY:
        return [signed(files, asked.sign, name=str(asked.card.repo).rpartition("/")[2], before=before)]
    if before is not None and way_of(before) is Way.SIGSTORE and is_about(before, files):
        return [LocalFile.made(SIGNATURE, before)]
    return [LocalFile(SIGNATURE, b"", 0, UNSIGNED)]


def _stale() -> Finding:
    return Finding(
        "signing-left-out",
        f"the {SIGNATURE} on the Hub would not hold for what is pushed",
        place=SIGNATURE,
        got="a signature of other files",
        expected="one of exactly these files, or none",
        hint="sign again: --sign KEY --overwrite; or delete it on the Hub",
    )


def _matter(
    folder: Folder, proof: Evidence, wishes: CardWishes, ask_licence: AskLicence | None, base: str | None
) -> CardMatter:
    """What the card says; the licence is asked for where nobody stated one and somebody can be asked."""
    if wishes.licence is None and ask_licence is not None and stated_in(base).get("license") is None:
        wishes = replace(wishes, licence=ask_licence())
    return card_matter(folder, proof, wishes, base)


def _prompts(path: Path | None, proof: Evidence) -> LocalFile | None:
    """The texts of the report, if these are they."""
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refusal(
            Finding("prompts-unfit", f"{path.name} cannot be read: {error.strerror}", place=str(path))
        ) from None
    found = hashlib.sha256(data).hexdigest()
    named = (proof.report.result.get("prompts") or {}).get("sha256")
    if found != named:
        raise Refusal(
            Finding(
                "prompts-unfit",
                f"{path.name} is not the file of texts that the report was made on",
                place=str(path),
                got=f"sha256 {found}",
                expected=f"sha256 {named}" if named else "a report that names the file of its texts",
                hint="give the very file that eaglekit validate --prompts read",
            )
        )
    return LocalFile.made(PROMPTS, data)
