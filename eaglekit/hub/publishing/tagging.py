"""`tag`: a name for a commit that has been checked."""

from __future__ import annotations

from eaglekit.hub.model import Outline
from eaglekit.hub.publishing.aftermath import Published
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.looking import tags_now
from eaglekit.hub.remote.words import Doing
from eaglekit.report import Finding, Refusal

TAG_FAILED = "push-tag-failed"


def tag(planned: Outline, published: Published, client: HubClient) -> list[Finding]:
    """Set the tag that is wished, unless it stands there already. A failure is a finding: the commit stays."""
    name = planned.wishes.tag
    if name is None or planned.state.tags.get(name) == published.commit:
        return []
    try:
        client.write(
            Doing.TAG, lambda: client.api.create_tag(client.repo, tag=name, revision=published.commit), file=name
        )
    except Refusal as refusal:
        try:
            there = tags_now(client).get(name)
        except Refusal:
            there = None
        if there == published.commit:
            return []
        return [_failed(client, name, published.commit, refusal.findings[0].got), *refusal.findings]
    return []


def _failed(client: HubClient, name: str, commit: str, got: str) -> Finding:
    return Finding(
        TAG_FAILED,
        f"{client.repo} has the commit {commit} and not the tag {name}",
        place=f"{client.repo}: {name}",
        got=got,
        expected=f"the tag at {commit[:12]}",
        hint="run the same command again: it sends no files, and sets the tag",
    )
