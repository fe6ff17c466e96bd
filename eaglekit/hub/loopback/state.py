"""`state.json`: everything but content that a Hub remembers, read back as it was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from eaglekit.hub.loopback.content import Entry
from eaglekit.hub.loopback.model import Account, Collection, Commit, Discussion, Repository, Scope

VERSION = 1


@dataclass(slots=True)
class State:
    """What is written."""

    accounts: list[Account] = field(default_factory=list)
    repositories: dict[str, Repository] = field(default_factory=dict)
    collections: dict[str, Collection] = field(default_factory=dict)
    xet_hashes: dict[str, str] = field(default_factory=dict)


def write_state(path: Path, state: State) -> None:
    """Replace the file at `path`, in one step."""
    document = {
        "version": VERSION,
        "accounts": [asdict(account) for account in state.accounts],
        "repositories": [repository_as_json(repository) for repository in state.repositories.values()],
        "collections": [asdict(collection) for collection in state.collections.values()],
        "xet_hashes": state.xet_hashes,
    }
    arriving = path.with_name(f".{path.name}.arriving")
    arriving.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    arriving.replace(path)


def read_state(path: Path) -> State:
    """The state at `path`, or an empty one when there is none yet."""
    if not path.exists():
        return State()
    document = json.loads(path.read_text(encoding="utf-8"))
    if document["version"] != VERSION:
        raise ValueError(f"{path} is of version {document['version']}, this reads version {VERSION}")
    accounts = [
        Account(**{**account, "scopes": tuple(scope(value) for value in account["scopes"])})
        for account in document["accounts"]
    ]
    repositories = [repository_from_json(value) for value in document["repositories"]]
    collections = [
        Collection(**{**value, "items": [tuple(item) for item in value["items"]]}) for value in document["collections"]
    ]
    return State(
        accounts,
        {repository.id: repository for repository in repositories},
        {collection.slug: collection for collection in collections},
        document["xet_hashes"],
    )


def scope(value: Mapping[str, Any]) -> Scope:
    """A scope as it was written."""
    return Scope(value["kind"], value["name"], tuple(value["permissions"]))


def repository_as_json(repository: Repository) -> dict[str, Any]:
    """A repository; each file once by its content, however many commits hold it."""
    entries = {entry: None for commit in repository.commits.values() for entry in commit.files.values()}
    numbers = {entry: number for number, entry in enumerate(entries)}
    commits = [
        {**shallow(commit), "files": [numbers[entry] for entry in commit.files.values()]}
        for commit in repository.commits.values()
    ]
    return {
        **shallow(repository),
        "granted": sorted(repository.granted),
        "entries": [asdict(entry) for entry in entries],
        "commits": commits,
        "discussions": [asdict(discussion) for discussion in repository.discussions.values()],
    }


def repository_from_json(value: Mapping[str, Any]) -> Repository:
    """The repository that `repository_as_json` wrote."""
    plain = {key: item for key, item in value.items() if key != "entries"}
    entries = [Entry(**entry) for entry in value["entries"]]
    commits = [
        Commit(**{**commit, "files": {entries[number].path: entries[number] for number in commit["files"]}})
        for commit in value["commits"]
    ]
    discussions = [Discussion(**discussion) for discussion in value["discussions"]]
    return Repository(
        **{
            **plain,
            "granted": set(value["granted"]),
            "commits": {commit.oid: commit for commit in commits},
            "discussions": {discussion.num: discussion for discussion in discussions},
        }
    )


def shallow(thing: Commit | Repository) -> dict[str, Any]:
    """The fields of `thing` as they are."""
    return {each.name: getattr(thing, each.name) for each in fields(thing)}
