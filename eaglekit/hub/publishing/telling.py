"""A push as a report: what it would do, and what has come of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eaglekit.hub.model import PROMPTS, SIGNATURE, Change, Outline, Row
from eaglekit.hub.publishing.aftermath import Published
from eaglekit.hub.publishing.assembling import UNSIGNED, Assembled
from eaglekit.hub.publishing.following import verify_command
from eaglekit.hub.publishing.outline import SHORT
from eaglekit.hub.remote.client import HubClient
from eaglekit.report import Fact, Report, Table

HUB = "read: the Hub's answer"
ASKED = "given: the command line"


def plan(planned: Outline, assembled: Assembled, client: HubClient) -> Report:
    """What a push would do, in tables and facts; nothing has been sent."""
    wishes, account = planned.wishes, planned.state.account
    facts = [
        Fact("repository", wishes.repo, ASKED),
        Fact(
            "hub", client.asked.host, f"given: {'--rehearse' if client.rehearses else 'HF_ENDPOINT, or the Hub itself'}"
        ),
        Fact("account", f"{account.name} ({account.role})", HUB),
        Fact("visibility", visibility(planned), HUB if planned.state.exists else ASKED),
        Fact("branch", _branch(planned), HUB),
        Fact("tag", f"{wishes.tag}{_standing_tag(planned)}", ASKED) if wishes.tag is not None else None,
        Fact("collection", _collection(planned), HUB) if wishes.collection is not None else None,
        Fact("signature", *_signature(planned, assembled)) if _signature(planned, assembled) else None,
        Fact("base model", f"{assembled.base_model.repo}@{assembled.base_model.commit}", _base(assembled, client)),
        Fact("prompts", *_prompts(planned)) if "prompts" in assembled.report.result else None,
        Fact("licence", assembled.licence.id, "given: --license, or the card that was there"),
        Fact("manifest", assembled.manifest.sha256, "derived: SHA-256 of SHA256SUMS; eaglekit pull --expect takes it"),
        Fact("to send", _amount(planned), "derived: what is new or changed"),
    ]
    return Report(
        "push",
        wishes.repo,
        facts=tuple(fact for fact in facts if fact is not None),
        tables=(_files(planned),),
        result={"outcome": "planned", **_result(planned, assembled), "card": planned.card},
    )


def outcome(
    planned: Outline, assembled: Assembled, published: Published, client: HubClient, *, tagged: bool = False
) -> Report:
    """What has come of a push, at the commit where its files stand; `tagged` when the wished tag stands there, too."""
    before = plan(planned, assembled, client)
    commit, pull = published.commit, published.pull_request
    facts = [
        Fact("commit", commit, _found(published)),
        Fact("url", client.url(f"/commit/{commit}"), "derived: the commit's page"),
        Fact("pull request", client.url(f"/discussions/{pull}"), HUB) if pull is not None else None,
    ]
    tag, was_there = planned.wishes.tag, planned.state.tags.get(planned.wishes.tag or "") == commit
    if tag is not None:
        told = "was there" if was_there else "set now" if tagged else "not set"
        facts.append(Fact("tag", f"{tag}: {told}", HUB))
    name = planned.wishes.repo.rpartition("/")[2]
    base = assembled.base_model
    verify = verify_command(
        f"{planned.wishes.repo}@{commit}",
        assembled.report,
        has_prompts=_has(planned, PROMPTS),
        finds_target=base.compared or not base.stated,
    )
    at = f"{planned.wishes.repo}@{commit}"
    after = {
        "outcome": "published" if published.recorded else "nothing to do",
        "commit": commit,
        "parent": published.parent,
        "url": client.url(f"/commit/{commit}"),
        "pull_request": None if pull is None else {"number": pull, "url": client.url(f"/discussions/{pull}")},
        "tag_set": tag is not None and tagged and not was_there,
        "next": [f"eaglekit pull {at} ./{name}", verify],
    }
    kept = [fact for fact in before.facts if fact.name not in ("to send", "tag")]
    result = {**before.result, **after}
    del result["card"]
    return replace(before, facts=(*(fact for fact in facts if fact is not None), *kept), result=result)


def headline(planned: Outline) -> str:
    """One line: what would be done."""
    counts = {change: sum(row.change is change for row in planned.rows) for change in Change}
    if not planned.sends:
        return f"{planned.wishes.repo} has all {counts[Change.SAME]} files already: there is nothing to send"
    told = ", ".join(f"{count} {change.value}" for change, count in counts.items() if count)
    return f"{planned.wishes.repo}: {told}; {_amount(planned)} to send, in one commit"


def visibility(planned: Outline) -> str:
    """Who will be able to see it."""
    if planned.state.exists:
        return "private" if planned.state.private else "public"
    return f"{'public' if planned.wishes.public else 'private'}, a new repository"


def _branch(planned: Outline) -> str:
    wishes, state = planned.wishes, planned.state
    at = state.parent[:SHORT] if state.parent is not None else ""
    if wishes.create_pr:
        return f"a new pull request against {wishes.revision} at {at}"
    if not state.exists:
        return wishes.revision if wishes.revision == "main" else f"{wishes.revision}, a new branch beside main"
    return f"{wishes.revision} at {at}" if state.branch_exists else f"{wishes.revision}, a new branch from main at {at}"


def _base(assembled: Assembled, client: HubClient) -> str:
    if not assembled.base_model.stated:
        return "read: the report's target"
    if client.rehearses and not assembled.base_model.compared:
        return "given: --base-model; a rehearsal has no target, the real push compares it"
    same = "the Hub's files there have the digest of the report" if assembled.base_model.compared else "your word alone"
    return f"given: --base-model; {same}"


def _standing_tag(planned: Outline) -> str:
    there = planned.state.tags.get(planned.wishes.tag or "")
    return ", which is there" if there is not None and there == planned.state.parent else ", to be set"


def _prompts(planned: Outline) -> tuple[str, str]:
    """Whether the texts of the report go along."""
    if _has(planned, PROMPTS):
        return f"{PROMPTS}, published", "given: --with-prompts"
    return "not published: who verifies needs the file", "derived: --with-prompts FILE would publish it"


def _has(planned: Outline, name: str) -> bool:
    return any(file.name == name for file in planned.files)


def _collection(planned: Outline) -> str:
    return f"{planned.wishes.collection}{', which has it already' if planned.state.collected else ''}"


def _signature(planned: Outline, assembled: Assembled) -> tuple[str, str] | tuple[()]:
    """What is signed, and by what; nothing when the push brings no signature."""
    row = next((row for row in planned.rows if row.name == SIGNATURE and row.local is not None), None)
    if row is None:
        return ()
    if assembled.signs_later is not None:
        return f"{SIGNATURE}, made by sigstore when it is agreed to", ASKED
    kept = ", which holds and stays" if row.change is Change.SAME else ""
    return f"{SIGNATURE}{kept}", "derived: --sign, over every file but the card"


def _found(published: Published) -> str:
    if not published.recorded:
        return "read: the branch; nothing was sent"
    return "read: the branch, after the Hub's answer had failed" if published.found_by_looking else HUB


def _amount(planned: Outline) -> str:
    size_bytes = sum(file.size_bytes for file in planned.sends)
    return f"{len(planned.sends)} files, {size_bytes / 1e6:,.1f} MB" if planned.sends else "nothing"


def _files(planned: Outline) -> Table:
    columns = ("change", "file", "bytes", "sha256", "on the Hub")
    return Table("files", "Files", columns, tuple(_row(row) for row in planned.rows))


def _row(row: Row) -> tuple[Any, ...]:
    here = row.local.sha256[:SHORT] if row.local is not None else ""
    there = ""
    if row.change is Change.SAME:
        there = "the same"
    elif row.remote is not None:
        there = row.remote.sha256[:SHORT] if row.remote.sha256 is not None else f"git {row.remote.git_name[:SHORT]}"
    size: int | str = row.remote.size_bytes if row.remote is not None else 0
    if row.local is not None:
        size = row.local.size_bytes if row.local.sha256 != UNSIGNED else "made later"
    return (row.change.value, row.name, size, here, there)


def _result(planned: Outline, assembled: Assembled) -> dict[str, Any]:
    wishes, state = planned.wishes, planned.state
    return {
        "repo": wishes.repo,
        "new_repository": not state.exists,
        "private": state.private if state.exists else not wishes.public,
        "branch": wishes.revision,
        "new_branch": not state.branch_exists and wishes.revision != "main",
        "create_pr": wishes.create_pr,
        "parent": state.parent,
        "tag": wishes.tag,
        "collection": wishes.collection,
        "manifest": assembled.manifest.sha256,
        "base_model": {"repo": assembled.base_model.repo, "commit": assembled.base_model.commit},
        "licence": assembled.licence.as_metadata(),
        "files": [
            {
                "name": row.name,
                "change": row.change.value,
                "size_bytes": row.local.size_bytes if row.local is not None and row.local.sha256 != UNSIGNED else None,
                "sha256": row.local.sha256 or None if row.local is not None else None,
                "remote": None
                if row.remote is None
                else {
                    "size_bytes": row.remote.size_bytes,
                    "sha256": row.remote.sha256,
                    "git": row.remote.git_name,
                },
            }
            for row in planned.rows
        ],
    }
