"""What a card says in its front matter, beside the report that it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

from eaglekit.checkpoint.hub_id import is_repo
from eaglekit.hub.card.categories import by_category
from eaglekit.hub.card.front_matter import parse
from eaglekit.hub.card.matter import COMMIT
from eaglekit.hub.card.merging import front_matter_of
from eaglekit.hub.card.metadata import TEXTS
from eaglekit.hub.model import CARD, REPORT
from eaglekit.report import Finding, Refusal, Report
from eaglekit.report.model import printable

FEWEST_DECIMALS = 2
"""A card may round; to fewer decimals than this it says another number."""
CARD_LIMIT = 4 << 20


@dataclass(frozen=True, slots=True)
class CardClaims:
    """What became of a card's claims."""

    count: int
    """Numbers in it that the report vouches for."""
    findings: tuple[Finding, ...]
    target: str | None = None
    """ORG/NAME@COMMIT of the target as the card has it; nothing vouches for it but the digest in the report."""


def read_card_claims(data: bytes, report: Report, report_sha256: str) -> CardClaims:
    """The numbers and names of a card against its report: another one than the report's is an error."""
    try:
        values = parse(front_matter_of(data.decode("utf-8"))).values()
    except UnicodeDecodeError:
        return CardClaims(0, (_differs(CARD, "it is no text", "bytes that are no UTF-8", "UTF-8"),))
    except Refusal as refusal:
        return CardClaims(0, refusal.findings)
    findings = list(_names(values, report, report_sha256))
    count = 0
    for place, name, category, metric in _metrics(values.get("model-index")):
        known = _measured(report, name, category)
        wrong = list(_wrong(place, known, metric)) if known is not None else [_unknown(place, metric)]
        findings += wrong
        count += not wrong
    return CardClaims(count, tuple(findings), _target(values))


def _target(values: Mapping[str, Any]) -> str | None:
    """The target that a card names, if the Hub could have it."""
    ours = values.get("eaglekit")
    stated = ours.get("target") if isinstance(ours, Mapping) else None
    repo, commit = (stated.get("repo"), stated.get("commit")) if isinstance(stated, Mapping) else (None, None)
    sound = isinstance(repo, str) and is_repo(repo) and isinstance(commit, str) and COMMIT.fullmatch(commit)
    return f"{repo}@{commit}" if sound else None


def _names(values: Mapping[str, Any], report: Report, report_sha256: str) -> Iterator[Finding]:
    """The report and the target that a card names."""
    ours = values.get("eaglekit")
    ours = ours if isinstance(ours, Mapping) else {}
    stated, target = ours.get("target"), report.result.get("target", {})
    stated = stated if isinstance(stated, Mapping) else {}
    pairs = (
        ("eaglekit.report", ours.get("report"), f"sha256:{report_sha256}"),
        ("eaglekit.target.digest", stated.get("digest"), target.get("digest")),
        ("eaglekit.target.repo", stated.get("repo"), target.get("repo")),
        ("eaglekit.target.commit", stated.get("commit"), target.get("commit")),
        ("base_model", values.get("base_model"), stated.get("repo")),
    )
    for key, said, known in pairs:
        said = said[0] if isinstance(said, list) and len(said) == 1 else said
        if said is not None and known is not None and said != known:
            yield _differs(f"{CARD}: {key}", f"it says {key}: {_short(said)}", _short(said), _short(known))


def _metrics(index: Any) -> Iterator[tuple[str, str, str | None, Mapping[str, Any]]]:
    """Place, name, category and the metric itself, for everything in a model-index that looks like one."""
    for entry in _mappings(index):
        for result in _mappings(entry.get("results")):
            dataset = result.get("dataset")
            dataset = dataset if isinstance(dataset, Mapping) else {}
            ours = dataset.get("type") == TEXTS
            category = dataset.get("config") if ours else dataset.get("name")
            for metric in _mappings(result.get("metrics")):
                name = str(metric.get("name") or metric.get("type"))
                about = f"{name}, {category}" if category is not None else name
                # What others measured on a data set of theirs is no figure of the report, whatever it is called.
                yield f"{CARD}: model-index: {_short(about)}", name if ours else "", category, metric


def _mappings(value: Any) -> Sequence[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []


def _measured(report: Report, name: str, category: str | None) -> dict[str, float | None] | None:
    """The same figure in the report, with its interval and count; None when it measures no such thing."""
    if category is None:
        one = next((each for each in report.measurements if each.name == name), None)
    else:
        one = by_category(report).get(str(category)) if name == "acceptance length" else None
    return {"value": one.value, "low": one.low, "high": one.high, "count": one.count} if one is not None else None


def _wrong(place: str, known: Mapping[str, float | None], metric: Mapping[str, Any]) -> Iterator[Finding]:
    arguments = metric.get("args")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    said = {"value": metric.get("value")} | {
        key: arguments[key] for key in ("low", "high", "count") if key in arguments
    }
    for part, number in said.items():
        if part not in known:
            continue
        if not _same(number, known[part]):
            yield _differs(place, f"it says {part} {_short(number)}", _short(number), _short(known[part]))


def _same(said: Any, known: float | None) -> bool:
    """Whether a number is that of the report, perhaps rounded."""
    if known is None or isinstance(said, bool) or not isinstance(said, (int, float)):
        return False
    decimals = len(repr(said).partition(".")[2])
    return isclose(said, known, rel_tol=1e-9) or (
        isinstance(said, float) and FEWEST_DECIMALS <= decimals <= 15 and isclose(said, round(known, decimals))
    )


def _short(value: Any) -> str:
    text = printable(str(value))
    return text if len(text) <= 100 else f"{text[:97]}..."


def _differs(place: str, what: str, got: str, expected: str) -> Finding:
    return Finding(
        "verify-card-differs",
        f"the card is not what its report says: {what}",
        place=place,
        got=got,
        expected=expected,
        hint=f"believe {REPORT}, whose claims are repeated here, and tell the owner",
    )


def _unknown(place: str, metric: Mapping[str, Any]) -> Finding:
    return Finding(
        "verify-card-unmeasured",
        f"the card claims {_short(metric.get('value'))} for something that its report does not measure",
        place=place,
        got=_short(metric.get("value")),
        expected=f"a figure of {REPORT}",
        hint="nothing here can tell whether it is right",
    )
