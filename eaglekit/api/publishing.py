"""From what a publisher says to a prepared push, and from there to what has come of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from eaglekit.hub.card import CardWishes
from eaglekit.hub.local.signing import Signer
from eaglekit.hub.model import Wishes
from eaglekit.hub.publishing.assembling import Asked, AskLicence
from eaglekit.hub.publishing.pushing import Prepared, prepare, publish
from eaglekit.hub.rehearsal import Rehearsal, rehearsing
from eaglekit.hub.remote.client import HubClient, Say
from eaglekit.report import Fact, Report
from eaglekit.report.progress import Bar, silent

PASSWORD = "EAGLEKIT_SIGNING_PASSWORD"  # noqa: S105 - the name of a variable
WORDS = ("licence", "licence_name", "licence_link", "base_model")
"""What only the publisher can say."""


def signer(key: str | None, password: str | None = None) -> Signer | None:
    """Who signs, with the password that was given or stands in the environment; None for nobody."""
    return None if key is None else Signer(key, password if password is not None else os.environ.get(PASSWORD))


def asked_of(
    repo: str, wishes: Mapping[str, Any], *, ask_licence: AskLicence | None = None, sign: Signer | None = None
) -> Asked:
    """What the publisher says, beside where to."""
    return Asked(
        card=CardWishes(repo=repo, **{name: wishes[name] for name in WORDS}),
        prompts=wishes["prompts"],
        with_figure=not wishes["no_figure"],
        ask_licence=ask_licence,
        sign=sign,
    )


@contextmanager
def rehearsed_in(folder: str, place: Wishes) -> Iterator[Rehearsal]:
    """The Hub of a rehearsal in `folder`, or beside the current one. To be entered as `rehearsing` says."""
    name = place.repo.rpartition("/")[2]
    with rehearsing(Path(folder or f"rehearsal-{name}"), place.repo, place.collection) as rehearsal:
        yield rehearsal


def prepared(
    path: str,
    report: Path | None,
    asked: Asked,
    place: Wishes,
    rehearsal: Rehearsal | None = None,
    *,
    bar: Bar = silent,
    say: Say = lambda text: None,
) -> Prepared:
    """A push that nothing speaks against: questions are asked of the Hub, and nothing is sent. Raises `Refusal`."""

    def connect() -> HubClient:
        if rehearsal is not None:
            return rehearsal.connect(place.repo, say)
        return HubClient(place.repo, say=say)

    folder = Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    return prepare(folder, report, asked, place, connect, bar=bar)


def published(prepared: Prepared, rehearsal: Rehearsal | None = None, *, bar: Bar = silent) -> Report:
    """The push itself; of a rehearsal also where its files lie now."""
    report = publish(prepared, bar=bar)
    if rehearsal is None:
        return report
    card = rehearsal.leave(prepared.planned.wishes.repo, report.result["commit"])
    again = f"python -m eaglekit.hub.loopback {rehearsal.folder}"
    left = {"folder": str(rehearsal.folder), "card": str(card), "serve": again}
    facts = (
        Fact("rehearsal", str(rehearsal.folder), "given: --rehearse; nothing was published"),
        Fact("card", str(card), "derived: the files of the commit, laid out"),
    )
    kept = [fact for fact in report.facts if fact.name not in ("url", "pull request")]
    result = {**report.result, "outcome": "rehearsed", "rehearsal": left, "next": [again]}
    return replace(report, facts=(*facts, *kept), result=result)
