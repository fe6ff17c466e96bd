"""Branches, tags, pull requests and the commits behind them."""

from __future__ import annotations

import re
from typing import Any

from eaglekit.hub.loopback.access import at, find, visible, writable
from eaglekit.hub.loopback.exchange import Exchange, Refused
from eaglekit.hub.loopback.model import Repository
from eaglekit.hub.loopback.reading import answer_page

REFERENCE_NAME = re.compile(
    r"(?!.*(\.\.|//|@\{|/\.))(?!refs/)[A-Za-z0-9_][\w./+-]{0,249}(?<![./])(?<!\.lock)", re.ASCII
)


def list_refs(exchange: Exchange, repo: str) -> None:
    """The branches and tags of a repository, and its pull requests when they are asked for."""
    repository = visible(exchange, repo)
    heads, tags = dict(repository.branches), dict(repository.tags)
    plain = {name: oid for name, oid in heads.items() if not name.startswith("refs/")}
    proposed = {name: oid for name, oid in heads.items() if name.startswith("refs/pr/")}
    answer: dict[str, Any] = {
        "branches": [listed(name, f"refs/heads/{name}", oid) for name, oid in plain.items()],
        "converts": [],
        "tags": [listed(name, f"refs/tags/{name}", oid) for name, oid in tags.items()],
    }
    if exchange.flag("include_prs"):
        answer["pullRequests"] = [listed(name.removeprefix("refs/pr/"), name, oid) for name, oid in proposed.items()]
    exchange.answer(200, answer)


def listed(name: str, reference: str, oid: str) -> dict[str, str]:
    """One reference as the Hub lists it."""
    return {"name": name, "ref": reference, "targetCommit": oid}


def list_commits(exchange: Exchange, repo: str, revision: str) -> None:
    """The commits of a revision, newest first."""
    repository, commit = find(exchange, repo, revision)
    items = [
        {
            "id": each.oid,
            "title": each.title,
            "message": each.description,
            "authors": [{"user": each.author}],
            "date": each.date,
        }
        for each in repository.history(commit)
    ]
    answer_page(exchange, items, total=True)


def create_branch(exchange: Exchange, repo: str, branch: str) -> None:
    """A new branch, at the head of main unless another starting point is named."""
    repository, _ = writable(exchange, repo)
    wanted = exchange.json()
    check_name(branch)
    with exchange.storage.lock:
        if branch in repository.branches:
            raise Refused(409, f"Reference already exists: refs/heads/{branch}")
        repository.branches[branch] = at(repository, str(wanted.get("startingPoint") or "main")).oid
        exchange.storage.save()
    exchange.answer(200, {})


def delete_branch(exchange: Exchange, repo: str, branch: str) -> None:
    """Forget a branch; its commits stay."""
    repository, _ = writable(exchange, repo)
    if branch == "main":
        raise Refused(403, "The main branch cannot be deleted")
    remove(exchange, repository, repository.branches, branch)


def create_tag(exchange: Exchange, repo: str, revision: str) -> None:
    """A new tag at `revision`. A tag never moves: one that is there is a conflict."""
    repository, _ = writable(exchange, repo)
    tag = str(exchange.json().get("tag") or "")
    check_name(tag)
    with exchange.storage.lock:
        commit = at(repository, revision)
        if tag in repository.tags:
            raise Refused(409, f"Tag reference exists already: {tag}")
        repository.tags[tag] = commit.oid
        exchange.storage.save()
    exchange.answer(200, {})


def delete_tag(exchange: Exchange, repo: str, tag: str) -> None:
    """Forget a tag."""
    repository, _ = writable(exchange, repo)
    remove(exchange, repository, repository.tags, tag)


def remove(exchange: Exchange, repository: Repository, references: dict[str, str], name: str) -> None:
    """Take `name` out of `references`."""
    with exchange.storage.lock:
        if name not in references:
            raise Refused(404, f"Reference does not exist: {name}", "RevisionNotFound")
        del references[name]
        exchange.storage.save()
    exchange.answer(200, {})


def check_name(name: str) -> None:
    """Refuse what git would not take for a name."""
    if not REFERENCE_NAME.fullmatch(name) or re.fullmatch("[0-9a-f]{40}", name):
        raise Refused(400, f"Invalid reference name: {name}")
