"""What became of a commit: read from the Hub's answer, or found by looking when the answer never came."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eaglekit.hub.model import LocalFile, Outline
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.listing import history
from eaglekit.hub.remote.looking import COMMIT, branch_head, pull_requests
from eaglekit.hub.remote.words import NOTHING_SENT, Doing, status_of
from eaglekit.report import Finding, Refusal

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo

TRAILER = "eaglekit-push: "
"""A line of the commit's description by which a push knows its own commit again."""
LOOK_PAUSES_S = (0.0, 1.0, 3.0)
"""Before each look at what a failed commit left: a gateway gives up before the server behind it does."""
MOST_COMMITS = 50
"""How far back from a head a push looks for its own commit."""


@dataclass(frozen=True, slots=True)
class Published:
    """Where the files of a push stand now."""

    commit: str
    parent: str
    pull_request: int | None = None
    found_by_looking: bool = False
    """The Hub's answer failed, and a look showed that the commit was recorded."""
    recorded: bool = True
    """False when everything was there already, and nothing was sent."""


def trailer(files: tuple[LocalFile, ...]) -> str:
    """The line that stands in the commit's description: a digest of every name and digest."""
    lines = "".join(f"{file.sha256}  {file.name}\n" for file in sorted(files, key=lambda file: file.name))
    return TRAILER + hashlib.sha256(lines.encode()).hexdigest()


def recorded(answer: CommitInfo, planned: Outline, parent: str, client: HubClient) -> Published:
    """What the Hub says it has recorded; an answer that says nothing is looked into."""
    number = answer.pr_num if planned.wishes.create_pr else None
    if not COMMIT.fullmatch(str(answer.oid)):
        wrong = ValueError(f"commit {answer.oid!r}")
        return look_into(wrong, planned, parent, client)
    return Published(answer.oid, parent, number)


def look_into(error: Exception, planned: Outline, parent: str, client: HubClient) -> Published:
    """The commit in spite of an error, when it is there. Raises `Refusal` when it is not, or nobody can say."""
    status = status_of(error)
    if status is not None and status < 500 and status != 408:
        raise client.refusal(error, Doing.PROPOSE if planned.wishes.create_pr else Doing.COMMIT)
    reason = client.refusal(error, Doing.COMMIT).findings[0].got
    client.say(f"the commit failed ({reason}): looking whether it was recorded")
    look = _own_pull_request if planned.wishes.create_pr else _own_commit
    for pause in LOOK_PAUSES_S:
        time.sleep(pause)
        try:
            found = look(planned, parent, client)
        except Refusal as refusal:
            raise Refusal(_unknown(client, reason), *refusal.findings) from None
        if isinstance(found, Finding):
            raise Refusal(found)
        if found is not None:
            return found
    raise Refusal(
        Finding(
            "push-not-recorded",
            f"{client.asked.host} failed, and {client.repo} stands where it stood",
            place=client.repo,
            got=reason,
            expected=f"a commit on {parent[:12]}",
            hint=NOTHING_SENT,
        )
    )


def _own_commit(planned: Outline, parent: str, client: HubClient) -> Published | Finding | None:
    """Our commit on the branch; None when the branch has not moved, a finding when only others moved it."""
    branch = planned.wishes.revision
    head = branch_head(client, branch)
    if head is None or head == parent:
        return None
    if (own := _with_trailer(planned, head, parent, client)) is not None:
        return Published(own, parent, found_by_looking=True)
    return Finding(
        "push-rival-commit",
        f"{client.repo} has changed since the plan was made",
        place=f"{client.repo}: {branch}",
        got=f"a commit {head[:12]} of somebody else",
        expected=f"{parent[:12]}",
        hint="nothing was published; run the same command again, which makes a new plan",
    )


def _own_pull_request(planned: Outline, parent: str, client: HubClient) -> Published | None:
    """Our pull request among those that were not there before."""
    for ref, head in pull_requests(client).items():
        if ref not in planned.state.pulls and _with_trailer(planned, head, parent, client) is not None:
            return Published(head, parent, _number(ref), found_by_looking=True)
    return None


def proposed_already(planned: Outline, client: HubClient) -> Published | None:
    """An open pull request of an earlier run that holds exactly these files: a second one would say nothing new."""
    if not planned.wishes.create_pr or planned.state.parent is None:
        return None
    for ref, head in sorted(planned.state.pulls.items(), key=lambda item: -_number(item[0]))[:MOST_COMMITS]:
        if _with_trailer(planned, head, planned.state.parent, client) != head:
            continue
        status = client.read(Doing.LOOK, lambda: _status(ref, client))  # noqa: B023 - called at once
        if status in {"open", "draft"}:
            return Published(head, planned.state.parent, _number(ref), recorded=False)
    return None


def _status(ref: str, client: HubClient) -> str:
    return str(client.api.get_discussion_details(client.repo, _number(ref)).status)


def _with_trailer(planned: Outline, head: str, parent: str, client: HubClient) -> str | None:
    """The commit between `head` and `parent` that carries this push's own line."""
    line = trailer(planned.files)
    for past in history(client, head, MOST_COMMITS):
        if past.commit == parent:
            return None
        if line in past.description.splitlines():
            return past.commit
    return None


def _number(ref: str) -> int:
    digits = ref.rpartition("/")[2]
    return int(digits) if digits.isdecimal() else 0


def _unknown(client: HubClient, reason: str) -> Finding:
    return Finding(
        "push-outcome-unknown",
        f"whether {client.repo} has the commit could not be found out",
        place=client.repo,
        got=reason,
        hint="run the same command again when the Hub answers: it sees what is there",
    )
