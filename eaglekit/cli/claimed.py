"""Carrying out a verification: from what was typed to the report about every claim."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import eaglekit
from eaglekit.checkpoint import Checkpoint, Source
from eaglekit.checkpoint.hub_id import is_local, parse_hub_id
from eaglekit.checkpoint.opening import open_source
from eaglekit.cli.extras import missing_extras
from eaglekit.cli.loading import download, find_source, open_local, open_target
from eaglekit.cli.output import work_bar
from eaglekit.cli.target_files import local_target, memory_limit
from eaglekit.dialects.target import Target, read_target
from eaglekit.hub.card.claims import CARD_LIMIT, CardClaims, read_card_claims
from eaglekit.hub.card.text import read_card_text
from eaglekit.hub.local.evidence import REPORT_LIMIT, read_validation
from eaglekit.hub.model import CARD, PROMPTS, REPORT
from eaglekit.hub.pulling import look, manifest_of, prove
from eaglekit.report import Fact, Finding, Refusal, Report
from eaglekit.validate.binding import without_paths
from eaglekit.validate.claims import Here, compare
from eaglekit.validate.material_named import (
    refuse_other_baseline,
    refuse_other_drafter,
    refuse_other_file,
    refuse_other_target,
)
from eaglekit.validate.protocol import Protocol, read_protocol
from eaglekit.validate.verifying import Repeated, verification

if TYPE_CHECKING:
    from eaglekit.checkpoint.copying import Written

MATERIAL = ("target", "prompts", "capture", "baseline")
COMPUTE = ("torch", "transformers", "numpy")
"""Libraries of a report's `tool` that decide how numbers round."""


@dataclass(frozen=True)
class Hand:
    """What is at hand to follow a protocol with; or `lacking`, which says what is not."""

    target: Target | None = None
    prompts: Path | None = None
    capture: Path | None = None
    baseline: Checkpoint | None = None
    lacking: str = ""
    needs: tuple[str, ...] = ()
    """The options that would bring it."""


def verified(path: str, wishes: Mapping[str, Any], *, quiet: bool) -> tuple[str, Report]:
    """The command that repeats what was not, or nothing, and the report. Raises `Refusal` when files are other ones.

    `wishes` are the options of the command by name.
    """
    device = wishes["device"]
    limit = memory_limit(wishes["memory_limit"])
    bar = work_bar(quiet=quiet)
    source, facts, findings = _proved(path, quiet=quiet, bar=bar)
    data = _report_of(source)
    published = read_validation(data)
    protocol = read_protocol(published.as_json())
    drafter = open_source(source)
    refuse_other_drafter(protocol, drafter, bar)
    digest = hashlib.sha256(data).hexdigest()
    facts.append(Fact("report", f"sha256:{digest}", "derived: report.json"))
    card = _card(source, published, digest)
    findings += card.findings if card is not None else ()
    told = "none" if card is None else f"{card.count} numbers as in its report"
    facts.append(Fact("card", told, "read: README.md front matter"))
    if card is not None:
        text = read_card_text(_bytes(source, CARD, CARD_LIMIT), source, drafter, published, digest)
        findings += text.findings
        facts.append(Fact("card text", text.told, "derived: written again from report.json and the files beside it"))
    missing = missing_extras()
    named = protocol.target.hub_id if protocol.target is not None else None
    named = named or (card.target if card is not None else None)
    hand = _at_hand(protocol, source, named, quiet=quiet, computing=not missing, wishes=wishes, bar=bar)
    measured, absent = None, f"{', '.join(missing)} not installed: pip install 'eaglekit[validate]'"
    if hand.lacking and missing:
        hand = replace(hand, lacking=f"{hand.lacking}; {absent}")
    if not hand.lacking:
        from eaglekit.validate.check import check

        task = protocol.task(
            drafter,
            target=hand.target,
            prompts=hand.prompts,
            capture=hand.capture,
            baseline=hand.baseline,
            device=device,
            dtype=wishes["dtype"],
            memory_limit_bytes=limit,
            bar=bar,
        )
        typed = [str(wishes[name]) for name in MATERIAL if wishes[name] is not None]
        measured = without_paths(check(task, missing=missing), [path, *typed])
        if missing:
            hand = replace(hand, lacking=absent)
    outcomes = compare(
        published.as_json(),
        measured.as_json() if measured is not None else None,
        Here(
            nothing=hand.lacking,
            without_baseline=protocol.baseline is not None and hand.baseline is None,
            same_tool=protocol.tool["version"] == eaglekit.__version__ and _as_far(published, measured),
        ),
    )
    repeated = Repeated(
        protocol,
        measured,
        tuple(outcomes),
        tuple(protocol.elsewhere(device, wishes["dtype"])) if measured is not None and not missing else (),
        measured is not None and _versions(measured.result.get("tool", {})) == _versions(protocol.tool),
        # In the report no folder of this machine is named.
        again=_again("FOLDER" if is_local(path) else path, {}, hand) if hand.lacking else "",
    )
    report = without_paths(verification(path, repeated, facts, findings), [path])
    return _again(path, wishes, hand) if hand.lacking else "", report


def _again(path: str, wishes: Mapping[str, Any], hand: Hand) -> str:
    """The command with what was given, and what is missing."""
    given = [(f"--{name}", str(wishes[name])) for name in MATERIAL if wishes.get(name) is not None]
    words = [shlex.quote(word) for pair in given for word in pair]
    return " ".join(["eaglekit verify", shlex.quote(path), *words, *hand.needs])


def _proved(path: str, *, quiet: bool, bar: Any) -> tuple[Source, list[Fact], list[Finding]]:
    """The files, each compared with its manifest, and where they came from."""
    if is_local(path):
        source = find_source(path)
        listed = manifest_of(source)
        told = "none: the report alone says which files it is about"
        if listed is not None:
            _prove(source, listed, bar)
            told = f"{len(listed)} files, each compared"
        return source, [Fact("manifest", told, "derived: SHA256SUMS")], []
    offer = look(parse_hub_id(path))
    here = download(offer.source, offer.names, quiet=quiet)
    _prove(here, offer.listed, bar)
    facts = [
        Fact("repository", offer.source.repo, "read: the Hub's answer"),
        Fact("commit", offer.source.commit, "read: the Hub's answer"),
        Fact("manifest", f"{offer.digest}, {len(offer.listed)} files, each compared", "derived: SHA256SUMS"),
    ]
    return here, facts, offer.warnings()


def _prove(source: Source, listed: Mapping[str, Written], bar: Any) -> None:
    size_bytes = sum(file.size_bytes for file in listed.values())
    opened: AbstractContextManager[Any] = bar("compare with SHA256SUMS", size_bytes, "bytes")
    with opened as tell:
        prove(source, listed, tell)


def _report_of(source: Source) -> bytes:
    if REPORT not in source.files():
        raise Refusal(
            Finding(
                "verify-report-absent",
                f"{source.label} has no {REPORT}: nothing says what it claims, and how that was measured",
                place=source.label,
                got="absent",
                expected=f"{REPORT}, which eaglekit push publishes",
                hint="measure it yourself: eaglekit validate",
            )
        )
    return _bytes(source, REPORT, REPORT_LIMIT)


def _card(source: Source, published: Report, digest: str) -> CardClaims | None:
    """What became of the card's numbers; None when there is no card."""
    if CARD not in source.files():
        return None
    return read_card_claims(_bytes(source, CARD, CARD_LIMIT), published, digest)


def _bytes(source: Source, name: str, limit: int) -> bytes:
    """The file; one byte more than is read says that it is too long."""
    return source.read(name, 0, min(source.files()[name], limit + 1))


def _at_hand(
    protocol: Protocol,
    source: Source,
    named: str | None,
    *,
    quiet: bool,
    computing: bool,
    wishes: Mapping[str, Any],
    bar: Any,
) -> Hand:
    """Everything the protocol needs, each known by its digest; wrong material is refused, missing material is told.

    `named` is the Hub id of the target in the report or the card.
    """
    prompts, capture = wishes["prompts"], wishes["capture"]
    if protocol.prompts is not None and prompts is None and PROMPTS in source.files():
        prompts = source.local_path(PROMPTS)
    for code, given, expected in (
        ("verify-prompts-other", prompts, protocol.prompts),
        ("verify-capture-other", capture, protocol.capture),
    ):
        if expected is not None and given is not None:
            refuse_other_file(code, given, expected)
    lacking, needs = [], []
    if protocol.prompts is not None and prompts is None:
        lacking.append("the texts are not published: give the file with --prompts")
        needs.append("--prompts FILE")
    if protocol.capture is not None and capture is None:
        lacking.append("it was measured on a capture: give the file with --capture")
        needs.append("--capture FILE")
    target, why = _target(protocol, wishes["target"], named, quiet=quiet, whole=computing and not lacking)
    lacking += [why] if why else []
    needs += ["--target TARGET"] if why else []
    baseline = None
    if wishes["baseline"] is not None:
        baseline = open_local(wishes["baseline"], quiet=quiet)
        refuse_other_baseline(protocol, baseline, bar)
    return Hand(
        target,
        prompts if protocol.prompts is not None else None,
        capture if protocol.capture is not None else None,
        baseline if protocol.baseline is not None else None,
        "; ".join(lacking),
        tuple(needs),
    )


def _target(
    protocol: Protocol, typed: str | None, named: str | None, *, quiet: bool, whole: bool
) -> tuple[Target | None, str]:
    """The target of the report, and why there is none. With `whole`, its weights are on this machine."""
    if protocol.target is None:
        return None, ""
    text = typed if typed is not None else named
    if text is None:
        return None, "the report was made with a target in a folder: give it with --target"
    try:
        target = open_target(text)
    except Refusal as refusal:
        if typed is not None:
            raise
        return None, f"the target {text} cannot be had: {refusal.findings[0].message}"
    assert target is not None  # noqa: S101 - there is a text
    refuse_other_target(protocol, target)
    # Only then its weights: they may be hundreds of gigabytes.
    if whole and protocol.prompts is not None:
        target = read_target(local_target(text, quiet=quiet))
    return target, ""


def _as_far(published: Report, measured: Report | None) -> bool:
    """Whether every stage that passed for the report passed here; a real engine is not asked again."""
    return measured is not None and all(
        measured.result["stages"].get(stage) == outcome
        for stage, outcome in published.result["stages"].items()
        if stage != "served"
    )


def _versions(tool: Mapping[str, str]) -> dict[str, str | None]:
    return {name: tool.get(name) for name in ("version", *COMPUTE)}
