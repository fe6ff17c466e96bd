"""Where the drafter comes from, what was done to it, and what its numbers do not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eaglekit.hub.card.matter import CardMatter
from eaglekit.hub.card.words import code, words
from eaglekit.report.model import Finding, Severity

SHOWN = 12
"""Most lines of one list; the files beside the card have the rest."""
LIBRARIES = ("torch", "transformers", "numpy")


def provenance(matter: CardMatter) -> Iterator[str]:
    """Source, conversion, target and report, with their digests."""
    lines = [*_conversion(matter), _target(matter), _report(matter)]
    yield "\n".join(f"- {line}" for line in lines)


def _conversion(matter: CardMatter) -> Iterator[str]:
    document = matter.provenance
    if document is None:
        return
    source, tool = _mapping(document, "source"), _mapping(document, "tool")
    if source:
        told = _place(source) or f"a folder with digest {code(source.get('digest', ''))}"
        spelled = f", spelled {code(document['from'])}" if document.get("from") else ""
        yield f"**Source:** {told}{spelled}."
    made = f"{words(tool.get('name', 'eaglekit'))} {words(tool.get('version', ''))}".strip()
    written = f" as {code(document['to'])}" if document.get("to") else ""
    yield f"**Written by:** {made}{written}. {_function(document)}{_left(document)}"


def _function(document: Mapping[str, Any]) -> str:
    change = document.get("function")
    if change == "preserved":
        return "The function is the source's: names and config were rewritten, no number was."
    return f"The function was changed: {words(change)}." if change else ""


def _left(document: Mapping[str, Any]) -> str:
    left = [item for item in document.get("left") or () if isinstance(item, Mapping)]
    if not left:
        return ""
    told = [f"{code(item.get('name', ''))} ({words(item.get('why', ''))})" for item in left[:SHOWN]]
    more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
    return f" Left out: {'; '.join(told)}{more}."


def _target(matter: CardMatter) -> str:
    base = matter.base_model
    digest = f", config and headers {code(base.digest)}" if base.digest else ""
    word = ""
    if base.stated and base.compared:
        word = " The measuring was done with a folder of that digest; the Hub's files at that commit have it, too."
    elif base.stated:
        word = " The measuring was done with a folder of that digest; repository and commit are the publisher's word."
    return f"**Target:** {words(base.repo)} at {code(base.commit)}{digest}.{word}"


def _report(matter: CardMatter) -> str:
    tool = matter.result("tool")
    tool = tool if isinstance(tool, Mapping) else {}
    used = [f"{name} {tool[name]}" for name in LIBRARIES if name in tool]
    libraries = f" with {words(', '.join(used))}" if used else ""
    made = f"eaglekit {words(tool['version'])}{libraries}" if "version" in tool else "eaglekit"
    return (
        f"**Report:** report.json, {code(f'sha256:{matter.report_sha256}')}, made by {made}. {_beside(matter)}".rstrip()
    )


def _beside(matter: CardMatter) -> str:
    about = matter.fact("function beside the baseline")
    return f"Its function beside the baseline it was compared with: {words(about)}." if about is not None else ""


def _place(place: Mapping[str, Any]) -> str:
    """A repository of the Hub at its commit; empty for a folder, whose name is nobody's business."""
    if place.get("kind") == "local" or "repo" not in place:
        return ""
    at = f" at {code(place['commit'])}" if "commit" in place else ""
    return f"{words(place['repo'])}{at}"


def limits(matter: CardMatter) -> Iterator[str]:
    """What a reader could take for more than it is."""
    lines = []
    if matter.measurement("acceptance length") is not None:
        lines += [
            "Acceptance depends on the texts: it holds for texts like those that were measured. No speed was measured.",
            "Another quantisation of the target, another sampling or a tree of drafts gives other numbers.",
        ]
    trained = matter.fact("trained_context_length")
    if isinstance(trained, int):
        lines.append(f"Beyond {trained:,} tokens of context the drafter has seen nothing.")
    told = (*matter.report.of(Severity.WARNING), *matter.report.of(Severity.NOTE))
    lines += _findings([finding for finding in told if finding.code in ABOUT_NUMBERS])
    if lines:
        yield "\n".join(f"- {line}" for line in lines)


def warnings(matter: CardMatter) -> Iterator[str]:
    """What the report warns of beside its numbers; its other notes stand in report.json alone."""
    lines = _findings([each for each in matter.report.of(Severity.WARNING) if each.code not in ABOUT_NUMBERS])
    if lines:
        yield "\n".join(f"- {line}" for line in lines)


ABOUT_NUMBERS = frozenset(
    {
        "texts-few", "response-not-greedy", "capture-target-differs", "state-growth", "layers-undecided",
        "readings-not-captured", "baseline-other", "prompts-boundary-merged", "prompts-first-turn",
    }
)  # fmt: skip
"""Codes of findings that limit what the numbers say."""


def _findings(told: Sequence[Finding]) -> list[str]:
    more = [f"{len(told) - SHOWN} more are in report.json."] if len(told) > SHOWN else []
    return [*(f"{_sentence(words(finding.message))} ({finding.code})." for finding in told[:SHOWN]), *more]


def _sentence(told: str) -> str:
    """Words of a finding as a sentence begins; a name at their head keeps its spelling."""
    first = told.partition(" ")[0]
    return told[:1].upper() + told[1:] if first.isalpha() and first.islower() else told


def _mapping(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    return value if isinstance(value, Mapping) else {}
