"""`look`: everything the Hub can say before anything is sent to it: whose token, which rights, what is there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eaglekit.checkpoint.hub_http import RemoteFile
from eaglekit.hub.model import Account, RemoteState, Wishes
from eaglekit.hub.remote.account import who
from eaglekit.hub.remote.client import HubClient
from eaglekit.hub.remote.listing import entries_at
from eaglekit.hub.remote.words import Circumstance, Doing, rights
from eaglekit.report import Finding, Refusal

COMMIT = re.compile(r"[0-9a-f]{40}")
MAIN = "main"
TEXT_LIMIT = 16 << 20
"""Bytes of a remote text that are read."""


def look(client: HubClient, wishes: Wishes) -> RemoteState:
    """What the Hub says of the account and the repository. Sends nothing but questions.

    Raises `Refusal` with everything that stands in the way of `wishes`.
    """
    account = who(client)
    client.account = account
    info = client.read(Doing.LOOK, lambda: _info(client))
    if info is None:
        if findings := _absent(client, account, wishes):
            raise Refusal(*findings)
        return RemoteState(account, exists=False, private=None, parent=None, branch_exists=False)
    findings = _renamed(client, info) + _may_write(client, account, wishes)
    proposing = wishes.create_pr or wishes.revision.startswith("refs/")
    refs = client.read(Doing.LOOK, lambda: _refs(client, pull_requests=proposing))
    findings += _unfit(wishes, {**refs["branches"], **refs["pulls"]}, refs["tags"])
    if findings:
        raise Refusal(*findings)
    heads = {**refs["branches"], **refs["pulls"]}
    parent = heads.get(wishes.revision) or heads.get(MAIN)
    if parent is None:
        raise Refusal(client.connection.wrong("", "no branch at all", "a repository with a branch"))
    return RemoteState(
        account,
        exists=True,
        private=bool(info.get("private")),
        parent=parent,
        branch_exists=wishes.revision in heads,
        tags=refs["tags"],
        entries=entries_at(client.connection, client.repo, parent),
        pulls=refs["pulls"],
    )


def branch_head(client: HubClient, branch: str, doing: Doing = Doing.LOOK) -> str | None:
    """The full commit a branch or `refs/pr/N` stands at now, or None when there is no such branch."""
    refs = client.read(doing, lambda: _refs(client, pull_requests=branch.startswith("refs/pr/")))
    head: str | None = refs["branches"].get(branch) or refs["pulls"].get(branch)
    return head


def pull_requests(client: HubClient, doing: Doing = Doing.LOOK) -> Mapping[str, str]:
    """Every pull request's ref and the commit it stands at."""
    pulls: Mapping[str, str] = client.read(doing, lambda: _refs(client, pull_requests=True))["pulls"]
    return pulls


def is_public(client: HubClient) -> bool:
    """Whether everybody can see the repository, as far as the Hub says."""
    info = client.read(Doing.LOOK, lambda: _info(client))
    return info is not None and not info.get("private")


def tags_now(client: HubClient) -> Mapping[str, str]:
    """Every tag and its commit, at this moment."""
    tags: Mapping[str, str] = client.read(Doing.TAG, lambda: _refs(client, pull_requests=False))["tags"]
    return tags


def remote_text(client: HubClient, state: RemoteState, name: str) -> str:
    """A text file of the commit the plan stands on, line ends as they are. Raises `Refusal`."""
    try:
        return remote_bytes(client, state, name).decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal(client.connection.wrong(name, "bytes that are no UTF-8", "text")) from None


def remote_bytes(client: HubClient, state: RemoteState, name: str) -> bytes:
    """A small file of the commit the plan stands on. Raises `Refusal`."""
    entry = state.entries[name]
    assert state.parent is not None  # noqa: S101 - entries are of a commit
    if entry.size_bytes > TEXT_LIMIT:
        got = f"{name} of {entry.size_bytes} bytes"
        raise Refusal(client.connection.wrong(name, got, f"at most {TEXT_LIMIT} bytes"))
    if entry.size_bytes == 0:
        return b""
    return client.connection.read(RemoteFile(client.repo, state.parent, name, entry.size_bytes), 0, entry.size_bytes)


def _info(client: HubClient) -> Mapping[str, Any] | None:
    """The repository's facts, or None when there is none that this account can see."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        info = client.api.model_info(client.repo)
    except GatedRepoError:
        return {"id": client.repo}
    except RepositoryNotFoundError as error:
        if error.response.status_code == 401 and "credentials" in str(error):
            raise
        return None
    return {"id": info.id, "private": info.private}


def _refs(client: HubClient, *, pull_requests: bool) -> dict[str, dict[str, str]]:
    found = client.api.list_repo_refs(client.repo, include_pull_requests=pull_requests)
    return {
        "branches": {ref.name: _commit(client, ref.target_commit) for ref in found.branches},
        "tags": {ref.name: _commit(client, ref.target_commit) for ref in found.tags},
        "pulls": {ref.ref: _commit(client, ref.target_commit) for ref in found.pull_requests or ()},
    }


def _commit(client: HubClient, text: Any) -> str:
    if not (isinstance(text, str) and COMMIT.fullmatch(text)):
        raise Refusal(client.connection.wrong("", f"commit {text!r}", "a commit of 40 hexadecimal digits"))
    return text


def _absent(client: HubClient, account: Account, wishes: Wishes) -> list[Finding]:
    """What stands in the way of making the repository."""
    if wishes.create_pr:
        return [
            Finding(
                "push-repository-absent",
                f"{client.asked.host} shows no model {wishes.repo} to the account {account.name!r}",
                place=wishes.repo,
                expected="a repository to open a pull request in",
                hint="check the spelling, or leave --create-pr out to make it",
            )
        ]
    findings = []
    owner = wishes.repo.partition("/")[0]
    if account.known and owner not in account.namespaces:
        findings.append(
            Finding(
                "push-not-allowed",
                f"there is no model {wishes.repo}, and the account {account.name!r} may make none in {owner}",
                place=wishes.repo,
                got=f"a token ({account.role}) that may write in {', '.join(account.places) or 'nothing'}",
                expected=f"a token that may write in {owner}",
                hint=rights(account, wishes.repo),
            )
        )
    if wishes.revision != MAIN and wishes.revision.startswith("refs/"):
        findings.append(_no_branch(wishes, "a pull request's ref, and there is no repository"))
    return findings


def _may_write(client: HubClient, account: Account, wishes: Wishes) -> list[Finding]:
    """Whether the account may do what is wished in a repository that exists; the Hub is asked."""
    if wishes.create_pr:
        return []
    try:
        if account.role == "read":
            at = Circumstance(client.asked, account, Doing.COMMIT)
            return [_read_only(at)]
        client.read(Doing.COMMIT, lambda: _auth_check(client), missing="no such question on this mirror")
    except Refusal as refusal:
        return list(refusal.findings)
    return []


def _auth_check(client: HubClient) -> str:
    client.api.auth_check(client.repo, write=True)
    return "yes"


def _read_only(at: Circumstance) -> Finding:
    assert at.account is not None  # noqa: S101 - asked before
    return Finding(
        "push-not-allowed",
        f"the account {at.account.name!r} may not commit to {at.asked.id.repo}",
        place=at.asked.id.repo,
        got="a token that may only read",
        expected=f"a token that may write in {at.asked.id.repo.partition('/')[0]}",
        hint=rights(at.account, at.asked.id.repo),
    )


def _renamed(client: HubClient, info: Mapping[str, Any]) -> list[Finding]:
    if info["id"] == client.repo:
        return []
    return [
        Finding(
            "push-repository-renamed",
            f"{client.repo} is called {info['id']} on {client.asked.host}",
            place=client.repo,
            got=client.repo,
            expected=str(info["id"]),
            hint=f"push to {info['id']}",
        )
    ]


def _unfit(wishes: Wishes, branches: Mapping[str, str], tags: Mapping[str, str]) -> list[Finding]:
    """What stands in the way of the revision and the tag."""
    findings = []
    revision = wishes.revision
    if revision not in branches:
        if revision in tags:
            findings.append(_no_branch(wishes, f"a tag, at {tags[revision][:12]}"))
        elif COMMIT.fullmatch(revision):
            findings.append(_no_branch(wishes, "a commit"))
        elif wishes.create_pr or revision.startswith("refs/"):
            findings.append(_no_branch(wishes, "no branch of the repository"))
    if wishes.tag is not None and wishes.tag in branches:
        findings.append(
            Finding(
                "push-tag-taken",
                f"{wishes.repo} has a branch {wishes.tag!r}: a tag of that name would hide it",
                place=wishes.repo,
                got=f"a branch at {branches[wishes.tag][:12]}",
                expected="a name that is not in use",
                hint="choose another tag",
            )
        )
    return findings


def _no_branch(wishes: Wishes, got: str) -> Finding:
    return Finding(
        "push-revision-unfit",
        f"{wishes.revision!r} is no branch of {wishes.repo}",
        place=wishes.repo,
        got=got,
        expected="a branch",
        hint="give --revision the name of a branch, or leave it out for main",
    )
