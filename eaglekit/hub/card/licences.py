"""The licences that the Hub knows by an id, and what a card says of its own."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from eaglekit.report import Finding, Refusal

# https://huggingface.co/docs/hub/repositories-licenses, with the ids that newer cards of their owners use.
IDS: frozenset[str] = frozenset({
    "apache-2.0", "mit", "openrail", "bigscience-openrail-m", "creativeml-openrail-m", "bigscience-bloom-rail-1.0",
    "bigcode-openrail-m", "afl-3.0", "artistic-2.0", "bsl-1.0", "bsd", "bsd-2-clause", "bsd-3-clause",
    "bsd-3-clause-clear", "c-uda", "cc", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nd-4.0",
    "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0",
    "cdla-sharing-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0", "wtfpl", "ecl-2.0", "epl-1.0", "epl-2.0",
    "etalab-2.0", "eupl-1.1", "eupl-1.2", "agpl-3.0", "gfdl", "gpl", "gpl-2.0", "gpl-3.0", "lgpl", "lgpl-2.1",
    "lgpl-3.0", "isc", "h-research", "intel-research", "lppl-1.3c", "ms-pl", "apple-ascl", "apple-amlr", "mpl-2.0",
    "odc-by", "odbl", "open-mdw", "openmdw-1.0", "openrail++", "osl-3.0", "postgresql", "ofl-1.1", "ncsa",
    "unlicense", "zlib", "pddl", "lgpl-lr", "deepfloyd-if-license", "fair-noncommercial-research-license", "llama2",
    "llama3", "llama3.1", "llama3.2", "llama3.3", "llama4", "grok2-community", "gemma", "unknown", "other",
})  # fmt: skip
OTHER = "other"
# https://github.com/huggingface/hub-docs/blob/main/modelcard.md: a name like my-license-1.0; a file here, or a URL.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,95}")
LINK = re.compile(r"https?://[^\s<>\"']{3,500}|(?:LICENSE|LICENCE|NOTICE)[A-Za-z0-9._-]{0,60}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Licence:
    """Under what terms the drafter is published."""

    id: str
    """One of `IDS`."""
    name: str | None = None
    """For `other` only."""
    link: str | None = None
    """For `other` only: a URL, or the name of a file in the repository."""

    def as_metadata(self) -> dict[str, str]:
        """The keys of the front matter."""
        pairs = {"license": self.id, "license_name": self.name, "license_link": self.link}
        return {key: value for key, value in pairs.items() if value is not None}


def licence_of(
    id: str | None, *, name: str | None = None, link: str | None = None, card: Mapping[str, Any] | None = None
) -> Licence:
    """The licence the user gives; without one, the licence that an existing card's front matter states.

    Raises `Refusal` with everything that is wrong with it.
    """
    place = "--license"
    if id is None and name is None and link is None:
        stated = {key: (card or {}).get(f"license{key}") for key in ("", "_name", "_link")}
        if stated[""] is None:
            raise Refusal(_missing())
        id, name, link = (value if value is None else str(value) for value in stated.values())
        place = "README.md: license"
    findings = licence_findings(id, name, link, place)
    if findings:
        raise Refusal(*findings)
    assert id is not None  # noqa: S101 - a missing id is a finding
    return Licence(id, name, link) if id == OTHER else Licence(id)


def licence_findings(id: str | None, name: str | None, link: str | None, place: str) -> list[Finding]:
    """Everything that is wrong with a licence."""
    if id is None:
        return [_missing()]
    if id not in IDS:
        return [unknown(id, place)]
    if id != OTHER:
        given = ", ".join(text for text in (name, link) if text is not None)
        # A card may name its known licence twice; an option that would be dropped is not swallowed.
        return [_unused(id, given)] if given and place.startswith("--") else []
    findings = []
    if name is None or not NAME.fullmatch(name):
        findings.append(_incomplete("name", "license-name", name, "a short name of letters, digits, dots and hyphens"))
    if link is None or not LINK.fullmatch(link):
        findings.append(_incomplete("link", "license-link", link, "a URL, or LICENSE for the file in the folder"))
    return findings


def unwritten(licence: Licence, names: Collection[str]) -> list[Finding]:
    """The finding for a link to a file that the folder has not."""
    link = licence.link
    if link is None or "://" in link or link in names:
        return []
    return [
        Finding(
            "licence-incomplete",
            f"the licence is said to stand in {link}, and the folder has no such file",
            place="--license-link",
            got=link,
            expected="a file of the folder, or a URL",
            hint=f"put the licence's text into {link}, or give a URL",
        )
    ]


def unknown(id: str, place: str) -> Finding:
    """The finding for an id that the Hub does not know."""
    close = difflib.get_close_matches(id.lower().replace(" ", "-"), sorted(IDS), n=1, cutoff=0.5)
    meant = f"did you mean {close[0]}? " if close else ""
    return Finding(
        "licence-unknown",
        f"{id!r} is no licence that the Hub knows by that id",
        place=place,
        got=repr(id),
        expected="an id of https://huggingface.co/docs/hub/repositories-licenses",
        hint=f"{meant}A licence without an id: --license other --license-name NAME --license-link URL",
    )


def _missing() -> Finding:
    return Finding(
        "licence-missing",
        "nobody has said under which licence the drafter is published",
        place="--license",
        got="no licence",
        expected="the id of a licence",
        hint="add --license ID; the target's licence often decides, for example llama3.1",
    )


def _incomplete(what: str, option: str, got: str | None, expected: str) -> Finding:
    return Finding(
        "licence-incomplete",
        f"the licence is `other`, and its {what} is {'missing' if got is None else f'{got!r}'}",
        place=f"--{option}",
        got="nothing" if got is None else repr(got),
        expected=expected,
        hint=f"add --{option} {'NAME' if what == 'name' else 'URL'}",
    )


def _unused(id: str, given: str) -> Finding:
    return Finding(
        "licence-incomplete",
        f"{id} is known by its id, and needs no name or link",
        place="--license-name, --license-link",
        got=given,
        expected="neither, or --license other",
        hint="leave --license-name and --license-link out",
    )
