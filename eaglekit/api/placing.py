"""Where a push goes: what is asked of it, and what cannot be meant."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from eaglekit.api.misuse import Misuse
from eaglekit.checkpoint.hub_id import REVISION, is_spelled_id, parse_repo
from eaglekit.hub.local.patterns import mask, secrets_in
from eaglekit.hub.local.signing import SIGSTORE
from eaglekit.hub.model import Wishes
from eaglekit.hub.publishing.collecting import SLUG
from eaglekit.report import Finding
from eaglekit.report.model import refuse_if


def refuse_swapped(path: str, repository: str) -> None:
    """Raise `Misuse` for a push whose arguments, or whose `--rehearse`, took each other's place."""
    there = os.path.exists(os.path.expanduser(path))  # noqa: PTH110, PTH111 - Path raises for names that cannot be
    if not there and is_spelled_id(path) and not is_spelled_id(repository):
        raise Misuse(f"PATH comes first: eaglekit push {repository} {path}")


def _refuse_secrets(wishes: Mapping[str, Any]) -> None:
    """Raise `Refusal` for a secret among the words that would be published with the commit."""
    refuse_if(
        [
            Finding(
                "secret-found",
                f"--{option} holds {kind}",
                place=f"--{option}",
                got=mask(text[start:end]),
                expected="words that everybody may read",
                hint="revoke it where it was issued: every process can read command lines, and shells keep them",
            )
            for option in ("message", "tag", "revision", "collection")
            for text in [wishes[option] or ""]
            for kind, start, end in secrets_in(text)
        ]
    )


def place_of(repository: str, wishes: Mapping[str, Any]) -> Wishes:
    """Where the push goes, and how. Raises `Misuse` or `Refusal` for what cannot be."""
    _refuse_secrets(wishes)
    hub_id = parse_repo(repository)
    if hub_id.revision is not None:
        raise Misuse(f"ORG/NAME is without a revision here: say --revision {hub_id.revision}.")
    for option in ("revision", "tag"):
        name = wishes[option]
        if name is not None and (".." in name or not REVISION.fullmatch(name)):
            raise Misuse(f"--{option}: {name!r} cannot be the name of a branch or tag.")
    if wishes["create_pr"] and wishes["tag"] is not None:
        raise Misuse("--tag names what is published; a pull request is not, yet. Tag it when it is merged.")
    if wishes["create_pr"] and wishes["public"]:
        raise Misuse("--public is about a new repository; a pull request needs one that exists.")
    if wishes["create_pr"] and wishes["collection"] is not None:
        raise Misuse("--collection is for what is published; a pull request is not, yet.")
    if wishes["collection"] is not None and not SLUG.fullmatch(wishes["collection"]):
        raise Misuse(
            f"--collection: {wishes['collection']!r} is not OWNER/TITLE-ID, as in the address of a collection's page."
        )
    if wishes["rehearse"] is not None and wishes["sign"] == SIGSTORE:
        raise Misuse("sigstore records every signature in public: rehearse with a key, --sign KEY.pem.")
    if wishes["message"] is not None and not wishes["message"].strip():
        raise Misuse("--message is empty.")
    return Wishes(
        hub_id.repo,
        **{name: wishes[name] for name in PLACE},
    )


PLACE = ("revision", "create_pr", "public", "overwrite", "tag", "message", "collection")
"""Wishes that the Hub's side of a push has under the same name."""
