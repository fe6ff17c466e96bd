"""Discussions and pull requests: opening, reading, closing and merging them."""

from __future__ import annotations

from typing import Any

from eaglekit.hub.loopback.access import at, proposable, visible, writable
from eaglekit.hub.loopback.exchange import Exchange, Refused
from eaglekit.hub.loopback.model import Discussion, Repository
from eaglekit.hub.loopback.storage import now


def create(exchange: Exchange, repo: str) -> None:
    """A new discussion, or a draft of a pull request against main."""
    repository, account = proposable(exchange, repo)
    wanted = exchange.json()
    title = str(wanted.get("title") or "").strip()
    if not 3 <= len(title) <= 200:
        raise Refused(400, '"title" length must be at least 3 characters long, and at most 200')
    base = "main" if wanted.get("pullRequest") else None
    opened = exchange.storage.open_discussion(
        repository, title, str(wanted.get("description") or ""), account.name, base=base, draft=base is not None
    )
    url = f"{exchange.hub.endpoint}/{repository.id}/discussions/{opened.num}"
    exchange.answer(200, {"num": opened.num, "url": url, "pullRequest": base is not None})


def list_all(exchange: Exchange, repo: str) -> None:
    """Every discussion, the newest first."""
    repository = visible(exchange, repo)
    kind = exchange.query.get("type", "all")
    found = [
        summary(repository, each)
        for each in reversed(list(repository.discussions.values()))
        if kind == "all" or (kind == "pull_request") == (each.base is not None)
    ]
    start = 0 if exchange.query.get("p", "0") == "0" else len(found)
    exchange.answer(200, {"discussions": found[start:], "count": len(found), "start": start})


def read(exchange: Exchange, repo: str, num: str) -> None:
    """One discussion with what happened in it."""
    repository, discussion = find_discussion(exchange, repo, num)
    told = {**summary(repository, discussion), "events": events(repository, discussion)}
    if discussion.base is not None:
        changes = {"base": f"refs/heads/{discussion.base}", "mergeCommitId": discussion.merged_as}
        told |= {"changes": changes, "filesWithConflicts": [], "diff": ""}
    exchange.answer(200, told)


def change_status(exchange: Exchange, repo: str, num: str) -> None:
    """Close a discussion, or open it: whoever may write to the repository may, and whoever began it."""
    _, discussion = find_discussion(exchange, repo, num)
    if exchange.account is None or exchange.account.name != discussion.author:
        writable(exchange, repo)
    status = exchange.json().get("status")
    if status not in {"open", "closed"}:
        raise Refused(400, '"status" must be one of [open, closed]')
    with exchange.storage.lock:
        discussion.status = status
        exchange.storage.save()
    exchange.answer(200, {"newStatus": event(discussion, "status-change", {"status": status})})


def merge(exchange: Exchange, repo: str, num: str) -> None:
    """Put the files of a pull request on its branch, if nothing else has come there since."""
    repository, account = writable(exchange, repo)
    _, discussion = find_discussion(exchange, repo, num)
    with exchange.storage.lock:
        if discussion.base is None or discussion.status != "open":
            raise Refused(400, "Only an open pull request can be merged")
        proposed, head = at(repository, discussion.reference), at(repository, discussion.base)
        if head not in repository.history(proposed):
            raise Refused(409, "This branch has conflicts that must be resolved")
        made = exchange.storage.commit(
            repository,
            proposed.files.values(),
            deleted=head.files.keys() - proposed.files.keys(),
            branch=discussion.base,
            title=f"{discussion.title} (#{discussion.num})",
            author=account.name,
        )
        discussion.status, discussion.merged_as = "merged", made.oid
        exchange.storage.save()
    exchange.answer(200, {})


def find_discussion(exchange: Exchange, repo: str, num: str) -> tuple[Repository, Discussion]:
    """The discussion of that number."""
    repository = visible(exchange, repo)
    discussion = repository.discussions.get(int(num))
    if discussion is None:
        raise Refused(404, f"There is no discussion {num}")
    return repository, discussion


def summary(repository: Repository, discussion: Discussion) -> dict[str, Any]:
    """A discussion as a list shows it."""
    return {
        "num": discussion.num,
        "title": discussion.title,
        "author": {"name": discussion.author, "type": "user"},
        "createdAt": discussion.created,
        "status": discussion.status,
        "isPullRequest": discussion.base is not None,
        "repo": {"name": repository.id, "type": "model"},
        "repoOwner": {"name": repository.id.split("/")[0]},
        "numComments": 1,
        "topReactions": [],
    }


def events(repository: Repository, discussion: Discussion) -> list[dict[str, Any]]:
    """The opening words, then the commits of a pull request in their order."""
    words = {"edited": False, "hidden": False, "latest": {"raw": discussion.description}}
    told = [event(discussion, "comment", words)]
    if discussion.base is None:
        return told
    base = repository.history(at(repository, discussion.base))
    commits = [each for each in repository.history(at(repository, discussion.reference)) if each not in base]
    return told + [
        event(discussion, "commit", {"subject": each.title, "oid": each.oid}, date=each.date)
        for each in reversed(commits)
    ]


def event(discussion: Discussion, kind: str, data: dict[str, Any], *, date: str = "") -> dict[str, Any]:
    """One event as the Hub tells it."""
    return {
        "id": f"{discussion.num:024x}",
        "type": kind,
        "author": {"name": discussion.author},
        "createdAt": date or (discussion.created if kind == "comment" else now()),
        "data": data,
    }
