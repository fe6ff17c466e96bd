"""From a folder, its report and the publisher's words to everything that a card is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eaglekit.checkpoint import Checkpoint
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.engines.inspection import artefact_of
from eaglekit.engines.recipes import Recipe, recipes
from eaglekit.hub.card.front_matter import parse
from eaglekit.hub.card.licences import licence_of, unwritten
from eaglekit.hub.card.matter import BaseModel, CardMatter, base_model_of
from eaglekit.hub.card.merging import front_matter_of
from eaglekit.hub.local.evidence import Evidence
from eaglekit.hub.local.folder import Folder
from eaglekit.hub.local.signature_reading import Way
from eaglekit.report import Finding, Refusal

NOBODY = "ORG/NAME"
"""Stands in commands for a drafter that has no repository yet."""


@dataclass(frozen=True, slots=True)
class CardWishes:
    """What the publisher says; everything else is known from the files."""

    repo: str | None = None
    """ORG/NAME of the drafter."""
    base_model: str | None = None
    """ORG/NAME@COMMIT of the target, where the report does not know it."""
    licence: str | None = None
    licence_name: str | None = None
    licence_link: str | None = None
    has_prompts: bool = False
    """Whether prompts.jsonl is published too."""
    has_figure: bool = False
    """Whether drift.png is."""
    signed: Way | None = None
    """How model.sig, which is published too, is verified."""
    compared: bool = False
    """The target's files on the Hub were found to have the digest of the report."""


def card_matter(folder: Folder, evidence: Evidence, wishes: CardWishes, base: str | None) -> CardMatter:
    """Everything a card is made of; `base` is the README.md it will be merged into.

    Raises `Refusal` with all that is missing or contradicts: target, licence, front matter.
    """
    findings: list[Finding] = []
    target, licence = None, None
    try:
        target = base_model_of(evidence.report, wishes.base_model)
    except Refusal as refusal:
        findings += refusal.findings
    try:
        words = (wishes.licence, wishes.licence_name, wishes.licence_link)
        licence = licence_of(words[0], name=words[1], link=words[2], card=stated_in(base))
        findings += unwritten(licence, [file.name for file in folder.files])
    except Refusal as refusal:
        findings += refusal.findings
    if target is None or licence is None or findings:
        raise Refusal(*findings)
    if target.stated:
        target = replace(target, compared=wishes.compared or records_comparison(base, target))
    matter = CardMatter(
        report=evidence.report,
        report_sha256=hashlib.sha256(evidence.data).hexdigest(),
        base_model=target,
        licence=licence,
        repo=wishes.repo,
        provenance=folder.provenance or None,
        config=folder.checkpoint.config,
        has_prompts=wishes.has_prompts,
        has_figure=wishes.has_figure,
        signed=wishes.signed,
    )
    return served(matter, folder.checkpoint)


def served(matter: CardMatter, checkpoint: Checkpoint) -> CardMatter:
    """The same with a recipe for every engine."""
    return matter.with_recipes(_recipes(checkpoint, matter, matter.base_model))


def records_comparison(card: str | None, target: BaseModel) -> bool:
    """Whether a card says that this very target was compared with the Hub's files: a commit never changes, so that
    it need not be done twice. A card that cannot be read says nothing.
    """
    try:
        ours = stated_in(card).get("eaglekit")
    except Refusal:
        return False
    place = ours.get("target") if isinstance(ours, Mapping) else None
    known = {"repo": target.repo, "commit": target.commit, "digest": target.digest, "compared": True}
    return isinstance(place, Mapping) and dict(place) == known


def stated_in(card: str | None) -> Mapping[str, Any]:
    """The front matter of an existing card; empty without one. Raises `Refusal` when it cannot be read."""
    return {} if card is None else parse(front_matter_of(card)).values()


def _recipes(checkpoint: Checkpoint, matter: CardMatter, target: BaseModel) -> tuple[Recipe, ...]:
    """How the servers are started; a target that the file does not name is known from the report."""
    given = Given()
    drafter = read(checkpoint, given).drafter
    if drafter is None:
        return ()
    spec = drafter.spec.replacing(
        target_family=drafter.spec.target_family or matter.fact("target_family"),
        target_layers=drafter.spec.target_layers or matter.fact("target_layers"),
    )
    return recipes(
        artefact_of(checkpoint, spec, given),
        drafter=matter.repo or NOBODY,
        target=f"{target.repo}@{target.commit}",
        draft_tokens=matter.draft_tokens or 3,
        embedding_is_copy=matter.embedding_is_copy,
    )
